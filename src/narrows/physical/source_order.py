"""Which sources have to ship the place of each row: those below something that goes by it.

Not a rule that could be switched off: without it `lag` would not know what came before.
"""

from __future__ import annotations

from dataclasses import replace

from narrows.logical.nodes import Node
from narrows.logical.row_order import goes_by_order
from narrows.logical.walk import topological, transform_up
from narrows.physical.nodes import PhysicalDecoder, PhysicalSharedStream


def with_source_order(plan: Node) -> Node:
    ordered = {
        id(below)
        for node in topological(plan)
        if goes_by_order(node)
        for below in topological(node)
        if isinstance(below, (PhysicalDecoder, PhysicalSharedStream))
    }

    def ship_order(node: Node) -> Node | None:
        if isinstance(node, (PhysicalDecoder, PhysicalSharedStream)) and id(node) in ordered:
            return replace(node, order=True)
        return None

    return transform_up(plan, ship_order) or plan
