"""What a function that remembers rows is: the base of all of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

from narrows.schema import DataType
from narrows.stateful.arguments import Declared
from narrows.stateful.values import Value

State = Any
"""What a function remembers of a partition: plain data, for it goes into a checkpoint
(`stored.py`)."""

Args = Sequence[Value]
"""The arguments that each row gives; constants are fields of the function."""


class Answer(NamedTuple):
    state: State
    value: Value


class RowFunction(Declared, ABC):
    """`start` is what it remembers before the first row, and `step` takes what it remembers and the
    arguments of one row to what it remembers afterwards and its value on that row.

    A row that FILTER excludes is not remembered (`excluded`): on it a function answers from what it
    remembers of the rows before.
    """

    @classmethod
    @abstractmethod
    def result(cls, types: Sequence[DataType]) -> DataType:
        """The type of its values, by the types of the arguments that each row gives."""

    @abstractmethod
    def start(self) -> State: ...

    @abstractmethod
    def step(self, state: State, args: Args) -> Answer:
        """A row that counts."""

    @abstractmethod
    def excluded(self, state: State, args: Args) -> Value:
        """The value on a row that FILTER excludes."""
