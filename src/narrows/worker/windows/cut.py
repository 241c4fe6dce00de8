"""What all kinds of windows that tasks keep have in common.

What is kept are *groups*: tables of these columns, each row a partial result (`kept.py`).

    keys ...   place ...   folds ...        a place is one column, or more: see the kinds

Times are microseconds here, `since` and `until` are where the watermark was and is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from narrows.projection.partial_aggregation import PartialAggregation
from narrows.projection.values import ColumnValue
from narrows.schema import BIGINT
from narrows.worker.partial_aggregator import fold
from narrows.worker.windows.kept import Kept, KeptRows

Times = npt.NDArray[np.int64]


class Placed(NamedTuple):
    """Rows with the columns that say their place behind their own, and how many were too late."""

    rows: pa.RecordBatch
    late: int


class Cut(Protocol):
    places: int
    """How many columns a place has."""
    grows: bool
    """May a window become longer while it is open, so that one group's place depends on others?"""

    def placed(self, rows: pa.RecordBatch, times: Times, since: int) -> Placed:
        """The rows that are in some window that is still open."""

    def fold(self, what: Kept, groups: pa.Table) -> pa.Table:
        """Groups that belong together as one; rows that do, with the same place."""

    def closed(self, what: Kept, groups: pa.Table, since: int, until: int) -> pa.Table:
        """The windows that closed, of all their groups: a row for each window and key, with its
        start and its end in place of the groups' places. Or, where those are rows, each of them for
        each of its windows."""

    def open(self, what: Kept, groups: pa.Table, until: int) -> pa.Table:
        """The groups that windows still wait for."""

    def first_end(self, places: list[Times]) -> int:
        """The first time at which a window may be over that has one of these groups."""

    def last_end(self, places: list[Times]) -> int:
        """The time at which all windows are over that have them."""

    def may_close(self, first_end: int, last_end: int, since: int, until: int) -> bool:
        """May there be a window that closed, in groups with such ends?"""


def with_places(what: PartialAggregation, places: int, width: int) -> PartialAggregation:
    """The same folds, of rows that have their places behind so many columns of their own."""
    added = tuple((ColumnValue(width + each), BIGINT) for each in range(places))
    keys = len(what.keys)
    names = (*what.names[:keys], *(f"place{n}" for n in range(places)), *what.names[keys:])
    return replace(what, keys=(*what.keys, *added), names=names)


def fold_equal(what: Kept, places: int, groups: pa.Table) -> pa.Table:
    """Groups with the same keys and place as one; `what` is without places."""
    if isinstance(what, KeptRows):
        return groups
    return fold(with_places(what, places, 0), groups)


def place_columns(what: Kept, places: int, groups: pa.Table) -> list[Times]:
    """Where the groups are; `what` is without places."""
    first = len(what.keys)
    return [numbers(groups.column(first + place)) for place in range(places)]


def numbers(column: pa.ChunkedArray | pa.Array) -> Times:
    return np.asarray(column, dtype=np.int64)


def ends_of(what: Kept, cut: Cut) -> Callable[[pa.Table], tuple[int, int]]:
    """When the first window of some groups is over, and when the last one is."""

    def ends(groups: pa.Table) -> tuple[int, int]:
        places = place_columns(what, cut.places, groups)
        return cut.first_end(places), cut.last_end(places)

    return ends
