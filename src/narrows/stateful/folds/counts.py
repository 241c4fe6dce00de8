"""How many: `count`, `count_if`, `count(DISTINCT x)`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from narrows.stateful.folds.fold import Fold, Held, Place, Span, Takes, group_key
from narrows.stateful.values import Value


@dataclass(frozen=True)
class Count(Fold):
    takes = Takes.PRESENCE

    def start(self) -> Held:
        return 0

    def add(self, held: Held, value: Value, place: Place) -> Held:
        return held if value is None else held + 1

    def over(
        self, values: Sequence[Value], places: Sequence[Place], spans: Sequence[Span]
    ) -> list[Value]:
        before = counts_before(values)
        return [before[last] - before[first] for first, last in spans]


@dataclass(frozen=True)
class CountTrue(Count):
    takes = Takes.TRUTH


@dataclass(frozen=True)
class CountDistinct(Fold):
    """Keeps the values, each once. As keys of groups do in Spark, NaN equals NaN and 0.0 -0.0."""

    def start(self) -> Held:
        return {}

    def add(self, held: Held, value: Value, place: Place) -> Held:
        if value is not None:
            held[group_key(value)] = None
        return held

    def result(self, held: Held) -> Value:
        return len(held)

    def stored(self, held: Held) -> Held:
        return list(held)

    def loaded(self, stored: Held) -> Held:
        return dict.fromkeys(map(group_key, stored))


def counts_before(values: Sequence[Value]) -> list[int]:
    """For each place how many values are before it, and behind the last one how many there are."""
    return [*accumulate((value is not None for value in values), initial=0)]
