"""Which kernel decodes, for EXPLAIN VERBOSE: a fact about this machine, not about the plan."""

from __future__ import annotations

from narrows.explain.plan import Plan
from narrows.logical.walk import topological
from narrows.physical.nodes import PhysicalDecoder
from narrows.plugins.registry import FORMATS


def kernels_of(plan: Plan) -> dict[str, str]:
    """The kernel of each format that the plan decodes and that more than one kernel could."""
    nodes = topological(plan.physical)
    formats = {node.source.format for node in nodes if isinstance(node, PhysicalDecoder)}
    found = {name: FORMATS.find(name).kernel for name in sorted(formats)}
    return {name: kernel() for name, kernel in found.items() if kernel is not None}
