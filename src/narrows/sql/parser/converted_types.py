"""Types of columns that no reader has: it reads a text, and Spark makes the value of it.

    at TIMESTAMP_NTZ      TRY_CAST(at AS TIMESTAMP_NTZ)
    took INTERVAL DAY TO SECOND
    rest VARIANT          try_parse_json(rest)

A text that says no such value is NULL, as with other types.
"""

from __future__ import annotations

from typing import NamedTuple

from narrows.errors import Code, fail
from narrows.sql.parser.cursor import Cursor

_YEAR_MONTH = ("YEAR", "MONTH")
_DAY_TIME = ("DAY", "HOUR", "MINUTE", "SECOND")


class Converted(NamedTuple):
    """What is made of a text."""

    type: str
    """As SQL writes it."""
    text: str
    """The expression, in which `_1` is the text."""
    from_times: bool = False
    """Do times of a file that has types, as texts, do as well?"""


def read_converted(cursor: Cursor) -> Converted | None:
    """Such a type, if that is what comes next."""
    if cursor.take("TIMESTAMP_NTZ"):
        return _cast("TIMESTAMP_NTZ", from_times=True)
    if cursor.take("VARIANT"):
        return Converted("VARIANT", "try_parse_json(_1)")
    if cursor.take("INTERVAL"):
        return _cast(_interval(cursor))
    return None


def _cast(name: str, *, from_times: bool = False) -> Converted:
    return Converted(name, f"TRY_CAST(_1 AS {name})", from_times)


def _interval(cursor: Cursor) -> str:
    span = cursor.span
    for units in (_YEAR_MONTH, _DAY_TIME):
        if not cursor.at_word(*units):
            continue
        first = cursor.text.upper()
        cursor.advance()
        if not cursor.take("TO"):
            return f"INTERVAL {first}"
        last = cursor.text.upper()
        if last in units[units.index(first) + 1 :]:
            cursor.advance()
            return f"INTERVAL {first} TO {last}"
        message = f"there is no INTERVAL {first} TO {last}"
        raise fail(Code.UNKNOWN_TYPE, message, cursor.span)
    raise fail(
        Code.UNKNOWN_TYPE,
        "an INTERVAL of a column says of what it is",
        span,
        "for example `INTERVAL DAY TO SECOND`, `INTERVAL YEAR TO MONTH`",
    )
