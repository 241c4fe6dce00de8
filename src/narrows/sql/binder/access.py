"""Binds access to parts of values: `b.c`, `items[0]`, `m['k']`, `items.x`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from narrows.demand_text import type_text
from narrows.errors import Code, NarrowsError, Span, did_you_mean, fail
from narrows.expressions.function import Kind
from narrows.expressions.nodes import (
    Cast,
    ElementAccess,
    Expr,
    FieldAccess,
    Lambda,
    Literal,
    Variable,
)
from narrows.expressions.text import expression_text
from narrows.schema import INTEGRAL, STRING, UNKNOWN, VOID, Array, DataType, Map, Struct, Unknown
from narrows.sql.binder import forms
from narrows.sql.binder.context import name_of, refused, span_of
from narrows.sql.binder.literals import literal
from narrows.sql.binder.variables import bind_variable
from narrows.sql.scope import Name

if TYPE_CHECKING:
    from narrows.sql.binder.expression import Binder


def bind_name(binder: Binder, node: exp.Column) -> Expr:
    """`a`: a name, and nothing before or behind it."""
    return _access(binder, node, [name_of(node.this)], ())


def bind_access(binder: Binder, node: exp.Expr) -> Expr:
    """A chain of `.name` and `[index]`, from its base outwards."""
    steps: list[exp.Expr] = []
    while type(node) is not exp.Column:
        if isinstance(node, exp.Dot) and isinstance(node.expression, exp.Identifier):
            steps.append(node.expression)
            node = node.this
        elif isinstance(node, exp.Bracket):
            steps.append(node)
            node = node.this
        elif isinstance(node, exp.Paren) and steps:
            node = node.this
        else:
            break
    steps.reverse()
    match node:
        case exp.Column():
            if isinstance(node.this, exp.Star):
                raise refused(forms.REFUSED[exp.Star], node)
            names = [name_of(part) for part in node.parts]
        case exp.Identifier():
            names = [name_of(node)]
        case exp.Dot():
            raise refused("method calls", node)
        case _:
            names = []
    while names and steps and isinstance(steps[0], exp.Identifier):
        names.append(name_of(steps.pop(0)))
    return _access(binder, node, names, steps)


def _access(
    binder: Binder, node: exp.Expr, names: Sequence[Name], steps: Sequence[exp.Expr]
) -> Expr:
    """What stands at these names, or else at `node`, and from there on at these steps."""
    if len(names) == 1 and not steps:
        word = names[0].text.lower()
        if word in forms.WITHOUT_BRACKETS and not binder.scope.hides(word):
            return binder.call(binder.function(word, names[0].span), (), names[0].span)
    value, fields = _resolved(binder, names, steps) if names else (binder.bind(node), [])
    for name in fields:
        value = field(binder, value, name)
    for step in steps:
        if isinstance(step, exp.Bracket):
            value = _element(binder, value, step)
        else:
            value = field(binder, value, name_of(step))
    return value


def _resolved(
    binder: Binder, names: Sequence[Name], steps: Sequence[exp.Expr]
) -> tuple[Expr, Sequence[Name]]:
    """What a dotted name begins with; where nothing in the query is called so, a variable."""
    try:
        of_groups = Kind.AGGREGATE in binder.allowed
        return binder.scope.resolve(names, indexed=bool(steps), of_groups=of_groups)
    except NarrowsError as unknown:
        found = bind_variable(binder, names)
        if found is None or unknown.problems[0].code is Code.AMBIGUOUS_COLUMN:
            raise
        return found


def part_of_variant(binder: Binder, node: exp.JSONExtract) -> Expr:
    """`v:a.b[0]` is `variant_get(v, '$.a.b[0]', 'variant')`. No type of ours is a VARIANT."""
    base = binder.bind(node.this)
    if not isinstance(base.dtype, Unknown):
        raise fail(
            Code.WRONG_TYPE,
            f"`{expression_text(base)}` is {type_text(base.dtype)}, `:` goes into a VARIANT",
            base.span or span_of(node),
            "a field is read by name: `b->c`"
            if isinstance(base.dtype, Struct)
            else "make one of a text: `parse_json(x):a`",
        )
    path = (literal(node.expression.name), literal("variant"))
    return binder.call(binder.function("variant_get", None), (base, *path), base.span)


def field(binder: Binder, base: Expr, name: Name) -> Expr:
    span = Span.around((base.span, name.span))
    match base.dtype:
        case Struct() as struct:
            found = struct.find(name.text)
            if len(found) == 1:
                field = struct.fields[found[0]]
                return FieldAccess(base=base, name=field.name, dtype=field.type, span=span)
            if found:
                spellings = " or ".join(f"`{struct.fields[o].name}`" for o in found)
                raise fail(
                    Code.AMBIGUOUS_COLUMN,
                    f"field `{name.text}` is ambiguous: fields differ by case only",
                    name.span,
                    f"write {spellings} exactly",
                )
            raise fail(
                Code.UNKNOWN_FIELD,
                f"field `{name.text}` not found in `{type_text(struct)}`",
                name.span,
                did_you_mean(name.text, struct.names),
            )
        case Array(Struct() as element):
            return _field_of_elements(binder, base, element, name, span)
        case Map(_, value):
            key = literal(name.text)
            return ElementAccess(base=base, index=key, dtype=value, span=span)
        case Unknown():
            return FieldAccess(base=base, name=name.text, dtype=UNKNOWN, span=span)
        case _ if base.dtype == VOID:  # a part of nothing
            return FieldAccess(base=base, name=name.text, dtype=VOID, span=span)
        case other:
            raise fail(
                Code.NOT_A_STRUCT,
                f"`{expression_text(base)}` is {type_text(other)}, it has no field `{name.text}`",
                name.span,
            )


def _field_of_elements(
    binder: Binder, base: Expr, element: Struct, name: Name, span: Span | None
) -> Expr:
    """`items.x` on a list of structs is the list of their `x`, as in Spark."""
    variable = Variable(id=binder.variable_id(0), name="element", dtype=element)
    body = field(binder, variable, name)
    each = Lambda(parameters=(variable,), body=body, dtype=UNKNOWN)
    return binder.call(binder.function("transform", None), (base, each), span)


def _element(binder: Binder, base: Expr, step: exp.Bracket) -> Expr:
    if len(step.expressions) != 1:
        raise fail(
            Code.SYNTAX_ERROR,
            "expected exactly one index between the brackets",
            span_of(step),
            "write `m[0][1]` for a list of lists",
        )
    index = binder.bind(step.expressions[0])
    span = Span.around((base.span, span_of(step)))
    match base.dtype:
        case Struct() if isinstance(index, Literal) and isinstance(index.value, str):
            return field(binder, base, Name(index.value, span))  # b['c']
        case Array(element):
            if index.dtype not in (*INTEGRAL, UNKNOWN):
                raise fail(
                    Code.WRONG_TYPE,
                    f"a list index must be an integer, `{expression_text(index)}` is"
                    f" {type_text(index.dtype)}",
                    index.span or span,
                )
            return ElementAccess(base=base, index=index, dtype=element, span=span)
        case Map(key, value):
            return ElementAccess(base=base, index=_as_key(index, key), dtype=value, span=span)
        case Unknown():
            return ElementAccess(base=base, index=index, dtype=UNKNOWN, span=span)
        case _ if base.dtype == VOID:
            return ElementAccess(base=base, index=index, dtype=VOID, span=span)
        case other:
            hint = "a field is read by name: `b->c`" if isinstance(other, Struct) else None
            raise fail(
                Code.NOT_A_LIST,
                f"`{expression_text(base)}` is {type_text(other)}, it cannot be indexed",
                span,
                hint,
            )


def _as_key(index: Expr, key: DataType) -> Expr:
    """What a map is asked for, as Spark does it: of a map of texts, `m[0]` is `m['0']`."""
    if index.dtype == key or STRING not in (index.dtype, key) or UNKNOWN in (index.dtype, key):
        return index
    if isinstance(index, Literal) and isinstance(index.value, int) and key == STRING:
        return literal(str(index.value).lower())
    return Cast(operand=index, to=key.sql(), dtype=key, span=index.span)
