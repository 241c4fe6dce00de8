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
(`physical/partial_calls.py`). No state store keeps groups then, and no row of an open window
crosses the JVM: each task of a micro-batch leaves a file, and those files are merged when the
watermark has passed the end of windows (`worker/windows/`).

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

from narrows.expressions.nodes import Call, Expr
from narrows.logical.conjuncts import split
from narrows.logical.nodes import (
    DataSink,
    NamedExpr,
    Node,
    default_name,
    relation_of,
)
from narrows.logical.walk import fresh_numbers, topological, transform_up
from narrows.physical.above_windows import way_to_window
from narrows.physical.execution import rows_of
from narrows.physical.nodes import (
    PhysicalFilter,
    PhysicalPartialAggregation,
    PhysicalReader,
    PhysicalStreamingAggregation,
)
from narrows.physical.partial_calls import Taken, take_apart
from narrows.physical.partial_steps import TypeOf
from narrows.physical.rules.filter_into_decoder import narrow_shipping
from narrows.physical.stateful_calls import window_call
from narrows.physical.window_groups import is_of_one_row, window_cut
from narrows.physical.worker_aggregation import can_compute, can_fold, computed_type
from narrows.physical.worker_predicate import leaf_test
from narrows.schema import DOUBLE, FLOAT, INTEGRAL, UNKNOWN, DataType, Decimal

_MOST_DIGITS = 38


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
        reader = node.child
        tests: tuple[Expr, ...] = ()
        if isinstance(reader, PhysicalFilter):
            tests = tuple(split(reader.predicate))
            reader = reader.child
        if not isinstance(reader, PhysicalReader) or reader.order or reader.encodes:
            return None
        if not reader.source.is_fed or reader.source.eventtime is None:
            return None
        window = window_call(node.window)
        if window.args or window_cut(window.evaluator) is None:
            return None
        if not all(leaf_test(test, reader.relation.id, ansi=self.ansi) for test in tests):
            return None
        return replace(reader, filter=(*reader.filter, *tests))

    def _split(
        self, node: PhysicalStreamingAggregation, reader: PhysicalReader, fresh: Iterator[int]
    ) -> PhysicalStreamingAggregation | None:
        relation = reader.relation.id

        def type_of(arg: Expr) -> DataType:
            return computed_type(arg, relation, ansi=self.ansi) or UNKNOWN

        steps = [take_apart(expr, type_of) for _, expr in node.calls]
        known = [taken for taken in steps if taken is not None and not taken.keys]
        keys = list(dict.fromkeys(node.group))
        parts = list(dict.fromkeys(part for taken in known for part in taken.parts))
        if len(known) < len(steps) or any(key.dtype in (FLOAT, DOUBLE) for key in keys):
            return None
        if not all(can_compute(key, relation, ansi=self.ansi) for key in keys):
            return None
        if not all(can_fold(part, relation, ansi=self.ansi) for part in parts):
            return None
        if any(self._may_overflow(part, type_of) for part in parts):
            return None
        named = [NamedExpr(default_name(expr), expr) for expr in (*keys, *parts)]
        partial = PhysicalPartialAggregation(
            child=reader,
            keys=tuple(named[: len(keys)]),
            calls=tuple(named[len(keys) :]),
            relation=relation_of(next(fresh), None, named),
        )
        return _merging(node, partial, known)

    def _may_overflow(self, part: Call, type_of: TypeOf) -> bool:
        if part.function.name != "sum":
            return False
        dtype = type_of(part.args[0])
        if isinstance(dtype, Decimal):
            return self.ansi or dtype.precision + 10 > _MOST_DIGITS
        return self.ansi and dtype in INTEGRAL


def _merging(
    node: PhysicalStreamingAggregation,
    partial: PhysicalPartialAggregation,
    known: list[Taken],
) -> PhysicalStreamingAggregation | None:
    exprs = [expr for _, expr in (*partial.keys, *partial.calls)]
    made = dict(zip(exprs, partial.relation.columns, strict=True))
    merged = [taken.merge(made) for taken in known]
    if not all(map(is_of_one_row, merged)):
        return None
    return replace(
        node,
        child=partial,
        keys=tuple(NamedExpr(name, made.get(expr, expr)) for name, expr in node.keys),
        calls=tuple(
            NamedExpr(name, expr) for (name, _), expr in zip(node.calls, merged, strict=True)
        ),
    )
