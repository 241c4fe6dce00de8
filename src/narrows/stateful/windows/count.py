"""`countwindow(100)`: a hundred rows each, one window after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from narrows.stateful.arguments import COUNT
from narrows.stateful.rows import WindowRow
from narrows.stateful.windows.gathering import GatheringWindow


@dataclass(frozen=True)
class CountWindow(GatheringWindow):
    name = "countwindow"
    arguments = (COUNT,)

    size: int

    def takes_row(self, waiting: Sequence[WindowRow], row: WindowRow) -> bool:
        return True

    def is_full(self, waiting: Sequence[WindowRow]) -> bool:
        return len(waiting) >= self.size
