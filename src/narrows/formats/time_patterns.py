"""Dates and times in a form that a source declares: `timestamp_format = 'dd/MM/yyyy HH:mm'`.

Patterns are those of Spark, and so of Java, as far as they say when something happened:

    yyyy yy y        year; two digits are 2000 to 2099      a         AM, PM; with h
    M MM MMM MMMM    7, 07, Jul, July                       X XX XXX  +01[30], +0130, +01:30; Z
    d dd             day of the month                       x xx xxx  the same, without Z
    H HH  h hh       hour of the day, of the half day       Z         +0130
    m mm  s ss       minute, second                         'text'    itself; '' is a quote
    S ... SSSSSSSSS  at most so many digits of a fraction   [ ]       may be missing

Any other letter is refused. One letter takes one or two digits, two take two. What a pattern leaves
out is that of 1970-01-01 00:00:00. Texts are not trimmed, and letters have no case.

`unix_s`, `unix_ms`, `unix_us` stand for whole numbers since 1970.

A pattern does not compute a time: it rewrites the text in the form that is read anyway
(`arrow/times.py`), which knows days and zones. This module is light, for statements are checked
with it; whole columns are rewritten by `time_columns.py`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from narrows.plugins.options import OptionSpec, OptionValue

UNIX = {"unix_s": 1_000_000, "unix_ms": 1_000, "unix_us": 1}
"""Microseconds of what is counted."""

_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
)
_TWO, _ONE_OR_TWO = "([0-9]{2})", "([0-9]{1,2})"
_OFFSETS = {
    1: "[+-][0-9]{2}(?:[0-9]{2})?",
    2: "[+-][0-9]{4}",
    3: "[+-][0-9]{2}:[0-9]{2}",
}
_FIELDS = {
    "yyyy": ("year", "([0-9]{4})"),
    "y": ("year", "([0-9]{1,4})"),
    "yy": ("short year", _TWO),
    "M": ("month", _ONE_OR_TWO),
    "MM": ("month", _TWO),
    "MMM": ("month name", f"({'|'.join(name[:3] for name in _MONTHS)})"),
    "MMMM": ("month name", f"({'|'.join(_MONTHS)})"),
    "d": ("day", _ONE_OR_TWO),
    "dd": ("day", _TWO),
    "H": ("hour", _ONE_OR_TWO),
    "HH": ("hour", _TWO),
    "h": ("half hour", _ONE_OR_TWO),
    "hh": ("half hour", _TWO),
    "a": ("half", "(am|pm)"),
    "m": ("minute", _ONE_OR_TWO),
    "mm": ("minute", _TWO),
    "s": ("second", _ONE_OR_TWO),
    "ss": ("second", _TWO),
    **{"S" * n: ("fraction", f"([0-9]{{1,{n}}})") for n in range(1, 10)},
    **{"X" * n: ("zone", f"({offset}|Z)") for n, offset in _OFFSETS.items()},
    **{"x" * n: ("zone", f"({offset})") for n, offset in _OFFSETS.items()},
    **{"Z" * n: ("zone", f"({_OFFSETS[2]})") for n in (1, 2, 3)},
}
_SLOTS = {"short year": "year", "month name": "month", "half hour": "hour"}
_DEFAULTS = {"year": "1970", "month": "01", "day": "01"}
_VARIES = re.compile(r"\{1,4\}|\)\?$|\)\?[^:]")
"""A year of as few digits as it has, or a part that may be missing."""
_TOKEN = re.compile(
    r"'(?P<quoted>(?:[^']|'')*)'|(?P<letters>([A-Za-z])\3*)|(?P<other>.)", re.DOTALL
)


class PatternError(ValueError):
    """Why a pattern is none."""


@dataclass(frozen=True)
class TimePattern:
    """A pattern, as a regular expression."""

    regex: str
    """For Python and for RE2. Whatever it matches may still be no day, as 31 February is."""
    fields: tuple[str, ...]
    """What its groups are."""
    is_plain: bool
    """Is the form that is read anyway made of the groups as they stand?"""

    @property
    def replacement(self) -> str:
        """What to write for a match, for a plain pattern; `\\1` is the first group."""
        groups = {name: f"\\{place}" for place, name in enumerate(self.fields, start=1)}
        return _form(groups)

    def rewritten(self, text: str) -> str | None:
        """The text in the form that is read anyway; None if it does not fit the pattern."""
        found = _compiled(self.regex).fullmatch(text)
        if found is None:
            return None
        given = dict(zip(self.fields, found.groups(), strict=True))
        slots = {name: value for name, value in given.items() if value is not None}
        if (year := slots.pop("short year", None)) is not None:
            slots["year"] = f"20{year}"
        if (name := slots.pop("month name", None)) is not None:
            starts = [month[:3] for month in _MONTHS]
            slots["month"] = str(starts.index(name[:3].lower()) + 1)
        half = slots.pop("half", "am").lower()
        if (hour := slots.pop("half hour", None)) is not None:
            if not 1 <= int(hour) <= 12:
                return None
            slots["hour"] = str(int(hour) % 12 + 12 * (half == "pm"))
        slots["year"] = slots.get("year", _DEFAULTS["year"]).zfill(4)
        return _form({**slots, "zone": slots.get("zone", "").upper()})


def _form(slots: dict[str, str]) -> str:
    year, month, day = (slots.get(name, default) for name, default in _DEFAULTS.items())
    hour, minute, second = (slots.get(name, "00") for name in ("hour", "minute", "second"))
    fraction = slots.get("fraction", "0")
    return f"{year}-{month}-{day}T{hour}:{minute}:{second}.{fraction}{slots.get('zone', '')}"


@lru_cache(maxsize=64)
def _compiled(regex: str) -> re.Pattern[str]:
    return re.compile(regex, re.IGNORECASE | re.DOTALL)


def parse_pattern(pattern: str) -> TimePattern:
    """Raises `PatternError` for what is no pattern, or one that is not supported."""
    regex, fields, depth = "", list[str](), 0
    for token in _TOKEN.finditer(pattern):
        if (letters := token["letters"]) is not None:
            if letters not in _FIELDS:
                raise PatternError(f"has no meaning for `{letters}`")
            field, expression = _FIELDS[letters]
            fields.append(field)
            regex += expression
        elif (quoted := token["quoted"]) is not None:
            regex += re.escape(quoted.replace("''", "'") or "'")
        elif (other := token["other"]) in "[]":
            depth += 1 if other == "[" else -1
            regex += "(?:" if other == "[" else ")?"
            if depth < 0:
                break
        elif other in "'{}#":
            raise PatternError(f"cannot have a lone `{other}`")
        else:
            regex += re.escape(other)
    if depth:
        raise PatternError("has a bracket without the other")
    slots = [_SLOTS.get(field, field) for field in fields]
    twice = next((slot for slot in slots if slots.count(slot) > 1), None)
    if twice is not None:
        raise PatternError(f"says the {twice} twice")
    if ("half" in fields) != ("half hour" in fields):
        raise PatternError("needs `h` with `a`, and `a` with `h`")
    if not fields:
        raise PatternError("says nothing about a time")
    is_plain = slots == fields and "half" not in fields and not _VARIES.search(regex)
    return TimePattern(regex, tuple(fields), is_plain)


def _no_pattern(option: str, value: OptionValue) -> str | None:
    try:
        parse_pattern(str(value))
    except PatternError as error:
        return str(error)
    return None


_HINT = "patterns are made of y M d H h a m s S X x Z, and of other text in quotes"

TIME_OPTIONS = (
    OptionSpec(
        "timestamp_format",
        "how values of type TIMESTAMP are written: a pattern like `dd/MM/yyyy HH:mm:ss`, or"
        " `unix_s`, `unix_ms`, `unix_us`",
        refuses=lambda option, value: None if value in UNIX else _no_pattern(option, value),
        hint=_HINT,
    ),
    OptionSpec(
        "date_format",
        "how values of type DATE are written: a pattern like `dd.MM.yyyy`",
        refuses=_no_pattern,
        hint=_HINT,
    ),
)
"""For the sources of formats that write times as texts."""
