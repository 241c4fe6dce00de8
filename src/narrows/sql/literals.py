"""Constants: from the parser's literals to ours, and to the text that Spark reads back."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import date

from sqlglot import exp

from narrows.errors import InternalError
from narrows.expressions.nodes import Literal
from narrows.schema import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    SMALLINT,
    STRING,
    TINYINT,
    UNKNOWN,
    VOID,
    DataType,
    Decimal,
)

_MAX_DIGITS = 40
_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_INT_MAX = 2**31 - 1
_BIGINT_MAX = 2**63 - 1


def bind_literal(node: exp.Expr) -> Literal:
    match node:
        case exp.Null():
            return Literal(text="NULL", dtype=VOID)
        case exp.Boolean(this=truth):
            return literal(bool(truth))
        case exp.Literal(is_string=True) | exp.RawString():
            return literal(node.name)
        case exp.Literal():
            return _number(node.name)
        case exp.HexString():
            return Literal(text=f"X'{node.name}'", dtype=BINARY)
        case _:
            raise InternalError(f"not a literal: {node!r}")


def literal(value: str | int | bool) -> Literal:
    """A constant that the planner knows the value of."""
    match value:
        case bool():
            return Literal(text="true" if value else "false", value=value, dtype=BOOLEAN)
        case int():
            return Literal(text=str(value), value=value, dtype=_integer_type(value))
        case str():
            return Literal(text=_quote(value), value=value, dtype=STRING)


_SUFFIXES: dict[DataType, tuple[str, int]] = {
    TINYINT: ("Y", 2**7),
    SMALLINT: ("S", 2**15),
    INT: ("", 2**31),
    BIGINT: ("L", 2**63),
}


def typed_literal(operand: object, dtype: DataType) -> Literal | None:
    """`1L`, or `CAST(1 AS BIGINT)`: an integer constant of that type, if it fits; `DATE '...'`."""
    if isinstance(operand, Literal) and dtype == DATE:
        return _date(operand.value)
    if not isinstance(operand, Literal) or dtype not in _SUFFIXES:
        return None
    value = operand.value
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    suffix, limit = _SUFFIXES[dtype]
    if not -limit <= value < limit:
        return None
    return Literal(text=f"{value}{suffix}", value=value, dtype=dtype)


def _date(value: object) -> Literal | None:
    if not (isinstance(value, str) and _ISO_DATE.fullmatch(value)):
        return None  # Spark reads other spellings, too, and says what it cannot read
    try:
        return date_literal(date.fromisoformat(value))
    except ValueError:
        return None


def date_literal(value: date) -> Literal:
    return Literal(text=f"DATE '{value.isoformat()}'", value=value, dtype=DATE)


@dataclass(frozen=True)
class Interval:
    """A span of time in whole months and days, as far as a date can be moved by it."""

    months: int = 0
    days: int = 0


def interval_literal(node: exp.Interval) -> Literal | None:
    """`INTERVAL '3' MONTH`: a constant whose type only Spark knows; None for other shapes."""
    count, unit = node.this, node.args.get("unit")
    if not (isinstance(count, exp.Literal) and isinstance(unit, exp.Var)):
        return None
    word = unit.name.upper().removesuffix("S")
    value = None
    if re.fullmatch(r"-?\d{1,5}", count.name):
        number = int(count.name)
        value = {
            "YEAR": Interval(months=12 * number),
            "MONTH": Interval(months=number),
            "DAY": Interval(days=number),
        }.get(word)
    return Literal(text=f"INTERVAL {_quote(count.name)} {unit.name}", value=value, dtype=UNKNOWN)


def negated(number: Literal) -> Literal:
    value = -number.value if isinstance(number.value, int) else None
    return replace(number, text=f"-{number.text}", value=value)


def _number(text: str) -> Literal:
    if text.isdecimal() and len(text) > _MAX_DIGITS:
        return Literal(text=text, dtype=Decimal(38, 0))  # no type holds it; Spark will say so
    if text.isdecimal():
        value = int(text)
        return Literal(text=text, value=value, dtype=_integer_type(value))
    if "e" in text.lower():
        return Literal(text=text, dtype=DOUBLE)
    whole, _, fraction = text.partition(".")
    digits = len(whole.lstrip("0")) + len(fraction)
    return Literal(text=text, dtype=Decimal(max(digits, 1), len(fraction)))


def _integer_type(value: int) -> DataType:
    """As Spark reads an integer: the narrowest of INT, BIGINT, DECIMAL."""
    if abs(value) <= _INT_MAX:
        return INT
    return BIGINT if abs(value) <= _BIGINT_MAX else Decimal(38, 0)


_ESCAPES = str.maketrans(
    {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"}
)


def _quote(text: str) -> str:
    return f"'{text.translate(_ESCAPES)}'"
