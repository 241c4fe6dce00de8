"""SELECT: binds the items, and spells out `*`, `s.*` and `* EXCEPT (...)`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from narrows.errors import Code, did_you_mean, fail
from narrows.expressions.function import Kind
from narrows.expressions.nodes import Call, Column, Expr, Literal, walk
from narrows.functions.spark_name import column_name, spark_name
from narrows.logical.clauses import Generated
from narrows.logical.from_clause import generated_relation
from narrows.logical.nodes import NamedExpr
from narrows.notices import Notice
from narrows.schema import Struct, Unaliased
from narrows.sql.bind import Binder
from narrows.sql.binding import name_of, refused
from narrows.sql.scope import Name, Relation, Scope

_ALLOWED = (
    Kind.AGGREGATE,
    Kind.ANALYTIC,
    Kind.STATEFUL,
    Kind.WINDOW_BOUND,
    Kind.GENERATOR,
)


@dataclass
class SelectList:
    """The bound items, the generator among them if there is one, and remarks."""

    items: list[NamedExpr] = field(default_factory=list)
    generated: Generated | None = None
    notices: list[Notice] = field(default_factory=list)


def bind_select_list(tree: exp.Select, binder: Binder) -> SelectList:
    selected = SelectList()
    for node in tree.expressions:
        star = _star_of(node)
        with binder.problems.collect():
            if star is not None:
                selected.items.extend(_spell_out(node, star, binder, selected.notices))
            else:
                _bind_item(node, binder, selected)
    return selected


def _bind_item(node: exp.Expr, binder: Binder, selected: SelectList) -> None:
    value = node.this if isinstance(node, (exp.Alias, exp.Aliases)) else node
    expr = binder.bind_in("SELECT", value, *_ALLOWED)
    _refuse_nested_generator(expr)
    if isinstance(expr, Call) and expr.function.kind is Kind.GENERATOR:
        _bind_generator(node, expr, binder, selected)
        return
    if isinstance(node, exp.Aliases):
        raise refused("several aliases for one value", node)
    name = node.alias if isinstance(node, exp.Alias) else _name_of_item(value, expr)
    selected.items.append(NamedExpr(name, expr))
    if isinstance(node, exp.Alias):
        binder.scope.aliases.setdefault(name.casefold(), expr)  # `a AS x, x + 1`


def _name_of_item(node: exp.Expr, expr: Expr) -> str:
    """What an item without alias is called: a path of names by its last one, all else by its
    text, and a subquery by what it is."""
    match node if isinstance(node, exp.Subquery) else node.unnest():
        case exp.Column() as column:
            return column.name
        case exp.Dot() as dotted if dotted.find(exp.Bracket, exp.Func) is None:
            return dotted.name
        case exp.Subquery():
            name = "scalarsubquery()"
        case exp.Exists():
            name = "exists()"
        case exp.In(this=value) as tested if tested.args.get("query"):
            name = f"({value.name} IN (listquery()))"
        case exp.Cast() as cast if isinstance(expr, Literal):
            name = f"CAST({cast.this.name} AS {expr.dtype.sql()})"
        case exp.Anonymous() as call if call.name.lower() == "struct" and isinstance(expr, Call):
            name = f"struct({', '.join(_struct_fields(call, expr))})"
        case _:
            name = column_name(expr)
    return Unaliased(name)


def _struct_fields(node: exp.Anonymous, call: Call) -> Iterator[str]:
    """`struct(a, b AS z)` says the names that were given; `call` has names and values in turn."""
    aliases = [part.alias if isinstance(part, exp.Alias) else "" for part in node.expressions]
    values = [spark_name(value) for value in call.args[1::2]]
    if len(aliases) != len(values):  # a star
        yield from values
        return
    for alias, value in zip(aliases, values, strict=True):
        yield f"{value} AS {alias}" if alias else value


def _bind_generator(node: exp.Expr, call: Call, binder: Binder, selected: SelectList) -> None:
    """`explode(items) AS x`, `posexplode(items) AS (pos, x)`: the item is the columns it makes."""
    if selected.generated is not None:
        raise fail(
            Code.NOT_SUPPORTED,
            "only one generator may stand in a select list",
            call.span,
            "use `LATERAL VIEW` for each of them",
        )
    match node:
        case exp.Alias():
            names = [name_of(node.args["alias"])]
        case exp.Aliases():
            names = [name_of(alias) for alias in node.expressions]
        case _:
            names = []
    relation = generated_relation(call, binder.ids.new(), None, names)
    selected.generated = Generated(call, relation)
    selected.items.extend(_columns_of(relation))


def _refuse_nested_generator(expr: Expr) -> None:
    for part in walk(expr):
        if part is not expr and isinstance(part, Call) and part.function.kind is Kind.GENERATOR:
            raise fail(
                Code.MISPLACED_FUNCTION,
                f"generator function `{part.function.name}` must stand alone in the select list",
                part.span,
                f"use `LATERAL VIEW {part.function.name}(...) t AS x`",
            )


# --- stars ----------------------------------------------------------------------------------------


def _star_of(node: exp.Expr) -> exp.Star | None:
    """The star of `*`, `s.*` or `b.c.*`."""
    match node:
        case exp.Star():
            return node
        case exp.Column(this=exp.Star() as star):
            return star
        case exp.Dot(expression=exp.Star() as star):
            return star
        case _:
            return None


def _spell_out(
    node: exp.Expr, star: exp.Star, binder: Binder, notices: list[Notice]
) -> list[NamedExpr]:
    for key, text in (("replace", "REPLACE"), ("rename", "RENAME"), ("ilike", "ILIKE")):
        if star.args.get(key):
            raise refused(f"`* {text} (...)`", node)
    qualifier = _qualifier(node)
    named = _columns(qualifier, binder, notices, excepted=bool(star.args.get("except_")))
    for excluded in star.args.get("except_") or ():
        if not isinstance(excluded, (exp.Column, exp.Identifier)) or "." in excluded.sql():
            raise refused("EXCEPT with a part of a column", excluded)
        named = _without(named, name_of(excluded))
    return named


def _qualifier(node: exp.Expr) -> list[Name]:
    match node:
        case exp.Column():
            return [name_of(part) for part in node.parts[:-1]]
        case exp.Dot():
            return [*_qualifier_parts(node.this)]
        case _:
            return []


def _qualifier_parts(node: exp.Expr) -> Iterator[Name]:
    match node:
        case exp.Dot():
            yield from _qualifier_parts(node.this)
            yield name_of(node.expression)
        case exp.Column():
            yield from (name_of(part) for part in node.parts)
        case _:
            yield name_of(node)


def _columns(
    qualifier: Sequence[Name], binder: Binder, notices: list[Notice], excepted: bool
) -> list[NamedExpr]:
    scope = binder.scope
    if not qualifier:
        merged = [NamedExpr(m.name, m.value) for m in scope.merged.values()]
        rest = [
            named
            for relation in scope.relations
            for named, column in zip(_columns_of(relation), relation.shown, strict=True)
            if not _is_merged(column, scope)
        ]
        if not excepted:
            notices.extend(_star_notice("*", r) for r in scope.relations if r.is_source)
        return [*merged, *rest]
    relation = scope.find_relation(qualifier[0].text) if len(qualifier) == 1 else None
    if relation is not None:
        if not excepted and relation.is_source:
            notices.append(_star_notice(f"{relation.name}.*", relation))
        return _columns_of(relation)
    base, fields = scope.resolve(qualifier)
    for name in fields:
        base = binder.field(base, name)
    if not isinstance(base.dtype, Struct):
        text = ".".join(name.text for name in qualifier)
        raise fail(
            Code.NOT_A_STRUCT,
            f"`{text}` is no struct, `{text}.*` has no columns",
            qualifier[0].span,
        )
    return [
        NamedExpr(field.name, binder.field(base, Name(field.name, base.span)))
        for field in base.dtype
    ]


def _is_merged(column: Column, scope: Scope) -> bool:
    merged = scope.merged.get(column.name.casefold())
    return merged is not None and column.id in merged.columns


def _columns_of(relation: Relation) -> list[NamedExpr]:
    return [NamedExpr(column.name, column) for column in relation.shown]


def _star_notice(star: str, relation: Relation) -> Notice:
    return Notice(
        "star",
        f"pruning is off for `{relation.name}`: `SELECT {star}` reads all"
        f" {len(relation.shown)} columns",
        "name the columns that you need, or leave some out with `* EXCEPT (...)`",
    )


def _without(named: list[NamedExpr], name: Name) -> list[NamedExpr]:
    kept = [item for item in named if item.name != name.text]
    if len(kept) == len(named):
        folded = name.text.casefold()
        kept = [item for item in named if item.name.casefold() != folded]
    if len(kept) == len(named):
        raise fail(
            Code.UNKNOWN_COLUMN,
            f"column `{name.text}` of EXCEPT not found",
            name.span,
            did_you_mean(name.text, [item.name for item in named]),
        )
    return kept
