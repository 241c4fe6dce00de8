"""`tumblingwindow('ss', 10)`: ten seconds each, one after the other."""

from __future__ import annotations

from dataclasses import dataclass

from narrows.projection.window_cut import FixedWindows
from narrows.stateful.arguments import LENGTH, UNIT
from narrows.stateful.windows.window import SparkWindow


@dataclass(frozen=True)
class TumblingWindow(SparkWindow):
    name = "tumblingwindow"
    arguments = (UNIT, LENGTH)
    row_time_decides = True

    size: int

    @property
    def period(self) -> int:
        return max(self.size, 100)

    def closing_time(self, newest: int) -> int:
        return newest // self.size * self.size + self.size

    @property
    def cut(self) -> FixedWindows:
        return FixedWindows(self.size * 1_000, self.size * 1_000)

    def spark_call(self, time: str) -> str:
        return f"window({time}, '{self.size} milliseconds')"
