"""Dates and times in texts, read as Spark reads them from JSON by default.

    DATE        yyyy, yyyy-MM, yyyy-MM-dd, and whatever follows a whole date after a space or `T`
    TIMESTAMP   the same dates, and yyyy-MM-dd[ T]HH[:mm[:ss[.fraction][zone]]]

Months, days, hours, minutes and seconds have one or two digits; a year has four to seven (six in a
TIMESTAMP) and may have a sign; digits of a fraction beyond microseconds are cut off. A zone is `Z`,
an offset (`+1`, `+01`, `+0100`, `+01:00`, `+01:00:00`), the same after `UTC`, `GMT` or `UT`, a
region (`Europe/Paris`) or one of Java's short names (`PST`), with or without spaces before it.

Two things that Spark reads are deliberately no values here, and count as mistyped. A time without
a date is today's for Spark: a replayed batch would not equal itself. A text of digits that is too
short or too long for a year is a number of days for Spark, which nobody has written since Spark
1.5.

Python's `datetime` ends with the year 9999 and Spark's types do not, so days are counted in the
400 years after which the calendar repeats itself.
"""

from __future__ import annotations

import re
from datetime import date, datetime
from functools import lru_cache
from zoneinfo import ZoneInfo

Zone = int | ZoneInfo
"""Seconds east of UTC, or a region."""

_TRIMMED = "".join(map(chr, range(33))) + "\x7f"
_DATE = re.compile(r"([+-]?[0-9]{4,7})(?:-([0-9]{1,2})(?:-([0-9]{1,2})(?:[ T].*)?)?)?", re.DOTALL)
_TIMESTAMP = re.compile(
    r"([+-]?[0-9]{4,6})(?:-([0-9]{1,2})(?:-([0-9]{1,2})"
    r"(?:[ T]([0-9]{1,2})(?::([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]*))?([^0-9.].*)?)?)?)?)?)?",
    re.DOTALL,
)

_LONGEST_ZONE = 64
"""Zones are remembered by name; nonsense of 10 MB should not be."""
_CYCLE_YEARS = 400
_CYCLE_DAYS = 146_097
_EPOCH = date(1970, 1, 1).toordinal()
_ALL_DAYS = range(-(2**31), 2**31)
_ALL_MICROS = range(-(2**63), 2**63)


def date_days(text: str) -> int | None:
    """Days since 1970-01-01; None when the text is no date."""
    days = _date_days(text)
    return _date_days(text.replace("GMT", "")) if days is None and "GMT" in text else days


def timestamp_micros(text: str, zone: Zone) -> int | None:
    """Microseconds since 1970-01-01 UTC; None when the text is no time.

    The zone is for texts that name none.
    """
    micros = _timestamp_micros(text, zone)
    if micros is None and "GMT" in text:
        # Spark tries again without the word, wherever it stands: `2020-01-02 03:04GMT`.
        return _timestamp_micros(text.replace("GMT", ""), zone)
    return micros


def seconds_to_micros(seconds: int) -> int | None:
    """A TIMESTAMP that is written as a number; None when it is too far away."""
    micros = seconds * 1_000_000
    return micros if micros in _ALL_MICROS else None


def _date_days(text: str) -> int | None:
    found = _DATE.fullmatch(text.strip(_TRIMMED))
    if found is None:
        return None
    year, month, day = found.groups(default="1")
    days = _days(int(year), int(month), int(day))
    return days if days is not None and days in _ALL_DAYS else None


def _timestamp_micros(text: str, zone: Zone) -> int | None:
    found = _TIMESTAMP.fullmatch(text.strip(_TRIMMED))
    if found is None:
        return None
    year, month, day, hour, minute, second = map(
        int, found.groups("1")[:3] + found.groups("0")[3:6]
    )
    fraction, zone_name = found.group(7, 8)
    days = _days(year, month, day)
    if days is None or hour > 23 or minute > 59 or second > 59:
        return None
    if zone_name is not None:
        zone_name = zone_name.strip(_TRIMMED[:-1])
        named = find_zone(zone_name) if len(zone_name) < _LONGEST_ZONE else None
        if named is None:
            return None
        zone = named
    if isinstance(zone, ZoneInfo):
        zone = _offset(zone, datetime(_in_cycle(year), month, day, hour, minute, second))
    seconds = days * 86_400 + hour * 3_600 + minute * 60 + second - zone
    micros = seconds * 1_000_000 + int((fraction or "0")[:6].ljust(6, "0"))
    return micros if micros in _ALL_MICROS else None


def _days(year: int, month: int, day: int) -> int | None:
    try:
        within = date(year % _CYCLE_YEARS + _CYCLE_YEARS, month, day).toordinal()
    except ValueError:
        return None
    return within + (year // _CYCLE_YEARS - 1) * _CYCLE_DAYS - _EPOCH


def _in_cycle(year: int) -> int:
    """A year that `datetime` knows, with the calendar and the zone offsets of the given one."""
    if year > 9999:
        return 9600 + year % _CYCLE_YEARS
    return year if year > 0 else _CYCLE_YEARS + year % _CYCLE_YEARS


def _offset(zone: ZoneInfo, local: datetime) -> int:
    """Seconds east of UTC at a local time.

    Of a time that a clock change repeats the first is meant, and one that it leaves out is read
    with the offset before it: Python and Java agree.
    """
    offset = local.replace(tzinfo=zone).utcoffset()
    assert offset is not None
    return offset.days * 86_400 + offset.seconds


# --- zones ----------------------------------------------------------------------------------------

_OFFSET = re.compile(r"([+-])([0-9]{1,2}|[0-9]{2}:?[0-9]{2}|[0-9]{6}|[0-9]{2}:[0-9]{2}:[0-9]{2})")
_PREFIXED = re.compile(r"(?:UTC|GMT|UT)((?:[+-].*)?)", re.DOTALL)
_REGION = re.compile(r"[A-Za-z][A-Za-z0-9~/._+-]+")
_SHORT_NAMES = {
    "ACT": "Australia/Darwin",
    "AET": "Australia/Sydney",
    "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo",
    "AST": "America/Anchorage",
    "BET": "America/Sao_Paulo",
    "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare",
    "CNT": "America/St_Johns",
    "CST": "America/Chicago",
    "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa",
    "ECT": "Europe/Paris",
    "EST": "-05:00",
    "HST": "-10:00",
    "IET": "America/Indiana/Indianapolis",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "MIT": "Pacific/Apia",
    "MST": "-07:00",
    "NET": "Asia/Yerevan",
    "NST": "Pacific/Auckland",
    "PLT": "Asia/Karachi",
    "PNT": "America/Phoenix",
    "PRT": "America/Puerto_Rico",
    "PST": "America/Los_Angeles",
    "SST": "Pacific/Guadalcanal",
    "VST": "Asia/Ho_Chi_Minh",
}
"""`java.time.ZoneId.SHORT_IDS`."""
_NO_REGIONS = ("Factory", "ROC", "localtime", "posixrules", "posix/", "right/")
"""In the time zone files of some systems, but unknown to Java."""


@lru_cache(maxsize=1024)
def find_zone(name: str) -> Zone | None:
    """A zone by any name that Java and Spark know; None if there is none."""
    name = re.sub(r"([+-])([0-9]):", r"\g<1>0\2:", name, count=1)
    name = re.sub(r"([+-][0-9]{2}):([0-9])$", r"\1:0\2", name, count=1)
    name = _SHORT_NAMES.get(name, name)
    if name == "Z":
        return 0
    prefixed = _PREFIXED.fullmatch(name)
    if prefixed is not None:
        return _parse_offset(prefixed[1]) if prefixed[1] else 0
    if name.startswith(("+", "-")):
        return _parse_offset(name)
    if _REGION.fullmatch(name) is None or name.startswith(_NO_REGIONS):
        return None
    try:
        return ZoneInfo(name)
    except (ValueError, KeyError, OSError):
        return None


def _parse_offset(text: str) -> int | None:
    found = _OFFSET.fullmatch(text)
    if found is None:
        return None
    digits = found[2].replace(":", "")
    padded = digits.zfill(2).ljust(6, "0")
    hours, minutes, seconds = (int(padded[place : place + 2]) for place in (0, 2, 4))
    total = hours * 3_600 + minutes * 60 + seconds
    if minutes > 59 or seconds > 59 or total > 18 * 3_600:
        return None
    return -total if found[1] == "-" else total
