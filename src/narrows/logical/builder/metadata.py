"""Metadata columns are part of a source for a query that names one of them, and for no other.

So they are settled before any rule looks: a source that is read whole is read without them, and one
of which nothing but metadata is named is read without its payloads. A payload that is NULL (a
tombstone) is a row there and nowhere else, whatever the rules do.
"""

from __future__ import annotations

from dataclasses import replace

from narrows.demand import ALL, fields, whole_row
from narrows.expressions.nodes import columns_of_all
from narrows.logical.nodes import DataSource, Node
from narrows.logical.walk import topological, transform_up


def leave_out_metadata(plan: Node) -> Node:
    """The plan, with sources that make only those metadata columns that it names."""
    named = {column.id for node in topological(plan) for column in columns_of_all(node.expressions)}

    def narrow(node: Node) -> Node | None:
        if not isinstance(node, DataSource) or not node.source.metadata:
            return None
        source, relation = node.source, node.relation.id
        width = len(source.schema)
        used = {column.ordinal for column in named if column.relation == relation}
        if source.eventtime is not None:
            used.add(source.row.ordinal(source.eventtime))
        metadata = [source.row.fields[at].name for at in sorted(used) if at >= width]
        alone = bool(metadata) and len(metadata) == len(used) and not source.shared
        kept = metadata if alone else (*source.schema.names, *metadata)
        parts = whole_row(fields(dict.fromkeys(kept, ALL)), source.row)
        return replace(node, decode_projection=parts, metadata_alone=alone)

    return transform_up(plan, narrow) or plan
