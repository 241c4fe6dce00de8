"""Which rows of one side match which of the other: those with the same keys, whose times are as far
apart as they may be.

One side is sorted by keys and times, so the matches of a row are a range there. Nobody ever sees
the pairs of a key that are not within the time, and pairs are made some at a time, however many one
row has.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

Numbers: TypeAlias = npt.NDArray[np.int64]
_PAIRS_TOGETHER = 65_536


class Placed(NamedTuple):
    """Rows of one side: a number for each key, and when they happened; microseconds."""

    keys: Numbers
    times: Numbers

    def some(self, rows: slice) -> Placed:
        return Placed(self.keys[rows], self.times[rows])


class Matches:
    """Of some rows among others, which happened so much later: from `first` to `last`."""

    def __init__(self, rows: Placed, among: Placed, first: int | None, last: int | None) -> None:
        self._order = np.lexsort((among.times, among.keys))
        times = np.unique(among.times)
        width = len(times) + 1
        places = among.keys * width + np.searchsorted(times, among.times)
        places = places[self._order]
        earliest = 0 if first is None else np.searchsorted(times, rows.times + first, "left")
        latest = width - 1 if last is None else np.searchsorted(times, rows.times + last, "right")
        start = np.searchsorted(places, rows.keys * width + earliest, "left")
        end = np.searchsorted(places, rows.keys * width + latest, "left")
        self._starts = start
        self.counts: Numbers = np.maximum(end - start, 0)
        """How many each row has."""

    def pairs(self) -> Iterator[tuple[Numbers, Numbers]]:
        """The places of rows that match, some at a time."""
        ends = np.cumsum(self.counts)
        total = int(ends[-1]) if len(ends) else 0
        for first in range(0, total, _PAIRS_TOGETHER):
            numbers = np.arange(first, min(first + _PAIRS_TOGETHER, total))
            rows = np.searchsorted(ends, numbers, "right")
            within = numbers - (ends[rows] - self.counts[rows])
            yield rows, self._order[self._starts[rows] + within]
