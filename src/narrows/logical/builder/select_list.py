"""SELECT: binds the items, one by one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from sqlglot import exp

from narrows.errors import Code, NarrowsError, fail
from narrows.expressions.function import Kind
from narrows.expressions.nodes import Call, Column, Expr, FieldAccess, Literal, walk_all
from narrows.functions.spark_name import column_name, spark_name
from narrows.logical.builder.clauses import Generated
from narrows.logical.builder.generators import generated_relation
from narrows.logical.nodes import NamedExpr
from narrows.notices import Notice
from narrows.schema import Unaliased
from narrows.sql.binder.context import name_of, refused
from narrows.sql.binder.expression import Binder
from narrows.sql.binder.stars import spell_out, star_of, starred_sources
from narrows.sql.scope import Relation

_ALLOWED = frozenset(
    (Kind.AGGREGATE, Kind.ANALYTIC, Kind.STATEFUL, Kind.WINDOW_BOUND, Kind.GENERATOR)
)


@dataclass
class SelectList:
    """The bound items, the generators among them, and remarks."""

    items: list[NamedExpr] = field(default_factory=list)
    generated: list[Generated] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    renamed: set[int] = field(default_factory=set)
    """The places of items that AS makes columns of their own: `a AS a`, unlike `a`."""


def bind_select_list(tree: exp.Select, binder: Binder) -> SelectList:
    selected = SelectList()
    with binder.within("SELECT", _ALLOWED):
        for node in tree.expressions:
            try:
                _bind_item(node, binder, selected)
            except NarrowsError as error:
                binder.problems.add(error)
    return selected


def _bind_item(node: exp.Expr, binder: Binder, selected: SelectList) -> None:
    if type(node) is exp.Column and type(node.this) is exp.Identifier:
        # Most of a long list: no star, no generator, no alias, and nothing need be looked for.
        _add_item(node, node.this.this, binder.bind(node), binder, selected)
        return
    star = star_of(node.unnest())
    if star is not None:
        node = node.unnest()
        selected.items.extend(NamedExpr(*part) for part in spell_out(node, star, binder))
        whole = starred_sources(node, star, binder.scope)
        selected.notices.extend(_star_notice(*read) for read in whole)
        return
    value = node.this if isinstance(node, (exp.Alias, exp.Aliases)) else node
    expr = binder.bind(value)
    _refuse_nested_generator(expr)
    if isinstance(expr, Call) and expr.function.kind is Kind.GENERATOR:
        _bind_generator(node, expr, binder, selected)
        return
    if isinstance(node, exp.Aliases):
        raise refused("several aliases for one value", node)
    name = node.alias if isinstance(node, exp.Alias) else _name_of_item(value, expr)
    _add_item(node, name, expr, binder, selected)


def _add_item(node: exp.Expr, name: str, expr: Expr, binder: Binder, selected: SelectList) -> None:
    renamed = isinstance(node, exp.Alias)
    if renamed:
        selected.renamed.add(len(selected.items))
    selected.items.append(NamedExpr(name, expr))
    if renamed or _is_part(node, expr):
        binder.scope.add_alias(name, expr)  # `a AS x, x + 1`; `s.x, x + 1`


def _is_part(node: exp.Expr, expr: Expr) -> bool:
    """Whether an item is a part of a column by name, and so has the part's."""
    return not isinstance(expr, Column) and isinstance(node, (exp.Column, exp.Dot))


def _name_of_item(node: exp.Expr, expr: Expr) -> str:
    """What an item without alias is called: a path of names by its last one, all else by its
    text."""
    if isinstance(node, exp.Column):
        return node.name
    part = node.this if isinstance(node, exp.Cast) else node
    if isinstance(part, exp.JSONExtract):
        return _last_of_path(part.expression.name)
    match node if isinstance(node, exp.Subquery) else node.unnest():
        case exp.Column(this=exp.Identifier()) as column:
            return column.name
        case exp.Dot() as dotted if dotted.find(exp.Bracket, exp.Func) is None:
            return dotted.name
        case exp.Anonymous() as call if call.name.lower() == "struct" and isinstance(expr, Call):
            name = f"struct({', '.join(_struct_fields(call, expr))})"
        case exp.Tuple() as row if isinstance(expr, Call):
            fields = zip(_struct_names(expr), _struct_fields(row, expr), strict=True)
            name = f"named_struct({', '.join(part for field in fields for part in field)})"
        case _:
            name = column_name(expr)
    return Unaliased(name)


def _last_of_path(path: str) -> str:
    """`v:a.b[0]` is called `b`."""
    names: list[tuple[str, str]] = re.findall(r"\.(\w+)|\['(.*?)'\]", path)
    return "".join(names[-1]) if names else path


def _struct_names(call: Call) -> list[str]:
    return [str(name.value) for name in call.args[::2] if isinstance(name, Literal)]


def _struct_fields(node: exp.Expr, call: Call) -> Iterator[str]:
    """`struct(a, b AS z)` says the names that were given; `call` has names and values in turn."""
    aliases = [part.alias if isinstance(part, exp.Alias) else "" for part in node.expressions]
    values = [spark_name(value) for value in call.args[1::2]]
    if len(aliases) != len(values):  # a star, which names the fields of a struct
        for name, arg, text in zip(_struct_names(call), call.args[1::2], values, strict=True):
            yield f"{text} AS {name}" if isinstance(arg, FieldAccess) else text
        return
    for alias, value in zip(aliases, values, strict=True):
        yield f"{value} AS {alias}" if alias else value


def _bind_generator(node: exp.Expr, call: Call, binder: Binder, selected: SelectList) -> None:
    """`explode(items) AS x`, `posexplode(items) AS (pos, x)`: the item is the columns it makes."""
    match node:
        case exp.Alias():
            names = [name_of(node.args["alias"])]
        case exp.Aliases():
            names = [name_of(alias) for alias in node.expressions]
        case _:
            names = []
    relation = generated_relation(call, binder.ids.new(), None, names)
    selected.generated.append(Generated(call, relation))
    selected.items.extend(_columns_of(relation))
    for column in relation.columns if names else ():  # `explode(n) AS e, e + 1`
        if isinstance(node, exp.Alias):
            binder.scope.add_alias(column.name, column)
        else:  # as in Spark, one of several gives way to another item of that name
            binder.scope.aliases.setdefault(column.name.casefold(), column)


def _refuse_nested_generator(expr: Expr) -> None:
    for part in walk_all(expr.children):
        if isinstance(part, Call) and part.function.kind is Kind.GENERATOR:
            raise fail(
                Code.MISPLACED_FUNCTION,
                f"generator function `{part.function.name}` must stand alone in the select list",
                part.span,
                f"use `LATERAL VIEW {part.function.name}(...) t AS x`",
            )


def _columns_of(relation: Relation) -> list[NamedExpr]:
    return [NamedExpr(column.name, column) for column in relation.shown]


def _star_notice(star: str, relation: Relation) -> Notice:
    return Notice(
        "star",
        f"pruning is off for `{relation.name}`: `SELECT {star}` reads all"
        f" {len(relation.shown)} columns",
        "name the columns that you need, or leave some out with `* EXCEPT (...)`",
    )
