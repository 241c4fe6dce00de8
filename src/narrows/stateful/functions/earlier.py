"""Values of earlier rows: `lag`, `latest`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from narrows.schema import DataType
from narrows.stateful.arguments import FLAG, HANDED_ON, ROWS, optional
from narrows.stateful.functions.function import Answer, Args, RowFunction, State
from narrows.stateful.values import Value


@dataclass(frozen=True)
class Lag(RowFunction):
    """The value `rows` rows before; with `ignore_null` only rows with a value are remembered."""

    name = "lag"
    arguments = (HANDED_ON, optional(ROWS), optional(FLAG))

    rows: int = 1
    ignore_null: bool = False

    @classmethod
    def result(cls, types: Sequence[DataType]) -> DataType:
        return types[0]

    def start(self) -> State:
        return ()

    def step(self, state: State, args: Args) -> Answer:
        value = self.excluded(state, args)
        if self.ignore_null and args[0] is None:
            return Answer(state, value)
        return Answer((*state, args[0])[-self.rows :], value)

    def excluded(self, state: State, args: Args) -> Value:
        return state[0] if len(state) == self.rows else None


@dataclass(frozen=True)
class Latest(RowFunction):
    """The latest value that is not NULL, this row's included."""

    name = "latest"
    arguments = (HANDED_ON,)

    @classmethod
    def result(cls, types: Sequence[DataType]) -> DataType:
        return types[0]

    def start(self) -> State:
        return None

    def step(self, state: State, args: Args) -> Answer:
        latest = state if args[0] is None else args[0]
        return Answer(latest, latest)

    def excluded(self, state: State, args: Args) -> Value:
        return state
