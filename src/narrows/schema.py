"""Data types and schemas.

A schema is a `Struct`: the columns of a row are its fields. So whatever works on a nested struct
(demand, pruning, rendering) works on a whole row too.

What does *not* belong here: how users write a type in SQL (`sql/parser/types.py` reads it), Arrow
and Spark types (the codecs and the Spark edge map them).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property


class DataType:
    """The type of a value. Closed set: Scalar, Decimal, Struct, Array, Map, Unknown."""

    def sql(self) -> str:
        """The type as DDL text."""
        raise NotImplementedError

    def __str__(self) -> str:
        return self.sql()


@dataclass(frozen=True)
class Scalar(DataType):
    """A type without parts, by its SQL name."""

    name: str

    def sql(self) -> str:
        return self.name


@dataclass(frozen=True)
class Decimal(DataType):
    precision: int = 10
    scale: int = 0

    def sql(self) -> str:
        return f"DECIMAL({self.precision},{self.scale})"


@dataclass(frozen=True)
class Field:
    """A named part of a struct; a column, when the struct is a row."""

    name: str
    type: DataType

    def sql(self) -> str:
        return f"{quoted(self.name)} {self.type.sql()}"


@dataclass(frozen=True)
class Struct(DataType):
    fields: tuple[Field, ...]

    def __iter__(self) -> Iterator[Field]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    @property
    def names(self) -> list[str]:
        return [field.name for field in self.fields]

    @cached_property
    def _ordinals(self) -> dict[str, int]:
        return {field.name: ordinal for ordinal, field in enumerate(self.fields)}

    @cached_property
    def _folded(self) -> dict[str, list[int]]:
        folded: dict[str, list[int]] = {}
        for ordinal, field in enumerate(self.fields):
            folded.setdefault(field.name.casefold(), []).append(ordinal)
        return folded

    @cached_property
    def leaves(self) -> int:
        """How many scalar values there are to decode: `count_leaves`."""
        return sum(count_leaves(field.type) for field in self.fields)

    @cached_property
    def has_decimals(self) -> bool:
        return any(has_decimals(field.type) for field in self.fields)

    def ordinal(self, name: str) -> int:
        """The place of a field by its exact name; KeyError if there is none."""
        return self._ordinals[name]

    def find(self, name: str) -> list[int]:
        """Places that a name in SQL may mean: those of exactly that name - a query may give two
        columns one name -, else all that differ only by case."""
        folded = self._folded.get(name.casefold(), [])
        if len(folded) < 2:
            return folded
        return [place for place in folded if self.fields[place].name == name] or folded

    def sql(self) -> str:
        inside = ", ".join(f"{quoted(f.name)}: {f.type.sql()}" for f in self.fields)
        return f"STRUCT<{inside}>"


@dataclass(frozen=True)
class Array(DataType):
    element: DataType

    def sql(self) -> str:
        return f"ARRAY<{self.element.sql()}>"


@dataclass(frozen=True)
class Map(DataType):
    key: DataType
    value: DataType

    def sql(self) -> str:
        return f"MAP<{self.key.sql()}, {self.value.sql()}>"


@dataclass(frozen=True)
class Unknown(DataType):
    """The type of an expression that the planner does not follow; only Spark will know."""

    def sql(self) -> str:
        return "UNKNOWN"


BOOLEAN = Scalar("BOOLEAN")
TINYINT = Scalar("TINYINT")
SMALLINT = Scalar("SMALLINT")
INT = Scalar("INT")
BIGINT = Scalar("BIGINT")
FLOAT = Scalar("FLOAT")
DOUBLE = Scalar("DOUBLE")
STRING = Scalar("STRING")
BINARY = Scalar("BINARY")
DATE = Scalar("DATE")
TIMESTAMP = Scalar("TIMESTAMP")
VOID = Scalar("VOID")
UNKNOWN = Unknown()

INTEGRAL: tuple[DataType, ...] = (TINYINT, SMALLINT, INT, BIGINT)
"""The integer types, narrow to wide."""

SCALARS: tuple[Scalar, ...] = (
    BOOLEAN,
    TINYINT,
    SMALLINT,
    INT,
    BIGINT,
    FLOAT,
    DOUBLE,
    STRING,
    BINARY,
    DATE,
    TIMESTAMP,
)
"""The scalar types a column may have, beside DECIMAL."""


NO_COLUMNS = Struct(())


def joined(left: Struct, right: Struct) -> Struct:
    """The columns of both, one after the other."""
    return Struct((*left.fields, *right.fields)) if right.fields else left


class Unaliased(str):
    """The name of a column that the user has not named: plans need not show it."""

    __slots__ = ()


def is_nested(dtype: DataType) -> bool:
    return isinstance(dtype, (Struct, Array, Map))


def is_scalar(dtype: DataType) -> bool:
    return isinstance(dtype, (Scalar, Decimal))


def count_leaves(dtype: DataType) -> int:
    """How many scalar values deep inside a type there are to decode: 4 for
    `STRUCT<a: INT, b: ARRAY<STRUCT<x: INT, y: INT>>, m: MAP<STRING, INT>>`.
    """
    match dtype:
        case Scalar():
            return 1
        case Struct():
            return dtype.leaves
        case Array(element):
            return count_leaves(element)
        case Map(_, value):
            return count_leaves(value)
        case _:
            return 1


def has_decimals(dtype: DataType) -> bool:
    """Is there a DECIMAL deep inside a type?"""
    match dtype:
        case Scalar():
            return False
        case Struct():
            return dtype.has_decimals
        case Array(element):
            return has_decimals(element)
        case Map(key, value):
            return has_decimals(key) or has_decimals(value)
        case _:
            return isinstance(dtype, Decimal)


def quoted(name: str) -> str:
    """A name as SQL reads it back: bare when it is a plain word, in backticks otherwise."""
    if name.isidentifier() and name.isascii():
        return name
    return f"`{name.replace('`', '``')}`"
