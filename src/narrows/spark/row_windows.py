"""Windows that rows cut, on Spark: `transformWithState` in a stream, groups of Arrow otherwise.

What they do stands in `narrows.stateful.windows`. Here rows are brought to them, key by key and in
the order of the source, and what is open is kept in Spark's state store between micro-batches.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)
from pyspark.sql.types import LongType, StructType

from narrows.errors import InternalError
from narrows.expressions import Expr
from narrows.logical.nodes import Window
from narrows.physical.window_spec import WindowSpec
from narrows.spark.event_time import RunTime, constant_key
from narrows.spark.frame import Frame, column_name
from narrows.spark.grouping import group_columns
from narrows.sql.functions.registry import WindowKind
from narrows.stateful.values import order_key
from narrows.stateful.windows import (
    Closed,
    CountWindow,
    Open,
    RowWindow,
    SlidingWindow,
    StateWindow,
    WindowRow,
    run_to_end,
)

_TIME, _OPENS, _EMITS = "row_time", "opens", "emits"
_BOUNDS = ("start", "end", "number")
_STATE = "open BINARY, closes_at BIGINT"


@dataclass(frozen=True)
class RowShape:
    """Where a row holds what: the columns it keeps, and those that the window looks at."""

    kept: tuple[str, ...]
    order: str
    conditions: tuple[str, ...]

    def window_row(self, row: Any) -> WindowRow:
        return WindowRow(
            row[_TIME],
            order_key(row[self.order]),
            tuple(row[name] for name in self.conditions),
            tuple(row[name] for name in self.kept),
        )


def cut_by_rows(frame: Frame, node: Window, spec: WindowSpec, time: RunTime) -> Frame:
    if frame.order is None or frame.stamp is None:
        raise InternalError("a window that rows cut needs their order and their time")
    shape = RowShape(
        tuple(n for n in frame.data.columns if n not in (constant_key(), frame.clock)),
        frame.order,
        (_OPENS, _EMITS)[: len(spec.conditions)],
    )
    schema = StructType([frame.data.schema[name] for name in shape.kept])
    for bound in _BOUNDS:
        schema = schema.add(bound, LongType())
    looked_at = zip(shape.conditions, spec.conditions, strict=True)
    keys, grouped = group_columns(frame, _partition(node, spec))
    prepared = grouped.select(
        "*",
        F.unix_micros(frame.stamp).alias(_TIME),
        *(F.expr(frame.sql.text(expr)).alias(name) for name, expr in looked_at),
    )
    window = _window(spec)
    if frame.data.isStreaming:
        ends = None if spec.goes_by_time else spec.closing_time(time.watermark)
        processor = WindowProcessor(window, shape, ends)
        cut = prepared.groupBy(*keys).transformWithState(processor, schema, "Append", "EventTime")
    else:
        cut = prepared.groupBy(*keys).applyInArrow(_in_one_go(window, shape), schema)
    return _with_bounds(frame, cut, node, shape)


def _partition(node: Window, spec: WindowSpec) -> Sequence[Expr]:
    """Whose windows are cut apart: each key's, but where the window says it itself."""
    own = node.window.partition_by
    if spec.kind is WindowKind.STATE:
        return own
    return list(dict.fromkeys((*node.keys, *own)))


def _window(spec: WindowSpec) -> RowWindow:
    match spec.kind:
        case WindowKind.COUNT:
            return CountWindow(*spec.lengths)
        case WindowKind.STATE:
            return StateWindow()
        case WindowKind.SLIDING:
            return SlidingWindow(*(length * 1_000 for length in spec.lengths))
        case _:
            raise InternalError(f"no rows cut a {spec.kind.value} window")


def _with_bounds(frame: Frame, cut: DataFrame, node: Window, shape: RowShape) -> Frame:
    names = [column_name(node.relation.id, ordinal) for ordinal in range(3)]
    data = cut.select(
        *shape.kept,
        F.timestamp_micros("start").alias(names[0]),
        F.timestamp_micros("end").alias(names[1]),
        F.col("number").alias(names[2]),
    )
    return replace(frame.with_made(data, node.relation), clock=None)


# --- all rows at once -----------------------------------------------------------------------------


def _in_one_go(window: RowWindow, shape: RowShape) -> Any:
    def cut(table: pa.Table) -> pa.Table:
        rows = sorted((shape.window_row(row) for row in table.to_pylist()), key=lambda row: row[1])
        values: list[tuple[Any, ...]] = []
        for closed in run_to_end(window, rows):
            values.extend(_rows(closed))
        schema = pa.schema(
            [
                *(table.schema.field(name) for name in shape.kept),
                *(pa.field(name, pa.int64()) for name in _BOUNDS),
            ]
        )
        columns = zip(*values, strict=True) if values else [()] * len(schema)
        arrays = [
            pa.array(list(column), field.type)
            for column, field in zip(columns, schema, strict=True)
        ]
        return pa.Table.from_arrays(arrays, schema=schema)

    return cut


def _rows(closed: Closed) -> Iterator[tuple[Any, ...]]:
    for row in closed.rows:
        yield (*row[3], closed.start, closed.end, closed.number)


# --- batch by batch -------------------------------------------------------------------------------


class WindowProcessor(StatefulProcessor):
    """Keeps what is open of each key. Times in Spark's timers are milliseconds.

    `ends` is when the input of this run is over, for windows that do not go by time: every window
    that is still open then closes.
    """

    def __init__(self, window: RowWindow, shape: RowShape, ends: int | None) -> None:
        self._window = window
        self._shape = shape
        self._ends = ends
        self._row = Row(*shape.kept, *_BOUNDS)

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._state = handle.getValueState("open", _STATE)

    def handleInputRows(  # noqa: N802
        self,
        key: Any,
        rows: Iterator[Row],
        timerValues: TimerValues,  # noqa: N803
    ) -> Iterator[Row]:
        # What was due before these rows came closes without them.
        state, closed = self._advanced(timerValues)
        new = sorted(map(self._shape.window_row, rows), key=lambda row: row[1])
        state, more = self._window.step(state, new)
        self._remember(state)
        return self._given([*closed, *more])

    def handleExpiredTimer(  # noqa: N802
        self,
        key: Any,
        timerValues: TimerValues,  # noqa: N803
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: N803
    ) -> Iterator[Row]:
        state, closed = self._advanced(timerValues)
        self._remember(state)
        return self._given(closed)

    def close(self) -> None:
        pass

    def _advanced(self, timers: TimerValues) -> tuple[Open, list[Closed]]:
        if not self._state.exists():
            return self._window.start(), []
        stored, closes_at = self._state.get() or (None, None)
        state, now = pickle.loads(stored), timers.getCurrentWatermarkInMs()
        if closes_at is not None:
            return self._window.advance(state, None) if now >= closes_at else (state, [])
        return self._window.advance(state, now * 1_000)

    def _remember(self, state: Open) -> None:
        if not state[-1]:  # no row is kept
            self._state.clear()
            return
        due = self._window.due(state)
        closes_at = self._ends if due is None else -(-due // 1_000)
        assert closes_at is not None
        self._state.update((pickle.dumps(state), None if due is not None else closes_at))
        self._handle.registerTimer(closes_at)

    def _given(self, windows: Sequence[Closed]) -> Iterator[Row]:
        for closed in windows:
            for values in _rows(closed):
                yield self._row(*values)
