"""Where a stream begins that can begin elsewhere than with the first that there is.

A connector that can do so declares the option `start_at` by `start_at_option`, and reads what was
given with `start_of`: `earliest`, `latest`, a time, or a place in words of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Generic, TypeVar
from zoneinfo import ZoneInfo

from narrows.plugins.options import OptionSpec, OptionValue

START_AT: Final = "start_at"
EARLIEST: Final = "earliest"
LATEST: Final = "latest"

P = TypeVar("P")


@dataclass(frozen=True)
class Start(Generic[P]):
    """One of these: `earliest`, `latest`, a time in milliseconds since 1970, a place."""

    word: str | None = None
    time: int | None = None
    place: P | None = None


def start_at_option(place: str, parse: Callable[[str], P | None]) -> OptionSpec:
    """The option of a connector; `place` says what a place looks like, and `parse` reads it."""
    rule = f"is `{EARLIEST}`, `{LATEST}`, a timestamp or {place}"

    def refuses(option: str, value: OptionValue) -> str | None:
        return None if _parsed(str(value), parse, "UTC") is not None else rule

    doc = "where the stream begins when it is read for the first time"
    return OptionSpec(
        START_AT,
        f"{doc}: `{EARLIEST}` (the default), `{LATEST}`, a timestamp or {place}",
        refuses=refuses,
    )


def start_of(value: str | None, parse: Callable[[str], P | None], timezone: str) -> Start[P]:
    """What was given for it; a time without a zone is one of this time zone."""
    found = Start[P](EARLIEST) if value is None else _parsed(value, parse, timezone)
    assert found is not None, "it was checked when it was declared"
    return found


def _parsed(value: str, parse: Callable[[str], P | None], timezone: str) -> Start[P] | None:
    text = value.strip()
    if text in (EARLIEST, LATEST):
        return Start(text)
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        place = parse(text)
        return None if place is None else Start(place=place)
    if time.tzinfo is None:
        time = time.replace(tzinfo=ZoneInfo(timezone))
    return Start(time=round(time.timestamp() * 1_000))
