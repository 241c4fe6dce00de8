"""How many rows a reader ships at most, and which: the first that it finds, or the first in an
order.

    SELECT a FROM s LIMIT 10                      10 rows, whichever come first
    SELECT a FROM s ORDER BY b DESC, a LIMIT 10   the 10 rows that are first by b DESC, a

Plain data, made by the planner and run by the reader (`worker/first_rows.py`). It holds for each
task; Spark makes the rows of the query of what all tasks have left.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from narrows.projection.values import Value


class SortValue(NamedTuple):
    """What rows are sorted by."""

    value: Value
    descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class RowLimit:
    count: int
    keys: tuple[SortValue, ...] = ()
    """None: the rows that come first."""
