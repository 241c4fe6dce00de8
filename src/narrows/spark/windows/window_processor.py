"""Windows that rows cut, batch by batch: what `transformWithState` calls for each key.

Spark starts a Python process to look at it for every query, before the first row is read. So it
stands alone: nothing of the planner is loaded with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

from narrows.stateful.stored import from_bytes, to_bytes
from narrows.stateful.windows.window import Closed, Cutter, Open
from narrows.worker.remembered.windows import BOUNDS, RowShape, rows_of_window

_STATE = "open BINARY, closes_at BIGINT"


class WindowProcessor(StatefulProcessor):
    """Keeps what is open of each key. Times in Spark's timers are milliseconds.

    `ends` is when the input of this run is over, for windows that do not go by time: every window
    that is still open then closes.
    """

    def __init__(self, window: Cutter, shape: RowShape, ends: int | None) -> None:
        self._window = window
        self._shape = shape
        self._ends = ends
        self._row = Row(*shape.given, *BOUNDS)

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
        new = sorted(map(self._shape.window_row, rows), key=lambda row: row.place)
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
        state, now = from_bytes(stored), timers.getCurrentWatermarkInMs()
        if closes_at is not None:
            return self._window.advance(state, None) if now >= closes_at else (state, [])
        return self._window.advance(state, now * 1_000)

    def _remember(self, state: Open) -> None:
        if self._window.is_empty(state):
            self._state.clear()
            return
        due = self._window.due(state)
        closes_at = self._ends if due is None else -(-due // 1_000)
        assert closes_at is not None
        self._state.update((to_bytes(state), None if due is not None else closes_at))
        self._handle.registerTimer(closes_at)

    def _given(self, windows: Sequence[Closed]) -> Iterator[Row]:
        for closed in windows:
            for values in rows_of_window(closed):
                yield self._row(*values)
