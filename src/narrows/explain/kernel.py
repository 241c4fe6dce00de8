"""Which kernel decodes, for EXPLAIN VERBOSE: a fact about this machine, not about the plan."""

from __future__ import annotations

from narrows.explain.plan import Plan
from narrows.formats.kernel import chosen_kernel
from narrows.logical.walk import topological
from narrows.physical.nodes import PhysicalDecoder


def kernel_of(plan: Plan) -> str | None:
    """The kernel that decodes JSON, if the plan does."""
    decodes = any(
        isinstance(node, PhysicalDecoder) and node.source.format == "json"
        for node in topological(plan.physical)
    )
    return chosen_kernel() if decodes else None
