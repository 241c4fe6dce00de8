"""Windows that gather rows until one of them closes it: `countwindow`, `statewindow`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from narrows.stateful.rows import WindowRow
from narrows.stateful.windows.window import Closed, Open, RowWindow


class GatheringWindow(RowWindow):
    """One window is open at a time, and rows alone open and close it. At the end of the input it
    closes with the rows that it has."""

    goes_by_time = False

    @abstractmethod
    def takes_row(self, waiting: Sequence[WindowRow], row: WindowRow) -> bool:
        """Does the row belong to the window? `waiting` are its rows so far."""

    @abstractmethod
    def is_full(self, waiting: Sequence[WindowRow]) -> bool:
        """Does the window close with the last of its rows?"""

    def start(self) -> Open:
        return (0, [])

    def step(self, state: Open, rows: Sequence[WindowRow]) -> tuple[Open, list[Closed]]:
        number, waiting = state
        waiting = list(waiting)
        closed = []
        for row in rows:
            if not self.takes_row(waiting, row):
                continue
            waiting.append(row)
            if self.is_full(waiting):
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
