"""What an aggregate of a window keeps of the rows so far, instead of the rows.

    sum(x)     x = 1, 2, NULL, 4      held: None, 1, 3, 3, 7      result: 7

A fold gives what Spark gives for the same rows in the same order, to the bit: floating numbers are
added one after the other, whole numbers wrap around or are refused, NaN is the largest number. So a
window that folds cannot be told from one that keeps its rows and has Spark aggregate them.

Rows come (`add`), and where windows overlap they go again: `over` has the results of many spans of
the same rows. What can be undone is undone there, the rest is folded again for each span.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar

from narrows.stateful.rows import WindowRow
from narrows.stateful.values import Value

Held = Any
"""What a fold keeps: plain data, for it goes into a checkpoint (`stored.py`)."""
Groups = dict[tuple[Value, ...], list[Held]]
"""What the folds hold for each group, by its keys."""
Place = tuple[Any, ...]
Span = tuple[int, int]
"""Rows from one place in a list to before another."""


class Takes(Enum):
    """What a fold takes of a row; None where the row does not count."""

    VALUE = "the argument"
    PRESENCE = "true where all arguments are there"
    TRUTH = "true where the argument is true"


class Fold(ABC):
    takes: ClassVar[Takes] = Takes.VALUE
    takes_null: ClassVar[bool] = False
    """Does a NULL count? Then a row that a FILTER drops must not look like one."""

    def start(self) -> Held:
        return None

    @abstractmethod
    def add(self, held: Held, value: Value, place: Place) -> Held:
        """One row more; `place` is its place in the source. Rows without a value come, too."""

    def result(self, held: Held) -> Value:
        return held

    def stored(self, held: Held) -> Held:
        """What is kept, as plain data."""
        return held

    def loaded(self, stored: Held) -> Held:
        return stored

    def of(self, values: Sequence[Value], places: Sequence[Place]) -> Value:
        """The result for some rows."""
        held = self.start()
        for value, place in zip(values, places, strict=True):
            held = self.add(held, value, place)
        return self.result(held)

    def over(
        self, values: Sequence[Value], places: Sequence[Place], spans: Sequence[Span]
    ) -> list[Value]:
        """The results for spans of rows; neither their begins nor their ends go back."""
        return [self.of(values[first:last], places[first:last]) for first, last in spans]


@dataclass(frozen=True)
class Folding:
    """What becomes of the rows of a window. They hold the keys of groups, then what the folds
    take; what it gives are rows of the keys, then the results."""

    keys: int
    folds: tuple[Fold, ...]

    def start(self) -> list[Held]:
        return [fold.start() for fold in self.folds]

    def add(self, groups: Groups, row: WindowRow) -> None:
        key = tuple(map(group_key, row.values[: self.keys]))
        held = groups.get(key)
        if held is None:
            held = groups[key] = self.start()
        taken = row.values[self.keys :]
        for number, (fold, value) in enumerate(zip(self.folds, taken, strict=True)):
            held[number] = fold.add(held[number], value, row.place)

    def results(self, groups: Groups) -> list[tuple[Value, ...]]:
        return [
            (*key, *(fold.result(part) for fold, part in zip(self.folds, held, strict=True)))
            for key, held in groups.items()
        ]

    def stored(self, groups: Groups) -> list[tuple[Any, ...]]:
        return [
            (key, tuple(fold.stored(part) for fold, part in zip(self.folds, held, strict=True)))
            for key, held in groups.items()
        ]

    def loaded(self, stored: Sequence[tuple[Any, ...]]) -> Groups:
        return {
            tuple(map(group_key, key)): [
                fold.loaded(part) for fold, part in zip(self.folds, held, strict=True)
            ]
            for key, held in stored
        }

    def over(self, rows: Sequence[WindowRow], spans: Sequence[Span]) -> list[tuple[Value, ...]]:
        """The results for spans of rows that are all of one group."""
        places = [row.place for row in rows]
        columns = [
            fold.over([row.values[self.keys + number] for row in rows], places, spans)
            for number, fold in enumerate(self.folds)
        ]
        keys = rows[0].values[: self.keys] if rows else ()
        return [(*keys, *(column[place] for column in columns)) for place in range(len(spans))]


_NAN = float("nan")


def group_key(value: Value) -> Value:
    """The value that stands for those that Spark groups it with: 0.0 for -0.0, too. In a dict, only
    the same NaN equals itself."""
    if type(value) is not float:
        return value
    return _NAN if value != value else value + 0.0
