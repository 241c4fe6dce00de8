"""Topics, their partitions, and how far these reach."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


class Partition(NamedTuple):
    topic: str
    number: int

    def __str__(self) -> str:
        return f"{self.topic}:{self.number}"


class Extent(NamedTuple):
    """Offsets that a partition has: from `first` up to `end`, which is not included."""

    first: int
    end: int


@dataclass(frozen=True)
class Topics:
    """What there is to read at a moment."""

    extents: Mapping[Partition, Extent]
    ids: Mapping[str, str] = field(default_factory=dict)
    """Tells a topic from one of the same name that was there before, where the broker says so."""


def topic_names(topic: str) -> list[str] | None:
    """The topics of `a, b`; None for a pattern, which begins with `^`."""
    if topic.startswith("^"):
        return None
    return list(dict.fromkeys(name.strip() for name in topic.split(",")))
