"""A part of ProjectionPushdown: columns that are made and that nobody uses are not made any more.

A node that makes fewer columns gets a new relation, and every reference to the old one is replaced.
Two copies of a node may stand in a plan (a filter that went into one use of a common table
expression); they carry the same relation and get the same new one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from narrows.expressions.nodes import Column, ColumnId, Expr, rewrite
from narrows.logical.live import Live, live_columns
from narrows.logical.nodes import Aggregation, NamedExpr, Node, Project, relation_of
from narrows.logical.relational_nodes import Analytic, Keep, SparkTable, Subquery, Union
from narrows.logical.walk import fresh_numbers, topological
from narrows.schema import Struct
from narrows.sql.scope import Relation


def drop_dead_columns(plan: Node) -> Node | None:
    """The plan without them; None when there are none."""
    live = _keep_sides_of_unions(plan, live_columns(plan))
    fresh = fresh_numbers(plan)
    shrunk = _shrunk_relations(plan, live, fresh)
    dropped = {
        id(node)
        for node in topological(plan)
        if isinstance(node, (Subquery, Analytic)) and not live[id(node)] & _made(node)
    }
    if not shrunk and not dropped:
        return None
    replaced: dict[ColumnId, Expr] = {}
    for number, (relation, places) in shrunk.items():
        for new, old in enumerate(places):
            replaced[ColumnId(number, old)] = relation.columns[new]

    def renamed(expr: Expr) -> Expr | None:
        if not isinstance(expr, Column) or expr.id not in replaced:
            return None
        new = replaced[expr.id]
        assert isinstance(new, Column)
        return replace(new, name=expr.name, qualifier=expr.qualifier, span=expr.span)

    done: dict[int, Node] = {}
    for node in reversed(topological(plan)):
        if id(node) in dropped:
            done[id(node)] = done[id(node.children[0])]
            continue
        current = node.with_children([done[id(child)] for child in node.children])
        made = getattr(node, "relation", None)
        if made is not None and made.id in shrunk:
            current = _shrink(current, *shrunk[made.id], fresh)
        after = [rewrite(expr, renamed) for expr in current.expressions]
        if isinstance(current, Keep):
            columns = [column for column in after if isinstance(column, Column)]
            current = replace(current, columns=tuple(columns))
        else:
            current = current.with_expressions(after)
        done[id(node)] = current
    return done[id(plan)]


def _made(node: Subquery | Analytic) -> set[ColumnId]:
    return {column.id for column in node.relation.columns}


def _keep_sides_of_unions(plan: Node, live: Live) -> Live:
    """A union finds the columns of its sides by their places: it goes first, they follow later."""
    for node in topological(plan):
        if isinstance(node, Union) and len(live[id(node)]) < len(node.relation.schema):
            for side in node.inputs:
                for below in topological(side):
                    live[id(below)] |= {column.id for column in below.outputs}
    return live


def _shrunk_relations(
    plan: Node, live: Live, fresh: Iterator[int]
) -> dict[int, tuple[Relation, list[int]]]:
    """The relations that lose columns: what is left of each, and the places it had."""
    kept: dict[int, set[int]] = {}
    relations: dict[int, Relation] = {}
    for node in topological(plan):
        if not isinstance(node, (Project, Aggregation, Analytic, SparkTable, Union)):
            continue
        number = node.relation.id
        relations[number] = node.relation
        kept.setdefault(number, set()).update(
            column.ordinal for column in live[id(node)] if column.relation == number
        )
        if isinstance(node, Aggregation):
            kept[number].update(range(len(node.keys)))
    shrunk = {}
    for number, relation in relations.items():
        places = sorted(kept[number])
        if len(places) < len(relation.schema):
            fields = tuple(relation.schema.fields[place] for place in places)
            shrunk[number] = (Relation(next(fresh), relation.name, Struct(fields)), places)
    return shrunk


def _shrink(node: Node, relation: Relation, places: Sequence[int], fresh: Iterator[int]) -> Node:
    match node:
        case Project(fields=fields):
            return replace(node, fields=tuple(fields[p] for p in places), relation=relation)
        case Aggregation(keys=keys, calls=calls):
            kept = tuple(calls[place - len(keys)] for place in places if place >= len(keys))
            return replace(node, calls=kept, relation=relation)
        case SparkTable():
            return replace(node, relation=relation)
        case Analytic(calls=calls):
            return replace(node, calls=tuple(calls[p] for p in places), relation=relation)
        case Union(inputs=inputs):
            sides = []
            for side in inputs:
                named = [NamedExpr(side.outputs[p].name, side.outputs[p]) for p in places]
                made = relation_of(next(fresh), None, named)
                sides.append(Project(child=side, fields=tuple(named), relation=made))
            return replace(node, inputs=tuple(sides), relation=relation)
        case _:
            return node
