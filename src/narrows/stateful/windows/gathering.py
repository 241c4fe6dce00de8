"""Windows that gather rows until one of them closes it: `countwindow`, `statewindow`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from narrows.stateful.folds.fold import Folding, Groups
from narrows.stateful.rows import WindowRow, folded_row
from narrows.stateful.windows.window import Closed, Cutter, Open, RowWindow


class GatheringWindow(RowWindow):
    """One window is open at a time, and rows alone open and close it. At the end of the input it
    closes with the rows that it has."""

    goes_by_time = False
    folds_to = "aggregates"

    @abstractmethod
    def takes_row(self, count: int, row: WindowRow) -> bool:
        """Does the row belong to the window? `count` is how many it has so far."""

    @abstractmethod
    def is_full(self, count: int, row: WindowRow) -> bool:
        """Does the window close with this row, the last of `count`?"""

    def folding(self, folding: Folding) -> Cutter:
        return _FoldedGathering(self, folding)

    def start(self) -> Open:
        return (0, [])

    def step(self, state: Open, rows: Sequence[WindowRow]) -> tuple[Open, list[Closed]]:
        number, waiting = state
        waiting = list(waiting)
        closed = []
        for row in rows:
            if not self.takes_row(len(waiting), row):
                continue
            waiting.append(row)
            if self.is_full(len(waiting), row):
                closed.append(gathered(number, waiting))
                number, waiting = number + 1, []
        return (number, waiting), closed

    def advance(self, state: Open, until: int | None) -> tuple[Open, list[Closed]]:
        number, waiting = state
        if until is not None or not waiting:
            return state, []
        return (number + 1, []), [gathered(number, waiting)]

    def due(self, state: Open) -> int | None:
        return None

    def is_empty(self, state: Open) -> bool:
        return not state[1]


def gathered(number: int, rows: Sequence[WindowRow]) -> Closed:
    """A window from the earliest to the latest time in it."""
    times = [row.time for row in rows]
    return Closed(number, min(times), max(times), rows)


@dataclass(frozen=True)
class _FoldedGathering(Cutter):
    """Such a window that keeps, of its rows, how many they are, their earliest and latest time, and
    for each group what the folds hold."""

    window: GatheringWindow
    what: Folding

    def start(self) -> Open:
        return (0, 0, 0, 0, [])

    def step(self, state: Open, rows: Sequence[WindowRow]) -> tuple[Open, list[Closed]]:
        number, count, start, end, stored = state
        groups = self.what.loaded(stored)
        closed = []
        for row in rows:
            if not self.window.takes_row(count, row):
                continue
            start = min(start, row.time) if count else row.time
            end = max(end, row.time) if count else row.time
            count += 1
            self.what.add(groups, row)
            if self.window.is_full(count, row):
                closed.append(Closed(number, start, end, self._rows(groups)))
                number, count, groups = number + 1, 0, {}
        return (number, count, start, end, self.what.stored(groups)), closed

    def advance(self, state: Open, until: int | None) -> tuple[Open, list[Closed]]:
        number, count, start, end, stored = state
        if until is not None or not count:
            return state, []
        closed = Closed(number, start, end, self._rows(self.what.loaded(stored)))
        return (number + 1, 0, 0, 0, []), [closed]

    def due(self, state: Open) -> int | None:
        return None

    def is_empty(self, state: Open) -> bool:
        return not state[1]

    def _rows(self, groups: Groups) -> list[WindowRow]:
        return [folded_row(values) for values in self.what.results(groups)]
