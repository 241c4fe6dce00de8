"""The option of a stream of which only a sample is read: `sample = 'latest every 1 second'`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from narrows.plugins.options import OptionSpec, OptionValue, parse_duration

_LATEST_EVERY = re.compile(r"\s*latest\s+every\s+(.*)", re.IGNORECASE | re.DOTALL)


def _milliseconds(text: str) -> int | None:
    """How often a sample is taken; None where the text says no such thing."""
    match = _LATEST_EVERY.fullmatch(text)
    found = None if match is None else parse_duration(match[1])
    return found or None


def _refuses(option: str, value: OptionValue) -> str | None:
    wanted = "takes `latest every` and a duration"
    return wanted if _milliseconds(str(value)) is None else None


SAMPLE: Final = OptionSpec(
    "sample",
    "only the newest payload of each such time is decoded: `'latest every 1 second'`",
    explained=True,
    of_entries=True,
    refuses=_refuses,
    hint="for example 'latest every 1 second' or 'latest every 500 ms'",
)


def sample_interval(options: Mapping[str, object]) -> int | None:
    """Milliseconds between two samples, at least; None where all payloads are read."""
    return _milliseconds(str(options[SAMPLE.name])) if SAMPLE.name in options else None
