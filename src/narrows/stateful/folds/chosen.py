"""One of the values: the smallest, the largest, the first, the last."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from narrows.stateful.folds.fold import Fold, Held, Place, Span
from narrows.stateful.values import Value, less


@dataclass(frozen=True)
class Extreme(Fold):
    """The smallest or largest value; of equal ones (0.0 and -0.0 are) the first."""

    largest: bool

    def add(self, held: Held, value: Value, place: Place) -> Held:
        if value is None:
            return held
        return value if held is None or self._beats(value, held) else held

    def over(
        self, values: Sequence[Value], places: Sequence[Place], spans: Sequence[Span]
    ) -> list[Value]:
        # Those that may still be the extreme of a later span, the best one in front.
        waiting: deque[int] = deque()
        results, seen = [], 0
        for first, last in spans:
            for place in range(seen, last):
                value = values[place]
                if value is not None:
                    while waiting and self._beats(value, values[waiting[-1]]):
                        waiting.pop()
                    waiting.append(place)
            seen = max(seen, last)
            while waiting and waiting[0] < first:
                waiting.popleft()
            results.append(values[waiting[0]] if waiting else None)
        return results

    def _beats(self, value: Value, held: Value) -> bool:
        return less(held, value) if self.largest else less(value, held)


@dataclass(frozen=True)
class First(Fold):
    takes_null = True

    def start(self) -> Held:
        return (False, None)

    def add(self, held: Held, value: Value, place: Place) -> Held:
        return held if held[0] else (True, value)

    def result(self, held: Held) -> Value:
        return held[1]


@dataclass(frozen=True)
class FirstPresent(Fold):
    """The first that is not NULL."""

    def add(self, held: Held, value: Value, place: Place) -> Held:
        return value if held is None else held


@dataclass(frozen=True)
class Last(Fold):
    takes_null = True

    def add(self, held: Held, value: Value, place: Place) -> Held:
        return value


@dataclass(frozen=True)
class LastPresent(Fold):
    """The last that is not NULL."""

    def add(self, held: Held, value: Value, place: Place) -> Held:
        return held if value is None else value


@dataclass(frozen=True)
class LastRow(Fold):
    """The value of the last row in the order of the source, in whatever order rows come."""

    takes_null = True

    def start(self) -> Held:
        return (None, None)

    def add(self, held: Held, value: Value, place: Place) -> Held:
        return (place, value) if held[0] is None or held[0] < place else held

    def result(self, held: Held) -> Value:
        return held[1]
