"""Stars, spelled out: `*`, `s.*`, `b.c.*` and `* EXCEPT (...)`, in select lists and in calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from sqlglot import exp

from narrows.errors import Code, did_you_mean, fail
from narrows.expressions.nodes import Column, Expr
from narrows.schema import Struct
from narrows.sql.binder.context import name_of, refused
from narrows.sql.scope import Name, Relation, Scope

if TYPE_CHECKING:
    from narrows.sql.binder.expression import Binder


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
    for key, text in (("replace", "REPLACE"), ("rename", "RENAME"), ("ilike", "ILIKE")):
        if star.args.get(key):
            raise refused(f"`* {text} (...)`", node)
    found = _columns(_qualifier(node), binder)
    for excluded in star.args.get("except_") or ():
        if not isinstance(excluded, (exp.Column, exp.Identifier)) or "." in excluded.sql():
            raise refused("EXCEPT with a part of a column", excluded)
        found = _without(found, name_of(excluded))
    return found


def starred_sources(node: exp.Expr, star: exp.Star, scope: Scope) -> Iterator[tuple[str, Relation]]:
    """The sources that a star reads whole, each with the star as it was written."""
    if star.args.get("except_"):
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
        merged = [Starred(m.name, m.value) for m in scope.merged.values()]
        rest = [
            Starred(column.name, column)
            for relation in scope.relations
            for column in relation.shown
            if not _is_merged(column, scope)
        ]
        return [*merged, *rest]
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


def _without(named: list[Starred], name: Name) -> list[Starred]:
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
