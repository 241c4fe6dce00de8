"""What stream windows and functions that remember rows take.

Arguments are declared as data, so that whoever meets "some window" or "some function" - the planner
that checks a call, the worker that evaluates it - needs to know no more of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Any, ClassVar, NamedTuple, Self

from narrows.schema import BOOLEAN, UNKNOWN, DataType

_MILLISECONDS = {"ms": 1, "ss": 1_000, "mi": 60_000, "hh": 3_600_000, "dd": 86_400_000}


class Sees(Enum):
    """How much of an argument's value makes a difference."""

    WHOLE = auto()
    WANTED = auto()
    """It is handed on as it is: only what somebody wants of the result."""
    PRESENCE = auto()
    """Only whether it is NULL."""


def _anything(dtype: DataType, value: object) -> bool:
    return True


def _is_condition(dtype: DataType, value: object) -> bool:
    return dtype in (BOOLEAN, UNKNOWN)


def _is_count(dtype: DataType, value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _is_flag(dtype: DataType, value: object) -> bool:
    return isinstance(value, bool)


def _is_unit(dtype: DataType, value: object) -> bool:
    return isinstance(value, str) and value in _MILLISECONDS


@dataclass(frozen=True)
class Argument:
    text: str
    """What it is, for people who gave something else."""
    fits: Callable[[DataType, object], bool] = _anything
    """Whether a type, and a value where it is constant, will do."""
    is_constant: bool = False
    """The same for all rows, so it must be known when the query is planned."""
    sees: Sees = Sees.WHOLE
    as_number: bool = False
    """What is no number becomes one first, as in Spark's own `sum`."""
    is_unit: bool = False
    """The unit of time of the lengths that follow."""
    is_length: bool = False
    is_optional: bool = False
    repeats: bool = False
    """Any number of such may follow."""


VALUE = Argument("a value")
HANDED_ON = Argument("a value", sees=Sees.WANTED)
COUNTED = Argument("a value", sees=Sees.PRESENCE)
NUMBER = Argument("a value", as_number=True)
CONDITION = Argument("a condition", _is_condition)
ROWS = Argument("a whole number above 0, the same for all rows", _is_count, is_constant=True)
FLAG = Argument("true or false, the same for all rows", _is_flag, is_constant=True)
COUNT = Argument("a whole number above 0", _is_count, is_constant=True)
LENGTH = replace(COUNT, is_length=True)
UNIT = Argument("a unit: 'ms', 'ss', 'mi', 'hh' or 'dd'", _is_unit, is_constant=True, is_unit=True)


def optional(argument: Argument) -> Argument:
    return replace(argument, is_optional=True)


def repeated(argument: Argument) -> Argument:
    return replace(argument, repeats=True)


class Refusal(NamedTuple):
    """Why constants that would do by themselves do not go together."""

    reason: str
    """What the call does, to follow its name: "hops 6, further than ..."."""
    argument: int
    """The place of the one that is to blame."""
    hint: str | None = None


class Declared:
    """Something that queries may call: its name and its arguments. An instance is one call of it,
    whose fields are the call's constants."""

    name: ClassVar[str]
    arguments: ClassVar[tuple[Argument, ...]]

    @classmethod
    def refuses(cls, constants: Sequence[Any]) -> Refusal | None:
        """Why there can be no such call; None if there can. Constants are as they were written."""
        return None

    @classmethod
    def made(cls, constants: Sequence[Any], by_row: int) -> Self:
        """The call with such constants, lengths in milliseconds; `by_row` is how many arguments
        each row gives it beside them."""
        make: Callable[..., Self] = cls
        return make(*constants)

    @classmethod
    def called_with(cls, given: Sequence[object]) -> Self:
        """The call with such arguments: constants, and something else for what rows give."""
        unit, by_row = 1, 0
        constants: list[object] = []
        for argument, value in zip(cls.takes(len(given)), given, strict=True):
            if argument.is_unit:
                unit = _MILLISECONDS[str(value)]
            elif argument.is_length:
                assert isinstance(value, int)
                constants.append(value * unit)
            elif argument.is_constant:
                constants.append(value)
            else:
                by_row += 1
        return cls.made(constants, by_row)

    @classmethod
    def takes(cls, count: int) -> tuple[Argument, ...]:
        """What each of so many arguments is."""
        declared = cls.arguments
        if not declared:
            return ()
        return (*declared, *[declared[-1]] * (count - len(declared)))[:count]

    @classmethod
    def least_arguments(cls) -> int:
        """How many arguments there have to be."""
        return sum(not argument.is_optional for argument in cls.arguments)

    @classmethod
    def most_arguments(cls) -> int | None:
        """How many arguments there may be; None for any number."""
        repeats = any(argument.repeats for argument in cls.arguments)
        return None if repeats else len(cls.arguments)
