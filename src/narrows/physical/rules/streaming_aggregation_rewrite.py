"""StreamingAggregationRewrite: a window keeps sums and counts instead of rows.

SQL:     SELECT k, count(*) FROM ev GROUP BY k, tumblingwindow('ss', 10)
Before:  PhysicalProject fields=[k; count(*)]
         └─PhysicalAggregation keys=[ev.k; window_start; window_end], calls=[count(*)]
           └─PhysicalWindow window=tumblingwindow('ss', 10), keys=[ev.k]
             └─PhysicalDecoder schema=[k, ts]
               └─PhysicalDataSource source=ev
After:   PhysicalProject fields=[k; count(*)]
         └─PhysicalStreamingAggregation window=tumblingwindow('ss', 10), calls=[count(*)]
           └─PhysicalDecoder schema=[k, ts]
             └─PhysicalDataSource source=ev

Recognises: an aggregation right above a window, where every call can be kept up to date row by row.
Of tumbling, hopping and session windows Spark then keeps one small state for each window and key.
Count and state windows keep it themselves (`physical/window_folds.py`), and a sliding window keeps
of each row what the calls look at, because a row that leaves must be taken out again.

Refuses: calls that need all rows of a window together: DISTINCT and, where rows cut windows, what
only Spark can compute. Then the window keeps its rows until it closes, and the aggregation runs
over them; EXPLAIN says which call it was. In a state window also what may fail in a row, for most
rows may be in no window.

Terminates: each step removes a window from the plan, and no rule makes one.
"""

from __future__ import annotations

from dataclasses import dataclass

from narrows.logical.nodes import Aggregation, Node, Window
from narrows.logical.walk import transform_up
from narrows.physical.incremental import why_not_incremental
from narrows.physical.nodes import PhysicalStreamingAggregation


@dataclass(frozen=True)
class StreamingAggregationRewrite:
    ansi: bool = False
    """Is an overflow an error?"""

    def apply(self, plan: Node) -> Node | None:
        return transform_up(plan, self._fuse)

    def _fuse(self, node: Node) -> Node | None:
        if not isinstance(node, Aggregation) or why_not_incremental(node, ansi=self.ansi):
            return None
        window = node.child
        assert isinstance(window, Window)
        return PhysicalStreamingAggregation(
            child=window.child,
            keys=node.keys,
            calls=node.calls,
            relation=node.relation,
            window=window.window,
            bounds=window.relation,
        )
