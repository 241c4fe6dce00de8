"""`slidingwindow('ss', 10, 2)`: one window for each row, of the rows around it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from narrows.stateful.arguments import LENGTH, UNIT, optional
from narrows.stateful.folds.fold import Folding, Span
from narrows.stateful.rows import WindowRow, folded_row
from narrows.stateful.windows.window import Closed, Cutter, Open, RowWindow


@dataclass(frozen=True)
class SlidingWindow(RowWindow):
    """One window for each row: the rows from `lookback` before it to `lookahead` after it.

    The window of a row closes when time has passed the row's by `lookahead`. Its rows stand in the
    order of their times; the order of the source decides between equal ones.
    """

    name = "slidingwindow"
    arguments = (UNIT, LENGTH, optional(LENGTH))
    goes_by_time = True
    takes_every_row = True
    folds_to = "arguments"

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
        _, _, kept = state
        state, due = self.cut(state, until)
        return state, [
            Closed(number, low, high, kept[first:last]) for number, low, high, (first, last) in due
        ]

    def cut(self, state: Open, until: int | None) -> tuple[Open, list[_Due]]:
        """What is open afterwards, and the windows that are due."""
        number, emitted, kept = state
        due: list[_Due] = []
        for row in kept[emitted:]:
            if until is not None and row.time + self._after > until:
                break
            low, high = row.time - self._before, row.time + self._after
            span = bisect_left(kept, low, key=_time), bisect_right(kept, high, key=_time)
            due.append(_Due(number, low, high, span))
            number, emitted = number + 1, emitted + 1
        if until is None:
            return (number, 0, []), due
        oldest = min([until, *(row.time for row in kept[emitted:])]) - self._before
        gone = sum(1 for row in kept[:emitted] if row.time < oldest)
        return (number, emitted - gone, kept[gone:]), due

    def folding(self, folding: Folding) -> Cutter:
        return _FoldedSliding(self, folding)

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


class _Due(NamedTuple):
    """A window that closes: its number, its bounds, and which of the kept rows are in it."""

    number: int
    start: int
    end: int
    span: Span


@dataclass(frozen=True)
class _FoldedSliding(Cutter):
    """Such a window whose rows hold what the folds take, and nothing else: a row that leaves the
    window must be known, so that it can be taken out of sums again. All rows are of one group."""

    window: SlidingWindow
    what: Folding

    def start(self) -> Open:
        return self.window.start()

    def step(self, state: Open, rows: Sequence[WindowRow]) -> tuple[Open, list[Closed]]:
        return self.window.step(state, rows)

    def advance(self, state: Open, until: int | None) -> tuple[Open, list[Closed]]:
        _, _, kept = state
        state, due = self.window.cut(state, until)
        folded = self.what.over(kept, [span for *_, span in due]) if due else []
        return state, [
            Closed(number, low, high, [folded_row(values)])
            for (number, low, high, _), values in zip(due, folded, strict=True)
        ]

    def due(self, state: Open) -> int | None:
        return self.window.due(state)

    def is_empty(self, state: Open) -> bool:
        return self.window.is_empty(state)


def _time(row: WindowRow) -> int:
    return row.time


def _by_time(row: WindowRow) -> tuple[Any, ...]:
    return (row.time, row.place)
