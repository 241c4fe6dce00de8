"""Rows that are written once and groups that nothing is computed of: two words for the same.

    SELECT DISTINCT k FROM ev          PhysicalDistinct └─PhysicalProject fields=[k]
    SELECT k FROM ev GROUP BY k        PhysicalAggregation keys=[k]

Readers fold groups, and tasks remember rows: so each of the rules that have tasks keep them takes
both for what it knows.
"""

from __future__ import annotations

from narrows.logical.nodes import Node
from narrows.physical.nodes import PhysicalAggregation, PhysicalDistinct, PhysicalProject


def as_groups(node: Node) -> PhysicalAggregation | None:
    """An aggregation as it is, and distinct rows as groups of which there are only keys."""
    if isinstance(node, PhysicalAggregation):
        return node
    if not isinstance(node, PhysicalDistinct) or not isinstance(node.child, PhysicalProject):
        return None
    project = node.child
    return PhysicalAggregation(
        child=project.child, keys=project.fields, calls=(), relation=project.relation
    )


def as_distinct_rows(node: Node) -> PhysicalDistinct | None:
    """Groups of which there are only keys as distinct rows."""
    if not isinstance(node, PhysicalAggregation) or node.calls or node.sets is not None:
        return None
    keys = PhysicalProject(child=node.child, fields=node.keys, relation=node.relation)
    return PhysicalDistinct(child=keys)
