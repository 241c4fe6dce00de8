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

Recognises: an aggregation right above a tumbling, hopping or session window, where every call can
be kept up to date row by row. Spark then keeps one small state for each window and key.

Refuses: windows whose bounds only the rows themselves tell (count, state, sliding), and calls that
need all rows of a window together (DISTINCT). Then the window keeps its rows until it closes, and
the aggregation runs over them; EXPLAIN says which call it was.

Terminates: each step removes a window from the plan, and no rule makes one.
"""

from __future__ import annotations

from narrows.logical.nodes import Aggregation, Node, Window
from narrows.logical.walk import transform_up
from narrows.physical.incremental import why_not_incremental
from narrows.physical.nodes import PhysicalStreamingAggregation


class StreamingAggregationRewrite:
    def apply(self, plan: Node) -> Node | None:
        return transform_up(plan, _fuse)


def _fuse(node: Node) -> Node | None:
    if not isinstance(node, Aggregation) or why_not_incremental(node) is not None:
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
