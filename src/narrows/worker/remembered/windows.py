"""Windows that rows cut, and that fold them, over the rows of a task: those that close."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from narrows.arrow.types import arrow_type
from narrows.schema import BIGINT, DataType
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
class FoldedWindows:
    window: Cutter
    shape: RowShape
    made: tuple[tuple[str, DataType], ...]
    """What it gives of its groups."""

    @property
    def order(self) -> str:
        return self.shape.order

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

    def close(self, kept: Sequence[Any]) -> tuple[pa.Table, list[Any]]:
        closed: list[Closed] = []
        left: list[Any] = []
        for state in kept:
            opened, over = self.window.advance(state, None)
            closed += over
            left.append(self._kept(opened))
        return self._table(closed), left

    def _kept(self, opened: Open) -> Any:
        return None if self.window.is_empty(opened) else opened

    def _table(self, closed: Sequence[Closed]) -> pa.Table:
        rows = [values for each in closed for values in rows_of_window(each)]
        types = [*self.made, *((bound, BIGINT) for bound in BOUNDS)]
        columns = zip(*rows, strict=True) if rows else [()] * len(types)
        arrays = [
            pa.array(column, arrow_type(dtype))
            for column, (_, dtype) in zip(columns, types, strict=True)
        ]
        return pa.table(arrays, [name for name, _ in types])
