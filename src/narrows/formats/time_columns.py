"""Columns of texts that were written by a pattern, in the form that is read anyway."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from narrows.arrow.times import Zone, find_zone
from narrows.errors import Code, fail
from narrows.formats.time_patterns import UNIX, TimePattern, parse_pattern

_TEXT = pa.string()
_NUMBER = "^[+-]?[0-9]{1,18}$"


@dataclass(frozen=True)
class TimeForms:
    """How a source writes dates and times."""

    zone: Zone = 0
    """Of times that name none."""
    date: TimePattern | None = None
    timestamp: TimePattern | None = None
    unit: int | None = None
    """Microseconds of what numbers count, if timestamps are numbers."""

    @property
    def are_declared(self) -> bool:
        return not (self.date is None and self.timestamp is None and self.unit is None)


def forms_of(options: Mapping[str, object]) -> TimeForms:
    """As the options of a source say it."""
    name = str(options.get("timezone", "UTC"))
    zone = find_zone(name)
    if zone is None:
        raise fail(Code.INVALID_OPTION, f"there is no time zone `{name}`")
    timestamp, date = options.get("timestamp_format"), options.get("date_format")
    return TimeForms(
        zone,
        None if date is None else parse_pattern(str(date)),
        None if timestamp is None or timestamp in UNIX else parse_pattern(str(timestamp)),
        UNIX.get(str(timestamp)),
    )


def rewritten(texts: pa.Array, pattern: TimePattern | None) -> pa.Array:
    """The texts in the form that is read anyway; NULL for one that does not fit the pattern."""
    if pattern is None:
        return texts
    if not pattern.is_plain:
        return pa.array(
            [t if t is None else pattern.rewritten(t) for t in texts.to_pylist()], _TEXT
        )
    regex = f"(?is)^{pattern.regex}$"
    fitting = pc.if_else(pc.match_substring_regex(texts, regex), texts, pa.scalar(None, _TEXT))
    made = pc.replace_substring_regex(fitting, regex, pattern.replacement)
    return pc.utf8_upper(made) if "zone" in pattern.fields else made


def rewritten_dates(texts: pa.Array, pattern: TimePattern | None) -> pa.Array:
    """The same without the time of the day."""
    if pattern is None:
        return texts
    return pc.replace_substring_regex(rewritten(texts, pattern), "T.*$", "")


def counted(texts: pa.Array, unit: int) -> pa.Array:
    """Timestamps that are written as numbers of a unit; NULL for what is none, or too far away."""
    numbers = pc.if_else(pc.match_substring_regex(texts, _NUMBER), texts, pa.scalar(None, _TEXT))
    plain = pc.replace_substring_regex(numbers, r"^\+", "").cast(pa.int64())
    limit = (2**63 - 1) // unit
    near = pc.less_equal(pc.abs(plain), limit)
    return pc.multiply(pc.if_else(near, plain, pa.scalar(None, pa.int64())), unit)
