"""`hoppingwindow('ss', 10, 5)`: ten seconds each, a new one every five."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from narrows.projection.window_cut import FixedWindows
from narrows.stateful.arguments import LENGTH, UNIT, Refusal
from narrows.stateful.windows.window import SparkWindow


@dataclass(frozen=True)
class HoppingWindow(SparkWindow):
    name = "hoppingwindow"
    arguments = (UNIT, LENGTH, LENGTH)
    row_time_decides = True

    size: int
    hop: int

    @classmethod
    def refuses(cls, constants: Sequence[Any]) -> Refusal | None:
        _, size, hop = constants
        if hop <= size:
            return None
        return Refusal(
            f"hops {hop}, further than its size of {size}: rows in between would be in no window",
            argument=2,
            hint="the hop is at most the size",
        )

    @property
    def period(self) -> int:
        return self.hop

    def closing_time(self, newest: int) -> int:
        return newest // self.hop * self.hop + self.size

    @property
    def cut(self) -> FixedWindows:
        return FixedWindows(self.size * 1_000, self.hop * 1_000)

    def spark_call(self, time: str) -> str:
        return f"window({time}, '{self.size} milliseconds', '{self.hop} milliseconds')"
