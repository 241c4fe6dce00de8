"""Tests on decoded columns, run by the reader before a row is shipped to Spark: plain data.

Only tests that mean in Arrow exactly what they mean in Spark exist here: comparisons of what a
reader computes (`values.py`) with a constant or with each other, IN, LIKE, IS NULL, and their
combinations with SQL's three truth values. Everything else stays a filter in Spark.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from narrows.projection.values import Value

Constant = bool | int | float | str | date | Decimal


class Predicate(Value):
    """Base of the tests: a boolean for each row; NULL where SQL says unknown."""


@dataclass(frozen=True)
class Compare(Predicate):
    """`value op constant`, where op is one of = <> < <= > >=."""

    value: Value
    operator: str
    constant: Constant


@dataclass(frozen=True)
class CompareValues(Predicate):
    """`value op value`, both of one type, which is not a floating one."""

    left: Value
    operator: str
    right: Value


@dataclass(frozen=True)
class Like(Predicate):
    """`value LIKE pattern`; the pattern's only special character is `%`."""

    value: Value
    pattern: str


@dataclass(frozen=True)
class IsIn(Predicate):
    """`value IN (constants)`; the constants are not NULL."""

    value: Value
    constants: tuple[Constant, ...]


@dataclass(frozen=True)
class IsNull(Predicate):
    value: Value


@dataclass(frozen=True)
class IsTrue(Predicate):
    """A boolean value as a test of its own."""

    value: Value


@dataclass(frozen=True)
class Not(Predicate):
    inner: Predicate


@dataclass(frozen=True)
class And(Predicate):
    parts: tuple[Predicate, ...]


@dataclass(frozen=True)
class Or(Predicate):
    parts: tuple[Predicate, ...]
