"""What the three pruning rules share: they differ only in how deep they look."""

from __future__ import annotations

from dataclasses import replace

from narrows.demand import Depth, coarsen, whole_row
from narrows.logical.nodes import DataSource, Node
from narrows.logical.required import demands_the_same, required
from narrows.logical.walk import transform_up


def prune_sources(plan: Node, depth: Depth) -> Node | None:
    """Narrows every source to what the plan demands of it, as far as this depth can tell."""
    found = required(plan)

    def narrow(node: Node) -> Node | None:
        if not isinstance(node, DataSource):
            return None
        demand = whole_row(coarsen(found.row(node), depth), node.source.row)
        if demand == node.decode_projection:
            return None
        return replace(node, decode_projection=demand)

    pruned = transform_up(plan, narrow)
    if pruned is not None:
        demands_the_same(plan, pruned)
    return pruned
