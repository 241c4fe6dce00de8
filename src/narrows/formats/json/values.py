"""One JSON value as a value of a declared scalar type.

The semantics are those of Spark's `from_json` in PERMISSIVE mode; docs/json.md has them in full,
with the differences. A value of the wrong type, or out of its range, is NULL and counted.

What simdjson gives for a value of the expected kind needs nothing but a test of its class, and the
generated code does that in place (`inline_test`); whole columns of integers, dates and times are
converted at once (`json_columns`). The functions here are for all the rest.
"""

from __future__ import annotations

import decimal
import math
import re
from binascii import a2b_base64
from collections.abc import Callable
from typing import Any, cast

import simdjson

from narrows.errors import InternalError
from narrows.formats.json.exact import ExactObject, Number, parse_exactly
from narrows.schema import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGRAL,
    STRING,
    TIMESTAMP,
    DataType,
    Decimal,
)

Reader = Callable[[object], object]
"""A JSON value to what its column collects."""
Mistyped = Callable[[object], Any]
"""Counts a value of the wrong type, and returns its NULL."""


class NeedsExactParseError(Exception):
    """simdjson does not tell enough about this row; `parse_exactly` does."""


class CurrentRow:
    """The payload that is being read, for the few who have to look at it again, and how many
    mistyped values there were before it, in case it is read anew."""

    __slots__ = ("mistyped_before", "payload")

    def __init__(self) -> None:
        self.payload = b""
        self.mistyped_before = 0

    def has_long_number(self) -> bool:
        """May there be a number of more digits than a double holds? Also true of some texts."""
        return _LONG in self.payload.translate(_DIGITS)


_LONG = b"0" * 16
_DIGITS = bytes(ord("0") if chr(byte) in "0123456789." else ord(" ") for byte in range(256))
"""Shows digits and points as `0`; every decimal of 15 digits is what its double prints as."""


def inline_test(dtype: DataType, value: str) -> str:
    """Source of a test that a JSON value is collected as it is; `value` is a variable's name."""
    if dtype == BOOLEAN:
        return f"{value} is True or {value} is False or {value} is None"
    if dtype in INTEGRAL:
        return f"{value}.__class__ is int or {value} is None"
    if dtype in (FLOAT, DOUBLE):
        return f"{value}.__class__ is float or {value} is None"
    if dtype in (STRING, DATE, TIMESTAMP):
        return f"{value}.__class__ is str or {value} is None"
    return f"{value} is None"


def scalar_reader(dtype: DataType, mistyped: Mistyped, row: CurrentRow) -> Reader:
    """Reads the values that did not pass the inline test of a type."""
    if dtype in (FLOAT, DOUBLE):
        return lambda value: _read_double(value, mistyped)
    if dtype == STRING:
        return json_text
    if dtype == BINARY:
        return lambda value: _read_binary(value, mistyped)
    if dtype == TIMESTAMP:
        return lambda value: value if value.__class__ is int else mistyped(value)
    if isinstance(dtype, Decimal):
        return _decimal_reader(dtype, mistyped, row)
    if dtype in (BOOLEAN, DATE, *INTEGRAL):
        return mistyped
    raise InternalError(f"no JSON value is a {dtype}")


# --- numbers --------------------------------------------------------------------------------------

_SPECIAL = {
    "NaN": math.nan,
    "Infinity": math.inf,
    "+Infinity": math.inf,
    "+INF": math.inf,
    "-Infinity": -math.inf,
    "-INF": -math.inf,
}


def _read_double(value: object, mistyped: Mistyped) -> float | None:
    if isinstance(value, (int, Number)) and value.__class__ is not bool:
        return float(value)
    found = _SPECIAL.get(value) if value.__class__ is str else None
    return found if found is not None else mistyped(value)


_NUMERIC = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")


def _decimal_reader(dtype: Decimal, mistyped: Mistyped, row: CurrentRow) -> Reader:
    context = decimal.Context(
        prec=dtype.precision,
        rounding=decimal.ROUND_HALF_UP,
        Emin=decimal.MIN_EMIN,
        Emax=decimal.MAX_EMAX,
    )
    step = decimal.Decimal((0, (1,), -dtype.scale))
    safe = 0.499 * 10.0**-dtype.scale

    def rounded(text: str) -> decimal.Decimal | None:
        try:
            return decimal.Decimal(text).quantize(step, context=context)
        except decimal.InvalidOperation:  # it has too many digits, or an absurd exponent
            return None

    def read(value: object) -> decimal.Decimal | None:
        if isinstance(value, float):
            # The double is not the number that was written, only near it. Does that matter?
            text = repr(value)
            found = rounded(text)
            unsure = found is None or abs(value - float(found)) + math.ulp(value) > safe
            if unsure and row.has_long_number():
                raise NeedsExactParseError
        elif isinstance(value, (int, Number)) and value.__class__ is not bool:
            found = rounded(str(value))
        elif isinstance(value, str) and _NUMERIC.fullmatch(value.replace(",", "")):
            found = rounded(value.replace(",", ""))
        else:
            found = None
        return found if found is not None else mistyped(value)

    return read


# --- bytes ----------------------------------------------------------------------------------------

_BASE64 = re.compile(
    r"(?:[\x00- ]*+(?:[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==))*+[\x00- ]*+"
)
"""Groups of four, each padded on its own, with spaces between them: what Jackson accepts."""


def _read_binary(value: object, mistyped: Mistyped) -> bytes | None:
    if not isinstance(value, str) or isinstance(value, Number) or not _BASE64.fullmatch(value):
        mistyped(value)
        return None
    if "=" not in value.rstrip("\x00\t\n\r =")[:-2]:
        return a2b_base64(value)
    groups = re.findall(r"[A-Za-z0-9+/]{2,4}={0,2}", value)
    return b"".join(a2b_base64(group) for group in groups)


# --- text -----------------------------------------------------------------------------------------


def json_text(value: object) -> str:
    """A value as a STRING: a text as it is, everything else as compact JSON.

    Numbers are written as Spark writes them: integers in full, everything else as Java prints a
    double. A number beyond a double stays as it is written in the document.
    """
    if value.__class__ is str:
        return value
    if isinstance(value, (simdjson.Object, simdjson.Array)):
        compact = cast("bytes", value.mini)
        if _NOT_AS_IN_JAVA.search(compact) is None:
            return compact.decode()
        value = parse_exactly(compact)
    pieces: list[str] = []
    pending = [value]
    while pending:
        # No recursion: documents may be nested deeper than Python likes.
        item = pending.pop()
        if item.__class__ is _Verbatim:
            pieces.append(item)
        elif isinstance(item, list):
            pending.append(_Verbatim("]"))
            for place, element in reversed(list(enumerate(item))):
                pending.append(element)
                pending.append(_Verbatim("," if place else "["))
            if not item:
                pending.append(_Verbatim("["))
        elif isinstance(item, ExactObject):
            pending.append(_Verbatim("}"))
            for place, (key, member) in reversed(list(enumerate(item.pairs))):
                pending.append(member)
                pending.append(_Verbatim(f"{',' if place else '{'}{_quoted(key)}:"))
            if not item:
                pending.append(_Verbatim("{"))
        else:
            pieces.append(_scalar_text(item))
    return "".join(pieces)


class _Verbatim(str):
    """A piece of JSON text among values."""

    __slots__ = ()


_NOT_AS_IN_JAVA = re.compile(rb"[0-9][.eE][0-9+-]|\\u|[\xf0-\xf4]")
"""Doubles, some escapes, and characters that Jackson writes as two escapes."""
_ESCAPED = re.compile(r'["\\\x00-\x1f\U00010000-\U0010ffff]')
_SHORT_ESCAPES = {
    '"': r"\"",
    "\\": r"\\",
    "\b": r"\b",
    "\f": r"\f",
    "\n": r"\n",
    "\r": r"\r",
    "\t": r"\t",
}


def _quoted(text: str) -> str:
    return '"' + _ESCAPED.sub(_escape, text) + '"'


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    short = _SHORT_ESCAPES.get(character)
    if short is not None:
        return short
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[i] << 8 | units[i + 1]:04X}" for i in range(0, len(units), 2))


def _scalar_text(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case float():
            return _double_text(value)
        case Number():
            return _number_text(value)
        case str():
            return _quoted(value)
        case int():
            return str(value)
        case _:
            raise InternalError(f"no JSON value: {value!r}")


def _number_text(written: Number) -> str:
    if not any(mark in written for mark in ".eE"):
        return str(written)
    value = float(written)
    return _double_text(value) if math.isfinite(value) else str(written)


def _double_text(value: float) -> str:
    """A double as Java prints it: 100000.0, 1.0E7, 1.2E-4."""
    text = repr(value)
    if 1e-3 <= abs(value) < 1e7 or value == 0:
        return text
    digits, _, exponent = text.removeprefix("-").partition("e")
    whole, _, fraction = digits.partition(".")
    significant = (whole + fraction).lstrip("0")
    power = len(whole) - 1 + int(exponent or 0) - (len(whole + fraction) - len(significant))
    significant = significant.rstrip("0")
    sign = "-" if value < 0 else ""
    return f"{sign}{significant[0]}.{significant[1:] or '0'}E{power}"
