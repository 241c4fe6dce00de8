"""Windows that rows cut, over the rows of a task: those that close."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from narrows.stateful.rows import WindowRow
from narrows.stateful.values import order_key
from narrows.stateful.windows.window import Closed, Cutter, Open
from narrows.worker.remembered.keys import KeyedRows

TIME = "row_time"
BOUNDS = ("start", "end", "number")


@dataclass(frozen=True)
class RowShape:
    """Where a row holds what: the columns it keeps, and those that the window looks at; and the
    columns that the window gives, beside its bounds."""

    kept: tuple[str, ...]
    order: str
    args: tuple[str, ...]
    given: tuple[str, ...]

    def window_row(self, row: Any) -> WindowRow:
        return WindowRow(
            row[TIME],
            order_key(row[self.order]),
            tuple(row[name] for name in self.args),
            tuple(row[name] for name in self.kept),
        )


def rows_of_window(closed: Closed) -> Iterator[tuple[Any, ...]]:
    for row in closed.rows:
        yield (*row.values, closed.start, closed.end, closed.number)


@dataclass(frozen=True)
class RowWindows:
    window: Cutter
    shape: RowShape
    types: tuple[pa.DataType, ...]
    """Of what it gives, beside its bounds."""
    goes_by_time: bool

    @property
    def order(self) -> str:
        return self.shape.order

    def needed(self, rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return rows

    def in_time(self, table: pa.Table, since: int) -> pa.Table:
        if not self.goes_by_time:
            return table
        return table.filter(pc.greater(table.column(TIME), since))

    def run(
        self, table: pa.Table, keyed: KeyedRows, kept: Sequence[Any]
    ) -> tuple[pa.Table, list[Any]]:
        ordered = table.take(pa.array(keyed.rows)).to_pylist()
        rows = [self.shape.window_row(row) for row in ordered]
        closed: list[Closed] = []
        left: list[Any] = []
        for (first, end), state in zip(keyed.ranges(), kept, strict=True):
            opened = self.window.start() if state is None else state
            opened, over = self.window.step(opened, rows[first:end])
            closed += over
            left.append(self._kept(opened))
        return self._table(closed), left

    def advance(self, kept: Sequence[Any], until: int | None) -> tuple[pa.Table, list[Any]]:
        closed: list[Closed] = []
        left: list[Any] = []
        for state in kept:
            opened, over = self.window.advance(state, until)
            closed += over
            left.append(self._kept(opened))
        return self._table(closed), left

    def due(self, kept: Any) -> int | None:
        return self.window.due(kept)

    def _kept(self, opened: Open) -> Any:
        return None if self.window.is_empty(opened) else opened

    def _table(self, closed: Sequence[Closed]) -> pa.Table:
        rows = [values for each in closed for values in rows_of_window(each)]
        names = [*self.shape.given, *BOUNDS]
        types = [*self.types, *(pa.int64() for _ in BOUNDS)]
        columns = zip(*rows, strict=True) if rows else [()] * len(types)
        arrays = [pa.array(column, kind) for column, kind in zip(columns, types, strict=True)]
        return pa.table(arrays, names)
