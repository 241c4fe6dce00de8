"""`slidingwindow('ss', 10, 2)`: one window for each row, of the rows around it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from narrows.stateful.arguments import LENGTH, UNIT, optional
from narrows.stateful.rows import WindowRow
from narrows.stateful.windows.window import Closed, Open, RowWindow


@dataclass(frozen=True)
class SlidingWindow(RowWindow):
    """One window for each row: the rows from `lookback` before it to `lookahead` after it.

    The window of a row closes when time has passed the row's by `lookahead`. Its rows stand in the
    order of their times; the order of the source decides between equal ones.
    """

    name = "slidingwindow"
    arguments = (UNIT, LENGTH, optional(LENGTH))
    goes_by_time = True

    lookback: int
    lookahead: int = 0

    @property
    def period(self) -> int:
        return max(self.lookahead or self.lookback, 100)

    def closing_time(self, newest: int) -> int:
        return newest + self.lookahead + 1

    def start(self) -> Open:
        return (0, 0, [])

    def step(self, state: Open, rows: Sequence[WindowRow]) -> tuple[Open, list[Closed]]:
        number, emitted, kept = state
        # Rows that may still come are later than those whose windows have closed, so the new ones
        # stand behind the first `emitted`.
        return (number, emitted, sorted([*kept, *rows], key=_by_time)), []

    def advance(self, state: Open, until: int | None) -> tuple[Open, list[Closed]]:
        number, emitted, kept = state
        closed = []
        for row in kept[emitted:]:
            if until is not None and row.time + self._after > until:
                break
            low, high = row.time - self._before, row.time + self._after
            first, last = bisect_left(kept, low, key=_time), bisect_right(kept, high, key=_time)
            closed.append(Closed(number, low, high, kept[first:last]))
            number, emitted = number + 1, emitted + 1
        if until is None:
            return (number, 0, []), closed
        oldest = min([until, *(row.time for row in kept[emitted:])]) - self._before
        gone = sum(1 for row in kept[:emitted] if row.time < oldest)
        return (number, emitted - gone, kept[gone:]), closed

    def due(self, state: Open) -> int | None:
        _, emitted, kept = state
        if emitted < len(kept):
            time: int = kept[emitted].time + self._after
            return time
        # Nothing closes then, but the rows that no window needs any more can go.
        return kept[-1].time + self._before + 1 if kept else None

    def is_empty(self, state: Open) -> bool:
        return not state[2]

    @property
    def _before(self) -> int:
        """In microseconds, as the times of rows are."""
        return self.lookback * 1_000

    @property
    def _after(self) -> int:
        return self.lookahead * 1_000


def _time(row: WindowRow) -> int:
    return row.time


def _by_time(row: WindowRow) -> tuple[Any, ...]:
    return (row.time, row.place)
