"""`sessionwindow('mi', 5)`: rows that are at most five minutes apart."""

from __future__ import annotations

from dataclasses import dataclass

from narrows.projection.window_cut import Sessions
from narrows.stateful.arguments import LENGTH, UNIT
from narrows.stateful.windows.window import SparkWindow


@dataclass(frozen=True)
class SessionWindow(SparkWindow):
    name = "sessionwindow"
    arguments = (UNIT, LENGTH)
    needs_key = True

    gap: int

    @property
    def period(self) -> int:
        return max(self.gap, 100)

    def closing_time(self, newest: int) -> int:
        return newest + self.gap + 1

    @property
    def cut(self) -> Sessions:
        return Sessions(self.gap * 1_000)

    def spark_call(self, time: str) -> str:
        return f"session_window({time}, '{self.gap} milliseconds')"
