"""What has changed since the row before: `changed_col`, `had_changed`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from narrows.schema import BOOLEAN, DataType
from narrows.stateful.arguments import FLAG, VALUE, repeated
from narrows.stateful.functions.function import Answer, Args, RowFunction, State
from narrows.stateful.values import Value, same


@dataclass(frozen=True)
class ChangedCol(RowFunction):
    """The value where it is another than in the row before, else NULL. The first one is new."""

    name = "changed_col"
    arguments = (FLAG, VALUE)

    ignore_null: bool

    @classmethod
    def result(cls, types: Sequence[DataType]) -> DataType:
        return types[0]

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
class HadChanged(RowFunction):
    """Has any of the values changed since the row before? The first row changes all of them."""

    name = "had_changed"
    arguments = (FLAG, repeated(VALUE))

    ignore_null: bool

    @classmethod
    def result(cls, types: Sequence[DataType]) -> DataType:
        return BOOLEAN

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
