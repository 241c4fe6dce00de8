"""Functions that remember rows, batch by batch: what `transformWithState` calls for each key.

It stands alone for the same reason as `window_processor`: Spark loads it into a process of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import (
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

from narrows.stateful.functions.evaluate import RowCalls, evaluate
from narrows.stateful.stored import from_bytes, to_bytes
from narrows.stateful.values import order_key


class FunctionProcessor(StatefulProcessor):
    """Keeps what the functions remember of each key."""

    def __init__(self, shape: RowCalls) -> None:
        self._shape = shape
        self._row = Row(*shape.kept, *shape.results)

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._state = handle.getValueState("functions", "remembered BINARY")

    def handleInputRows(  # noqa: N802
        self,
        key: Any,
        rows: Iterator[Row],
        timerValues: TimerValues,  # noqa: N803
    ) -> Iterator[Row]:
        shape = self._shape
        ordered = sorted(rows, key=lambda row: order_key(row[shape.order]))
        columns = [[row[name] for row in ordered] for name in shape.args]
        stored = self._state.get() if self._state.exists() else None
        states = None if stored is None else from_bytes(stored[0])
        states, values = evaluate(shape.functions, states, columns, len(ordered))
        self._state.update((to_bytes(states),))
        for row, *made in zip(ordered, *values, strict=True):
            yield self._row(*(row[name] for name in shape.kept), *made)

    def close(self) -> None:
        pass
