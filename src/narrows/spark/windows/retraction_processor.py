"""Groups that never end, batch by batch: what `transformWithState` calls for each of them.

It stands alone for the same reason as `window_processor`: Spark loads it into a process of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import (
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

from narrows.stateful.folds.changes import changed_group
from narrows.stateful.folds.fold import Folding
from narrows.stateful.rows import WindowRow
from narrows.stateful.stored import from_bytes, to_bytes
from narrows.stateful.values import order_key


@dataclass(frozen=True)
class GroupShape:
    """Where a row holds what is taken of it and its place, and what comes out."""

    taken: tuple[str, ...]
    order: str
    given: tuple[str, ...]

    def row(self, row: Any) -> WindowRow:
        place = order_key(row[self.order])
        return WindowRow(0, place, (), tuple(row[name] for name in self.taken))


class RetractionProcessor(StatefulProcessor):
    """Keeps what the folds hold of each group."""

    def __init__(self, folding: Folding, shape: GroupShape) -> None:
        self._folding = folding
        self._shape = shape
        self._row = Row(*shape.given)

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._state = handle.getValueState("group", "held BINARY")

    def handleInputRows(  # noqa: N802
        self,
        key: Any,
        rows: Iterator[Row],
        timerValues: TimerValues,  # noqa: N803
    ) -> Iterator[Row]:
        new = sorted(map(self._shape.row, rows), key=lambda row: row.place)
        stored = self._state.get() if self._state.exists() else None
        held = None if stored is None else from_bytes(stored[0])
        held, changes = changed_group(self._folding, held, new)
        self._state.update((to_bytes(held),))
        for values in changes:
            yield self._row(*values)

    def close(self) -> None:
        pass
