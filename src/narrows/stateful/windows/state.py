"""`statewindow(open, emit)`: from a row where the one is true to the next where the other is."""

from __future__ import annotations

from dataclasses import dataclass

from narrows.stateful.arguments import CONDITION
from narrows.stateful.rows import WindowRow
from narrows.stateful.windows.gathering import GatheringWindow


@dataclass(frozen=True)
class StateWindow(GatheringWindow):
    """Opens with a row where the first condition is true, closes with one where the second is.

    Both rows belong to it, and may be the same. Rows outside of windows belong to none; while a
    window is open, the first condition is not looked at.
    """

    name = "statewindow"
    arguments = (CONDITION, CONDITION)
    keys_cut = False

    def takes_row(self, count: int, row: WindowRow) -> bool:
        return count > 0 or row.args[0] is True

    def is_full(self, count: int, row: WindowRow) -> bool:
        return row.args[1] is True
