"""What a reader computes of a row, beside decoding it: plain data.

    SELECT a % 10 AS digit, coalesce(b->c, 'none') FROM s WHERE length(name) > 3

Only what Arrow computes exactly as Spark does exists here; tests are values, too (`predicate.py`).
The planner makes these (`physical/in_reader/worker_values.py`), with types that fit, and the reader
evaluates them (`worker/evaluate.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal as DecimalValue

from narrows.schema import DataType


class Value:
    """Base of what a reader computes."""


@dataclass(frozen=True)
class ColumnValue(Value):
    """A decoded column, by its place."""

    place: int


@dataclass(frozen=True)
class ConstantValue(Value):
    value: int | float | str | bool | DecimalValue | None
    dtype: DataType


@dataclass(frozen=True)
class CastValue(Value):
    """A number as one of a wider type; what has no place there is rounded, as Java does it."""

    value: Value
    to: DataType


@dataclass(frozen=True)
class Arithmetic(Value):
    """`left op right` of two numbers of one type, where op is one of + - * / %.

    Whole numbers that overflow begin again at the other end. `/` cuts off what is behind the point
    of whole numbers, and their `%` has the sign of what is divided; the divisor is a constant that
    is neither 0 nor -1.
    """

    operator: str
    left: Value
    right: Value


@dataclass(frozen=True)
class WideProduct(Value):
    """`left * right` of two DECIMALs that may have more digits than there are: then it is NULL."""

    left: Value
    right: Value
    dtype: DataType


@dataclass(frozen=True)
class Root(Value):
    """`sqrt(value)` of a DOUBLE; NaN of what is below zero."""

    value: Value


@dataclass(frozen=True)
class Choice(Value):
    """`CASE WHEN test THEN value ELSE other END`, where both values are of one type."""

    test: Value
    value: Value
    other: Value


@dataclass(frozen=True)
class FirstValid(Value):
    """`coalesce(...)` of values of one type."""

    values: tuple[Value, ...]


@dataclass(frozen=True)
class TextLength(Value):
    """`length(text)`: how many characters it has."""

    text: Value


@dataclass(frozen=True)
class TextPart(Value):
    """`substring(text, start + 1, length)`: so many characters of it, behind so many others."""

    text: Value
    start: int
    length: int


@dataclass(frozen=True)
class JoinedTexts(Value):
    """`concat(...)` of texts: NULL where one of them is."""

    texts: tuple[Value, ...]
