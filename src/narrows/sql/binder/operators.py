"""Binds operators, and the forms that mean one: `a + b`, `x IN (1, 2)`, `CASE`, `CAST`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from narrows.errors import Code, fail
from narrows.expressions.nodes import Cast, Expr
from narrows.functions import operator
from narrows.functions.spark_name import spark_name
from narrows.sql.binder import forms
from narrows.sql.binder.carried import carried
from narrows.sql.binder.context import SubqueryKind, refused, span_of
from narrows.sql.binder.literals import cast_literal
from narrows.sql.binder.stars import spell_out, star_of
from narrows.sql.parser.types import written_type

if TYPE_CHECKING:
    from narrows.sql.binder.expression import Binder


def operation(binder: Binder, name: str, *args: Expr) -> Expr:
    return binder.call(operator(name), args, None)


def binary(binder: Binder, node: exp.Expr, name: str) -> Expr:
    if isinstance(node.expression, (exp.Any, exp.All)):
        return _match_several(binder, node, name)
    if node.args.get("negate"):
        return operation(binder, "not", _positive(binder, node, name))
    return _positive(binder, node, name)


def _positive(binder: Binder, node: exp.Expr, name: str) -> Expr:
    # Chains such as a + b + c + ... nest to the left, as deep as they are long.
    operands = []
    kind = type(node)
    while type(node) is kind and type(node.this) is kind:
        operands.append(node.expression)
        node = node.this
    value = operation(binder, name, binder.bind(node.this), binder.bind(node.expression))
    for operand in reversed(operands):
        value = operation(binder, name, value, binder.bind(operand))
    return value


def _match_several(binder: Binder, node: exp.Expr, name: str) -> Expr:
    """`a LIKE ANY (p, q)` is `a LIKE p OR a LIKE q`; with NOT, each of them is negated."""
    value = binder.bind(node.this)
    tests = []
    for pattern in node.expression.this.expressions:
        test = operation(binder, name, value, binder.bind(pattern))
        tests.append(operation(binder, "not", test) if node.args.get("negate") else test)
    connector = "or" if isinstance(node.expression, exp.Any) else "and"
    return tests[0] if len(tests) == 1 else operation(binder, connector, *tests)


def connector(binder: Binder, node: exp.Expr, kind: type[exp.Expr]) -> Expr:
    """`a AND b AND c` is one call with three arguments, however many there are."""
    operands: list[exp.Expr] = []
    pending = [node]
    while pending:
        part = pending.pop()
        if type(part) is kind:
            pending.extend((part.expression, part.this))
        else:
            operands.append(part)
    return operation(binder, forms.CONNECTORS[kind], *(binder.bind(part) for part in operands))


def negation(binder: Binder, node: exp.Not) -> Expr:
    if isinstance(node.this, exp.Is) and isinstance(node.this.expression, exp.Null):
        return operation(binder, "is not null", binder.bind(node.this.this))
    return operation(binder, "not", binder.bind(node.this))


def is_test(binder: Binder, node: exp.Is) -> Expr:
    operand = binder.bind(node.this)
    match node.expression:
        case exp.Null():
            test = "is not null" if node.args.get("negate") else "is null"
            return operation(binder, test, operand)
        case exp.Boolean(this=truth):
            tested = operation(binder, "is true" if truth else "is false", operand)
            return operation(binder, "not", tested) if node.args.get("negate") else tested
        case exp.Var():
            return operation(binder, "is unknown", operand)
        case _:
            raise fail(
                Code.SYNTAX_ERROR,
                "IS takes NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM",
                span_of(node),
            )


def between(binder: Binder, node: exp.Between) -> Expr:
    if node.args.get("symmetric"):
        raise refused("BETWEEN SYMMETRIC", node)
    parts = (node.this, node.args["low"], node.args["high"])
    return operation(binder, "between", *(binder.bind(part) for part in parts))


def in_test(binder: Binder, node: exp.In) -> Expr:
    query = node.args.get("query")
    if query is not None:
        asked = node.this.expressions if isinstance(node.this, exp.Tuple) else [node.this]
        return binder.subquery(SubqueryKind.IN, query, asked)
    for key in ("unnest", "field"):
        if node.args.get(key):
            raise refused("IN without a list in brackets", node)
    if not node.expressions:
        raise fail(Code.SYNTAX_ERROR, "IN takes values or a query in brackets", span_of(node))
    operands = [binder.bind(node.this)]
    for part in node.expressions:
        star = star_of(part)
        if star is None:
            operands.append(binder.bind(part))
        else:
            operands.extend(item.value for item in spell_out(part, star, binder))
    return operation(binder, "in", *operands)


def escape(binder: Binder, node: exp.Escape) -> Expr:
    match = node.this
    if type(match) not in (exp.Like, exp.ILike):
        return carried(binder, node)
    name = forms.BINARY_OPERATORS[type(match)]
    operands = (match.this, match.expression, node.expression)
    matched = operation(binder, name, *(binder.bind(operand) for operand in operands))
    return operation(binder, "not", matched) if match.args.get("negate") else matched


def case(binder: Binder, node: exp.Case) -> Expr:
    args: list[Expr] = []
    for branch in node.args["ifs"]:
        condition = binder.bind(branch.this)
        if node.this is not None:
            condition = operation(binder, "=", binder.bind(node.this), condition)
        args.extend((condition, binder.bind(branch.args["true"])))
    default = node.args.get("default")
    if default is not None:
        args.append(binder.bind(default))
    return operation(binder, "case", *args)


def cast(binder: Binder, node: exp.Cast) -> Expr:
    text, dtype = written_type(node.to)
    operand = binder.bind(node.this)
    typed = cast_literal(operand, dtype)
    if typed is not None:
        return replace(typed, written_as=f"CAST({spark_name(operand)} AS {dtype.sql()})")
    return Cast(
        operand=operand,
        to=text,
        safe=isinstance(node, exp.TryCast),
        dtype=dtype,
        span=operand.span,
    )
