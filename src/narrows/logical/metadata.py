"""Metadata columns are part of a source for a query that names one of them, and for no other.

So they are settled before any rule looks: a source that is read whole is read without them.
"""

from __future__ import annotations

from dataclasses import replace

from narrows.demand import ALL, fields, whole_row
from narrows.expressions.nodes import columns_of
from narrows.logical.nodes import DataSource, Node
from narrows.logical.walk import topological, transform_up


def leave_out_metadata(plan: Node) -> Node:
    """The plan, with sources that make only those metadata columns that it names."""
    named = {
        column.id
        for node in topological(plan)
        for expr in node.expressions
        for column in columns_of(expr)
    }

    def narrow(node: Node) -> Node | None:
        if not isinstance(node, DataSource) or not node.source.metadata:
            return None
        source, relation = node.source, node.relation
        hidden = relation.columns[len(source.schema) :]
        used = [c.name for c in hidden if c.id in named or c.name == source.eventtime]
        parts = fields(dict.fromkeys((*source.schema.names, *used), ALL))
        return replace(node, decode_projection=whole_row(parts, source.row))

    return transform_up(plan, narrow) or plan
