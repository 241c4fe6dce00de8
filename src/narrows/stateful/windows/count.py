"""`countwindow(100)`: a hundred rows each, one window after the other."""

from __future__ import annotations

from dataclasses import dataclass

from narrows.stateful.arguments import COUNT
from narrows.stateful.rows import WindowRow
from narrows.stateful.windows.gathering import GatheringWindow


@dataclass(frozen=True)
class CountWindow(GatheringWindow):
    name = "countwindow"
    arguments = (COUNT,)

    takes_every_row = True

    size: int

    def takes_row(self, count: int, row: WindowRow) -> bool:
        return True

    def is_full(self, count: int, row: WindowRow) -> bool:
        return count >= self.size
