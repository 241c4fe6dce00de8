"""Running folds of the values so far: `acc_sum` and its family."""

from __future__ import annotations

import decimal
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from narrows.schema import BIGINT, DOUBLE, INTEGRAL, UNKNOWN, DataType, Decimal
from narrows.stateful.arguments import CONDITION, COUNTED, NUMBER, VALUE, optional
from narrows.stateful.functions.function import Answer, Args, RowFunction, State
from narrows.stateful.values import Value, less

_BEGIN_AND_RESET = (optional(CONDITION), optional(CONDITION))


@dataclass(frozen=True)
class Accumulation(RowFunction):
    """A running fold of the values that are not NULL.

    Arguments: the value, then - where the call has them - `begin` and `reset`. With `begin`,
    nothing is accumulated until a row where it is true, that row included. On a row where `reset`
    is true everything is forgotten before the row is looked at; with `begin`, it waits for `begin`
    again.
    """

    arguments = (VALUE, *_BEGIN_AND_RESET)
    empty: ClassVar[State] = None

    has_begin: bool = False
    has_reset: bool = False

    @classmethod
    def made(cls, constants: Sequence[Any], by_row: int) -> Self:
        return cls(has_begin=by_row > 1, has_reset=by_row > 2)

    @abstractmethod
    def add(self, total: State, value: Value) -> State:
        """One value more."""

    def value(self, total: State) -> Value:
        """What the total means."""
        return total

    def start(self) -> State:
        return (not self.has_begin, self.empty)

    def step(self, state: State, args: Args) -> Answer:
        if self.has_reset and args[2] is True:
            state = self.start()
        running, total = state
        if not running and args[1] is True:
            running = True
        if running and args[0] is not None:
            total = self.add(total, args[0])
        return Answer((running, total), self.value(total))

    def excluded(self, state: State, args: Args) -> Value:
        return self.value(state[1])


class AccSum(Accumulation):
    """NULL when there was no value. Whole numbers wrap around at 64 bits, as in Spark."""

    name = "acc_sum"
    arguments = (NUMBER, *_BEGIN_AND_RESET)

    @classmethod
    def result(cls, types: Sequence[DataType]) -> DataType:
        match types[0]:
            case Decimal(precision, scale):
                return Decimal(min(38, precision + 10), scale)
            case dtype if dtype in INTEGRAL:
                return BIGINT
            case dtype:
                return UNKNOWN if dtype == UNKNOWN else DOUBLE

    def add(self, total: State, value: Value) -> State:
        if total is None:
            return value
        added = _sum(total, value)
        return (added + 2**63) % 2**64 - 2**63 if isinstance(added, int) else added


class AccMin(Accumulation):
    name = "acc_min"

    @classmethod
    def result(cls, types: Sequence[DataType]) -> DataType:
        return types[0]

    def add(self, total: State, value: Value) -> State:
        return value if total is None or less(value, total) else total


class AccMax(Accumulation):
    name = "acc_max"

    @classmethod
    def result(cls, types: Sequence[DataType]) -> DataType:
        return types[0]

    def add(self, total: State, value: Value) -> State:
        return value if total is None or less(total, value) else total


class AccCount(Accumulation):
    name = "acc_count"
    arguments = (COUNTED, *_BEGIN_AND_RESET)
    empty = 0

    @classmethod
    def result(cls, types: Sequence[DataType]) -> DataType:
        return BIGINT

    def add(self, total: State, value: Value) -> State:
        return total + 1


class AccAvg(Accumulation):
    name = "acc_avg"
    arguments = (NUMBER, *_BEGIN_AND_RESET)
    empty = (0, 0)

    @classmethod
    def result(cls, types: Sequence[DataType]) -> DataType:
        return DOUBLE

    def add(self, total: State, value: Value) -> State:
        return (_sum(total[0], value), total[1] + 1)

    def value(self, total: State) -> Value:
        return float(total[0]) / total[1] if total[1] else None


_EXACT = decimal.Context(prec=80)
"""Wide enough for any sum of Spark's decimals."""


def _sum(total: Value, value: Value) -> Value:
    return _EXACT.add(total, value) if isinstance(value, decimal.Decimal) else total + value
