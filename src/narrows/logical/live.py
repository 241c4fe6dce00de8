"""Which columns of each node somebody above it still uses: the required columns of every operator.

`logical/required.py` tells how much of a source's values a whole plan looks at; this tells how long
a column lives. A join key that only the join looks at is not live above the join, a sort key is not
live above the sort.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from narrows.expressions.nodes import ColumnId, Expr, columns_of_all
from narrows.logical.nodes import (
    Aggregation,
    DataSink,
    DecodedSource,
    Distinct,
    Join,
    Node,
    Project,
    StatefulFunction,
    Tail,
)
from narrows.logical.relational_nodes import (
    Analytic,
    Keep,
    Recursion,
    SetOperation,
    Subquery,
    Union,
)
from narrows.logical.walk import outer_columns, topological
from narrows.sql.binder.context import SubqueryKind

Live = dict[int, set[ColumnId]]
"""By the `id()` of a node: those of its outputs that are used above it."""


def live_columns(root: Node) -> Live:
    # The watermark looks at event times, whatever the query says: they live as long as their rows.
    times = {
        node.relation.column(node.source.row.ordinal(node.source.eventtime)).id
        for node in topological(root)
        if isinstance(node, DecodedSource) and node.source.eventtime is not None
    }
    live: Live = {id(node): times & _ids(node) for node in topological(root)}
    if not isinstance(root, (DataSink, Tail)):
        live[id(root)] = _ids(root)
    for node in topological(root):
        for child, wanted in zip(node.children, _wanted(node, live[id(node)]), strict=True):
            live[id(child)] |= wanted & _ids(child)
    return live


def _wanted(node: Node, live: set[ColumnId]) -> Sequence[set[ColumnId]]:
    """What the node needs of each child, when these of its own columns are needed."""
    match node:
        case Project(fields=fields, relation=relation):
            kept = [e for i, (_, e) in enumerate(fields) if ColumnId(relation.id, i) in live]
            return [_used(kept)]
        case Aggregation(keys=keys, calls=calls, relation=relation):
            kept = [
                expr
                for i, (_, expr) in enumerate(calls, start=len(keys))
                if ColumnId(relation.id, i) in live
            ]
            return [_used([*(expr for _, expr in keys), *kept])]
        case (
            Analytic(calls=calls, relation=relation)
            | StatefulFunction(calls=calls, relation=relation)
        ):
            kept = [c for i, c in enumerate(calls) if ColumnId(relation.id, i) in live]
            return [live | _used(kept)]
        case Union(relation=relation, inputs=inputs):
            places = [i for i in range(len(relation.schema)) if ColumnId(relation.id, i) in live]
            return [{side.outputs[place].id for place in places} for side in inputs]
        case Subquery():
            return _subquery(node, live)
        case DataSink() | Distinct() | SetOperation() | Recursion():
            return [_ids(child) for child in node.children]
        case Keep():
            return [live]
        case Join(lateral=True, right=right):
            used = live | _used(node.expressions)
            return [used | {column.id for column in outer_columns(right)}, used]
        case _:
            return [live | _used(node.expressions) for _ in node.children]


def _subquery(node: Subquery, live: set[ColumnId]) -> Sequence[set[ColumnId]]:
    if node.relation.columns[0].id not in live:
        return [live, set()]
    around = live | _used(node.operands) | {c.id for c in outer_columns(node.subplan)}
    exists = node.kind is SubqueryKind.EXISTS
    return [around, set() if exists else _ids(node.subplan)]


def _used(expressions: Iterable[Expr]) -> set[ColumnId]:
    return {column.id for column in columns_of_all(expressions)}


def _ids(node: Node) -> set[ColumnId]:
    return {column.id for column in node.outputs}
