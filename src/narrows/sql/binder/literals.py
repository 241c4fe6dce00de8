"""Constants: from the parser's literals to ours, and to the text that Spark reads back."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal as DecimalValue

from sqlglot import exp

from narrows.errors import Code, InternalError, fail
from narrows.expressions.nodes import Literal
from narrows.schema import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    UNKNOWN,
    VOID,
    DataType,
    Decimal,
)
from narrows.sql.binder.context import span_of
from narrows.sql.parser.constant import TYPED_CONSTANTS

_MAX_DIGITS = 40
_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_MAX_PRECISION = 38


def bind_literal(node: exp.Expr) -> Literal:
    match node:
        case exp.Null():
            return Literal(text="NULL", dtype=VOID)
        case exp.Boolean(this=truth):
            return literal(bool(truth))
        case exp.Literal(is_string=True):
            return literal(node.name)
        case exp.Literal():
            return _number(node.name)
        case exp.Neg():
            return _number(f"-{node.this.name}")
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
_SUFFIXED = {suffix: dtype for dtype, (suffix, _) in _SUFFIXES.items() if suffix}


def cast_literal(operand: object, dtype: DataType) -> Literal | None:
    """`CAST(1 AS BIGINT)`: an integer constant of that type, if it fits; `CAST('...' AS DATE)`."""
    if isinstance(operand, Literal) and dtype == DATE:
        return _date(operand.value)
    if not isinstance(operand, Literal) or dtype not in _SUFFIXES:
        return None
    value = operand.value
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    found = _integer(value, dtype)
    return None if found is None else replace(found, computed=True)


def _integer(value: int, dtype: DataType) -> Literal | None:
    suffix, limit = _SUFFIXES[dtype]
    if not -limit <= value < limit:
        return None
    return Literal(text=f"{value}{suffix}", value=value, dtype=dtype)


def typed_constant(node: exp.Introducer) -> Literal:
    """`DATE '2020-01-01'`; also `INTERVAL 1 day 2 hours`, of which only Spark knows the type."""
    word, text = node.this.name, node.expression.name
    if word == "INTERVAL":
        return Literal(text=f"INTERVAL {text}", dtype=UNKNOWN)
    if word not in TYPED_CONSTANTS:
        raise fail(
            Code.NOT_SUPPORTED,
            f"`{word} '...'` is no constant of Spark's SQL",
            span_of(node),
            f"write `CAST('...' AS {word})`",
        )
    if _SHAPES[word].fullmatch(text) is None:
        raise fail(
            Code.SYNTAX_ERROR,
            f"{_quote(text)} is no {word}",
            span_of(node),
            f"for example `{word} '{_EXAMPLES[word]}'`",
        )
    dtype = {"DATE": DATE, "TIMESTAMP": TIMESTAMP, "TIMESTAMP_LTZ": TIMESTAMP}.get(word, UNKNOWN)
    known = _date(text) if word == "DATE" else None
    return known or Literal(text=f"{word} {_quote(text)}", dtype=dtype)


_DAY = r"[+-]?\d{4,7}(-\d{1,2}(-\d{1,2})?)?"
_HOURS = r"\d{1,2}(:\d{1,2}(:\d{1,2}(\.\d*)?)?)?"
_NAMED_DAYS = "epoch|now|today|tomorrow|yesterday"
_SHAPES = {
    "DATE": re.compile(rf"\s*({_DAY}([ T].*)?|{_NAMED_DAYS})\s*", re.IGNORECASE | re.DOTALL),
    "TIME": re.compile(rf"\s*T?{_HOURS}\s*([AP]M)?\s*", re.IGNORECASE),
    **dict.fromkeys(
        ("TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ"),
        re.compile(
            rf"\s*({_DAY}([ T]{_HOURS}.*)?|T?{_HOURS}.*|({_NAMED_DAYS})(\s+\S+)?)\s*",
            re.IGNORECASE | re.DOTALL,
        ),
    ),
}
"""How such texts may look; whether there is such a day Spark will say."""
_MOMENT = "2020-01-31 12:30:00"
_EXAMPLES = {
    "DATE": "2020-01-31",
    "TIME": "12:30:00",
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ"), _MOMENT),
}


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
    """A span of time in whole months, days and seconds."""

    months: int = 0
    days: int = 0
    seconds: int = 0


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
            "HOUR": Interval(seconds=3_600 * number),
            "MINUTE": Interval(seconds=60 * number),
            "SECOND": Interval(seconds=number),
        }.get(word)
    return Literal(text=f"INTERVAL {_quote(count.name)} {unit.name}", value=value, dtype=UNKNOWN)


_NUMBER = re.compile(r"(?P<digits>-?[\d.]+(?P<exponent>e[+-]?\d+)?)(?P<suffix>[a-z]*)", re.I)


def _number(text: str) -> Literal:
    """A number as Spark reads it; the sign belongs to it."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise fail(Code.SYNTAX_ERROR, f"`{text}` is no number")
    digits, suffix = match["digits"], match["suffix"].upper()
    if suffix in _SUFFIXED:
        dtype = _SUFFIXED[suffix]
        found = _integer(int(digits), dtype) if digits.removeprefix("-").isdecimal() else None
        if found is None:
            raise fail(Code.WRONG_TYPE, f"`{text[:_MAX_DIGITS]}` does not fit into {dtype}")
        return found
    if suffix in ("D", "F"):
        return Literal(text=text, dtype=DOUBLE if suffix == "D" else FLOAT)
    if suffix == "BD":
        return Literal(text=text, dtype=_decimal_type(digits, text))
    if match["exponent"] is not None:
        return Literal(text=text, dtype=DOUBLE)
    if digits.removeprefix("-").isdecimal() and len(digits) <= _MAX_DIGITS:
        value = int(digits)
        return Literal(text=text, value=value, dtype=_integer_type(value))
    return Literal(text=text, dtype=_decimal_type(digits, text))


def _decimal_type(digits: str, text: str) -> DataType:
    number = DecimalValue(digits).as_tuple()
    assert isinstance(number.exponent, int)
    scale = max(0, -number.exponent)
    precision = max(len(number.digits) + max(0, number.exponent), scale, 1)
    if precision > _MAX_PRECISION:
        message = f"`{text[:_MAX_DIGITS]}...` has more than {_MAX_PRECISION} digits, as no type has"
        raise fail(Code.WRONG_TYPE, message)
    return Decimal(precision, scale)


def _integer_type(value: int) -> DataType:
    """As Spark reads an integer: the narrowest of INT, BIGINT, DECIMAL."""
    for dtype in (INT, BIGINT):
        if _integer(value, dtype) is not None:
            return dtype
    return _decimal_type(str(value), str(value))


_ESCAPES = str.maketrans(
    {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"}
)


def _quote(text: str) -> str:
    return f"'{text.translate(_ESCAPES)}'"
