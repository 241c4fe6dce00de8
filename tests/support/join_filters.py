"""What readers are left with by the keys of others, without Spark."""

from __future__ import annotations

from collections.abc import Sequence

from narrows.expressions.nodes import Column
from narrows.logical.nodes import DecodedSource, Node
from narrows.logical.relational_nodes import Subquery
from narrows.logical.walk import topological
from narrows.physical.join_filters import JoinFilter, Keys
from narrows.physical.nodes import PhysicalDecoder
from support.reference import Document, Documents, Row, Value, decoded, evaluate, made_row, run


def with_join_filters(plan: Node, documents: Documents) -> Documents:
    """What the readers of a plan have, without what their join filters drop."""
    subqueries = {n.relation.id: n for n in topological(plan) if isinstance(n, Subquery)}
    readers = {n.relation.id: n for n in topological(plan) if isinstance(n, PhysicalDecoder)}

    def kept(node: DecodedSource) -> Sequence[Document]:
        filters = node.join_filters if isinstance(node, PhysicalDecoder) else ()
        return [row for row in documents(node) if _passes(made_row(node, row), filters)]

    def _passes(row: Row, filters: Sequence[JoinFilter]) -> bool:
        return all(evaluate(made.tested, row) in _values(made.keys) for made in filters)

    def _values(keys: Keys) -> set[Value]:
        if keys.relation not in readers:
            made = run(subqueries[keys.relation].subplan, kept)
            columns = [column.id for column in subqueries[keys.relation].subplan.outputs]
            assert isinstance(keys.of, Column)
            return {row[columns.index(keys.of.id)] for row in made} - {None}
        reader = readers[keys.relation]
        rows = [row for row in decoded(reader, kept(reader)) if _passes(row, keys.filters)]
        return {evaluate(keys.of, row) for row in rows} - {None}

    return kept
