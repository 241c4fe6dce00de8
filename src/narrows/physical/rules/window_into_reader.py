"""WindowIntoReader: tasks fold rows into windows where they decode them, and merge them.

SQL:     CREATE PIPELINE p INTO out_json
         AS SELECT k, count(*) AS n FROM ev WHERE a > 1 GROUP BY k, tumblingwindow('ss', 10)
Before:  PhysicalDataSink sink=out_json
         └─PhysicalEncoder encoder=json
           └─PhysicalProject fields=[k; count(*) AS n]
             └─PhysicalStreamingAggregation window=tumblingwindow('ss', 10), calls=[count(*)]
               └─PhysicalFilter predicate=ev.a > 1
                 └─PhysicalDecoder schema=[a, k, ts]
                   └─PhysicalDataSource source=ev
After:   PhysicalDataSink sink=out_json
         └─PhysicalEncoder encoder=json
           └─PhysicalProject fields=[k; count(*) AS n]
             └─PhysicalStreamingAggregation state=partial aggregates
               └─PhysicalPartialAggregation keys=[ev.k], calls=[count(*)], in=reader
                 └─PhysicalDecoder filter=[ev.a > 1], ships=[k, ts]
                   └─PhysicalDataSource source=ev

Recognises: in a pipeline, a tumbling, hopping or session window that keeps aggregates, right above
a reader, or above a filter that the reader can run. Above it stands what can be made of windows
that close, each time by itself: filters, projections, joins with tables, ORDER BY ... PER BATCH.
Its keys and arguments the reader can compute, and its calls can be taken apart
(`physical/in_reader/partial_calls.py`). No state store keeps groups then, and no row of an open
window crosses the JVM: each task of a micro-batch leaves a file, and those files are merged when
the watermark has passed the end of windows (`worker/windows/`).

Refuses: streams without event time, whose windows close with the time of day. Keys that are
floating numbers, of which two may be equal and differ. In ANSI mode sums of whole numbers, and
everywhere of DECIMALs with 38 digits: whether they overflow is for Spark to say. DISTINCT and
approx_count_distinct, which would keep every value; first and last, for files of groups have no
order; and what else `PartialAggregationIntoReader` refuses. Functions that remember rows, DISTINCT
and groups of groups above windows, which go on when a window has closed.

Terminates: each step puts a partial aggregation below a window, where no other finds its place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from narrows.logical.nodes import DataSink, NamedExpr, Node
from narrows.logical.walk import fresh_numbers, topological, transform_up
from narrows.physical.above_windows import way_to_window
from narrows.physical.begun_in_reader import begun_in_reader, testing_reader
from narrows.physical.execution import rows_of
from narrows.physical.nodes import PhysicalReader, PhysicalStreamingAggregation
from narrows.physical.rules.filter_into_decoder import narrow_shipping
from narrows.physical.stateful_calls import window_call
from narrows.physical.window_groups import window_cut


@dataclass(frozen=True)
class WindowIntoReader:
    ansi: bool = False
    """Is an overflow an error?"""

    def apply(self, plan: Node) -> Node | None:
        if not any(isinstance(node, DataSink) for node in topological(plan)):
            return None
        window = next(reversed(way_to_window(rows_of(plan))), None)
        fresh = fresh_numbers(plan)

        def split_window(node: Node) -> Node | None:
            if node is not window or not isinstance(node, PhysicalStreamingAggregation):
                return None
            reader = self._reader(node)
            return None if reader is None else self._split(node, reader, fresh)

        made = transform_up(plan, split_window)
        return None if made is None else narrow_shipping(made)

    def _reader(self, node: PhysicalStreamingAggregation) -> PhysicalReader | None:
        """The reader below a window that its tasks can cut, with the tests in between."""
        reader = testing_reader(node.child, ansi=self.ansi)
        if reader is None or reader.source.eventtime is None:
            return None
        window = window_call(node.window)
        cut = None if window.args else window_cut(window.evaluator)
        return None if cut is None else reader

    def _split(
        self, node: PhysicalStreamingAggregation, reader: PhysicalReader, fresh: Iterator[int]
    ) -> PhysicalStreamingAggregation | None:
        begun = begun_in_reader(node, node.group, reader, fresh, ansi=self.ansi)
        if begun is None:
            return None
        return replace(
            node,
            child=begun.partial,
            keys=tuple(NamedExpr(name, begun.made.get(expr, expr)) for name, expr in node.keys),
            calls=begun.calls,
        )
