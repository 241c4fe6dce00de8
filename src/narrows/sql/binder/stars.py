"""Stars, spelled out: `*`, `s.*`, `b.c.*` and `* EXCEPT (...)`, in select lists and in calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from sqlglot import exp

from narrows.errors import Code, did_you_mean, fail
from narrows.expressions.nodes import Column, Expr
from narrows.schema import Struct
from narrows.sql.binder.context import find_function, name_of, refused, span_of
from narrows.sql.binder.literals import literal
from narrows.sql.scope import Name, Relation, Scope

if TYPE_CHECKING:
    from narrows.sql.binder.expression import Binder


MATCHING = "matching"
"""Where a star has a pattern that names must match (`planner/name_patterns.py`)."""


class Starred(NamedTuple):
    """One of the columns that a star stands for."""

    name: str
    value: Expr


def star_of(node: exp.Expr) -> exp.Star | None:
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


def spell_out(node: exp.Expr, star: exp.Star, binder: Binder) -> list[Starred]:
    for key, text in (("rename", "RENAME"), ("ilike", "ILIKE")):
        if star.args.get(key):
            raise refused(f"`* {text} (...)`", node)
    found = _columns(_qualifier(node), binder)
    pattern = star.args.get(MATCHING)
    if pattern is not None:
        found = [item for item in found if pattern.fullmatch(item.name)]
    for given in star.args.get("replace") or ():
        found = _replaced(found, name_of(given.args["alias"]), binder.bind(given.this))
    for excluded in star.args.get("except_") or ():
        found = _without(found, [*_qualifier_parts(excluded)], binder)
    return found


def column_at(node: exp.PositionalColumn, binder: Binder) -> Expr:
    """One of the columns that `*` stands for, by its place."""
    columns, place = _columns([], binder), int(node.name[:10])
    if not 1 <= place <= len(columns):
        message = f"there is no column {place}: there are {len(columns)}"
        raise fail(Code.UNKNOWN_COLUMN, message, span_of(node.this))
    return columns[place - 1].value


def starred_sources(node: exp.Expr, star: exp.Star, scope: Scope) -> Iterator[tuple[str, Relation]]:
    """The sources that a star reads whole, each with the star as it was written."""
    if star.args.get("except_") or star.args.get(MATCHING):
        return
    qualifier = _qualifier(node)
    if not qualifier:
        yield from (("*", relation) for relation in scope.relations if relation.is_source)
    for relation in scope.find_relations(*(name.text for name in qualifier)):
        if relation.is_source:
            yield f"{relation.name}.*", relation


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


def _columns(qualifier: Sequence[Name], binder: Binder) -> list[Starred]:
    scope = binder.scope
    if not qualifier:
        listed: list[Starred] = []
        for place, relation in enumerate(scope.relations):
            merged = [m for m in scope.merged.values() if m.place == place]
            listed.extend(Starred(m.name, m.value) for m in merged)
            shown = [column for column in relation.shown if not _is_merged(column, scope)]
            listed.extend(Starred(column.name, column) for column in shown)
        return listed
    relations = _relations_in_sight(scope, qualifier)
    if relations:
        return [Starred(column.name, column) for each in relations for column in each.shown]
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
        Starred(field.name, binder.field(base, Name(field.name, base.span))) for field in base.dtype
    ]


def _relations_in_sight(scope: Scope, qualifier: Sequence[Name]) -> list[Relation]:
    """The relations of a name here, or around a subquery: `t, LATERAL (SELECT t.*)`."""
    around: Scope | None = scope
    while around is not None:
        found = around.find_relations(*(name.text for name in qualifier))
        if found:
            return found
        around = around.outer
    return []


def _is_merged(column: Column, scope: Scope) -> bool:
    merged = scope.merged.get(column.name.casefold())
    return merged is not None and column.id in merged.columns


def _replaced(named: list[Starred], name: Name, value: Expr) -> list[Starred]:
    meant = _meant(named, name, "SET")
    if len(meant) > 1:
        message = f"two columns are called `{name.text}`: it is not clear which one is meant"
        raise fail(Code.AMBIGUOUS_COLUMN, message, name.span)
    return [Starred(item.name, value) if item is meant[0] else item for item in named]


def _without(named: list[Starred], parts: Sequence[Name], binder: Binder) -> list[Starred]:
    """The columns but one: `a`, `t.a`, or a struct without one of its fields: `s.f`."""
    relations = binder.scope.find_relations(parts[0].text) if len(parts) > 1 else []
    for relation in relations:
        if relation.schema.find(parts[1].text):
            mine = [item for item in named if _is_of(item.value, relation)]
            kept = {item.name: item for item in _without(mine, parts[1:], binder)}
            left = [item for item in named if item not in mine or item.name in kept]
            return [kept[item.name] if item in mine else item for item in left]
    name, fields = parts[0], parts[1:]
    meant = _meant(named, name, "EXCEPT")
    if not fields:
        return [item for item in named if item not in meant]
    smaller = Starred(meant[0].name, _without_field(meant[0].value, fields, binder))
    return [smaller if item is meant[0] else item for item in named]


def _is_of(value: Expr, relation: Relation) -> bool:
    return isinstance(value, Column) and value.id.relation == relation.id


def _meant(named: list[Starred], name: Name, clause: str) -> list[Starred]:
    """The columns of a name; those that are written like it, if there are any."""
    folded = [item for item in named if item.name.casefold() == name.text.casefold()]
    if not folded:
        raise fail(
            Code.UNKNOWN_COLUMN,
            f"column `{name.text}` of {clause} not found",
            name.span,
            did_you_mean(name.text, [item.name for item in named]),
        )
    return [item for item in folded if item.name == name.text] or folded


def _without_field(base: Expr, fields: Sequence[Name], binder: Binder) -> Expr:
    """A struct of the other fields. Spark makes one where there is none, too, and so do we."""
    if not isinstance(base.dtype, Struct):
        message = f"`{fields[0].text}` of EXCEPT is no field: what it would be of is no struct"
        raise fail(Code.NOT_A_STRUCT, message, fields[0].span)
    parts = [Starred(f.name, binder.field(base, Name(f.name, base.span))) for f in base.dtype]
    kept = _without(parts, fields, binder)
    args = tuple(part for item in kept for part in (literal(item.name), item.value))
    return binder.call(find_function(binder.functions, "named_struct", None), args, base.span)
