"""Where rows are so few that one task computes with them sooner than several would share them.

Each shuffle is a job of Spark's, and so is the sample by which it sorts: tens of milliseconds, in
which a task computes with some hundred thousand rows. What is guessed about tests may be wrong, and
then one task has all that readers have: that, too, must not be more than it can do.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from narrows.catalog.measured import Measured
from narrows.expressions.nodes import Expr
from narrows.logical.nodes import Aggregation, Distinct, Filter, Join, Limit, Node, Project, Sort
from narrows.logical.relational_nodes import Keep, OneRow, SetOperation, Subquery, Union, Values
from narrows.logical.walk import topological
from narrows.optimizer.estimates import Estimates, type_width
from narrows.physical.join_filters import kept_share
from narrows.physical.join_sides import rows_of_files, shipped_width
from narrows.physical.nodes import PhysicalDataSource, PhysicalReader
from narrows.plugins.registry import FORMATS

_FEW = 16 << 20
"""Bytes that one task computes with about as soon as all of them after another shuffle."""
_HARMLESS = 96 << 20
"""Bytes that one task can take, if it must: where what is guessed about tests is wrong."""

_ESTIMATED = (
    *(Filter, Project, Keep, Join, Aggregation, Distinct, Sort, Limit, Subquery),
    *(Union, SetOperation, Values, OneRow, PhysicalDataSource),
)
"""What is known to give how many rows, if that is known of what is below."""


class FewRows:
    """Tells it for the nodes of one plan."""

    def __init__(self, plan: Node, measured: Measured) -> None:
        guessed = Estimates(plan)
        rows: dict[int, float] = {}
        self._ships: dict[int, float] = {}
        for node in topological(plan):
            if isinstance(node, PhysicalReader):
                packed = FORMATS.find(node.source.format).is_columnar
                size = None if packed else measured.size(node.source)
                known = size is not None or node.source.statistics is not None
                there = rows_of_files(node, guessed, size) if known else inf
                rows[id(node)] = there * kept_share(node.filter, node.join_filters, guessed)
                self._ships[id(node)] = there * shipped_width(node)
            elif not isinstance(node, _ESTIMATED):
                rows[id(node)] = inf
        self._estimates = Estimates(plan, rows)

    def come_from(self, node: Node, values: Sequence[Expr]) -> bool:
        """Are these values few, one each for every row of the node?"""
        width = sum(type_width(value.dtype) for value in values)
        return self._estimates.rows(node) * width <= _FEW and self._at_most(node) <= _HARMLESS

    def _at_most(self, node: Node) -> float:
        """Bytes of what is there below a node if no test drops a row, about."""
        if isinstance(node, Limit) and node.count is not None:
            return 0.0
        below = sum(map(self._at_most, node.children))
        return self._ships.get(id(node), 0.0) + below
