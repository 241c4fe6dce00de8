"""A window and a function that Narrows does not have, written as CONTRIBUTING.md says.

All there is to say of each stands in its class; nothing in `src` knows of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from narrows.schema import BIGINT, DataType
from narrows.stateful.arguments import CONDITION, COUNT, LENGTH, UNIT, Refusal, optional
from narrows.stateful.functions.function import Answer, Args, RowFunction, State
from narrows.stateful.rows import WindowRow
from narrows.stateful.values import Value
from narrows.stateful.windows.gathering import GatheringWindow
from narrows.stateful.windows.window import SparkWindow


@dataclass(frozen=True)
class UntilWindow(GatheringWindow):
    """`untilwindow(done [, most])`: up to a row where `done` is true, or `most` rows."""

    name = "untilwindow"
    arguments = (CONDITION, optional(COUNT))

    most: int | None = None

    @classmethod
    def refuses(cls, constants: Sequence[Any]) -> Refusal | None:
        if constants != [1]:
            return None
        return Refusal("of one row at most is every row by itself", 1, "ask for 2 or more")

    def takes_row(self, count: int, row: WindowRow) -> bool:
        return True

    def is_full(self, count: int, row: WindowRow) -> bool:
        return row.args[0] is True or count == self.most


@dataclass(frozen=True)
class ShiftedWindow(SparkWindow):
    """`shiftedwindow('hh', 24, 6)`: a day that begins at six."""

    name = "shiftedwindow"
    arguments = (UNIT, LENGTH, LENGTH)
    row_time_decides = True

    size: int
    start: int

    def closing_time(self, newest: int) -> int:
        return (newest - self.start) // self.size * self.size + self.start + self.size

    def spark_call(self, time: str) -> str:
        size, start = f"{self.size} milliseconds", f"{self.start} milliseconds"
        return f"window({time}, '{size}', '{size}', '{start}')"


@dataclass(frozen=True)
class Streak(RowFunction):
    """`streak(c)`: for how many rows, this one included, `c` has been true without a break."""

    name = "streak"
    arguments = (CONDITION,)

    @classmethod
    def result(cls, types: Sequence[DataType]) -> DataType:
        return BIGINT

    def start(self) -> State:
        return 0

    def step(self, state: State, args: Args) -> Answer:
        length = state + 1 if args[0] is True else 0
        return Answer(length, length)

    def excluded(self, state: State, args: Args) -> Value:
        return state
