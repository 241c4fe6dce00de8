"""Functions that remember earlier rows.

Each is a small class: its fields are the constants of the call, `start` is what it remembers before
the first row, and `step` takes what it remembers and the arguments of one row to what it remembers
afterwards and its value on that row. State is plain data, for it goes into a checkpoint.

A row that FILTER excludes is not remembered (`excluded`): on it a function answers from what it
remembers of the rows before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any, NamedTuple, Protocol

from narrows.stateful.values import Value, less, same

State = Any
"""What a function remembers of a partition: plain data."""

Args = Sequence[Value]
"""The arguments that are evaluated row by row; constants are fields of the function."""


class Answer(NamedTuple):
    state: State
    value: Value


class RowFunction(Protocol):
    def start(self) -> State: ...

    def step(self, state: State, args: Args) -> Answer:
        """A row that counts."""

    def excluded(self, state: State, args: Args) -> Value:
        """The value on a row that FILTER excludes."""


@dataclass(frozen=True)
class Lag:
    """The value `rows` rows before; with `ignore_null` only rows with a value are remembered."""

    rows: int = 1
    ignore_null: bool = False

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
class Latest:
    """The latest value that is not NULL, this row's included."""

    def start(self) -> State:
        return None

    def step(self, state: State, args: Args) -> Answer:
        latest = state if args[0] is None else args[0]
        return Answer(latest, latest)

    def excluded(self, state: State, args: Args) -> Value:
        return state


@dataclass(frozen=True)
class ChangedCol:
    """The value where it is another than in the row before, else NULL. The first one is new."""

    ignore_null: bool

    def start(self) -> State:
        return ()

    def step(self, state: State, args: Args) -> Answer:
        (value,) = args
        if self.ignore_null and value is None:
            return Answer(state, None)
        changed = not state or not same(state[0], value)
        return Answer((value,), value if changed else None)

    def excluded(self, state: State, args: Args) -> Value:
        return None


@dataclass(frozen=True)
class HadChanged:
    """Has any of the values changed since the row before? The first row changes all of them."""

    ignore_null: bool

    def start(self) -> State:
        return None

    def step(self, state: State, args: Args) -> Answer:
        before = [()] * len(args) if state is None else state
        changed = False
        after = []
        for known, value in zip(before, args, strict=True):
            if self.ignore_null and value is None:
                after.append(known)
                continue
            changed = changed or not known or not same(known[0], value)
            after.append((value,))
        return Answer(after, changed)

    def excluded(self, state: State, args: Args) -> Value:
        return False


@dataclass(frozen=True)
class Accumulate:
    """A running fold of the values that are not NULL.

    Arguments: the value, then - where the call has them - `begin` and `reset`. With `begin`,
    nothing is accumulated until a row where it is true, that row included. On a row where `reset`
    is true everything is forgotten before the row is looked at; with `begin`, it waits for `begin`
    again.
    """

    fold: Fold
    has_begin: bool = False
    has_reset: bool = False

    def start(self) -> State:
        return (not self.has_begin, self.fold.empty)

    def step(self, state: State, args: Args) -> Answer:
        if self.has_reset and args[2] is True:
            state = self.start()
        running, total = state
        if not running and args[1] is True:
            running = True
        if running and args[0] is not None:
            total = self.fold.add(total, args[0])
        return Answer((running, total), self.fold.value(total))

    def excluded(self, state: State, args: Args) -> Value:
        return self.fold.value(state[1])


class Fold(Protocol):
    @property
    def empty(self) -> State: ...

    def add(self, total: State, value: Value) -> State: ...

    def value(self, total: State) -> Value: ...


_EXACT = Context(prec=80)
"""Wide enough for any sum of Spark's decimals."""


def _add(total: Value, value: Value) -> Value:
    return _EXACT.add(total, value) if isinstance(value, Decimal) else total + value


@dataclass(frozen=True)
class Sum:
    """NULL when there was no value. Whole numbers wrap around at 64 bits, as in Spark."""

    @property
    def empty(self) -> State:
        return None

    def add(self, total: State, value: Value) -> State:
        if total is None:
            return value
        added = _add(total, value)
        return (added + 2**63) % 2**64 - 2**63 if isinstance(added, int) else added

    def value(self, total: State) -> Value:
        return total


@dataclass(frozen=True)
class Extreme:
    """The smallest or the largest value."""

    largest: bool

    @property
    def empty(self) -> State:
        return None

    def add(self, total: State, value: Value) -> State:
        if total is None:
            return value
        better = less(total, value) if self.largest else less(value, total)
        return value if better else total

    def value(self, total: State) -> Value:
        return total


@dataclass(frozen=True)
class Count:
    @property
    def empty(self) -> State:
        return 0

    def add(self, total: State, value: Value) -> State:
        return total + 1

    def value(self, total: State) -> Value:
        return total


@dataclass(frozen=True)
class Average:
    @property
    def empty(self) -> State:
        return (0, 0)

    def add(self, total: State, value: Value) -> State:
        return (_add(total[0], value), total[1] + 1)

    def value(self, total: State) -> Value:
        return float(total[0]) / total[1] if total[1] else None
