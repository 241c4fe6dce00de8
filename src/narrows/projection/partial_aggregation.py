"""What a reader folds before it ships: rows of a task with the same keys become one row.

    SELECT kind, count(*), avg(x) ... GROUP BY kind      keys    kind
                                                         folds   count 1, sum x, count x

Plain data, made by the planner (`physical/in_reader/worker_aggregation.py`) and run by the reader
(`worker/partial_aggregator.py`). A row that nobody has folded yet is a partial result already, of
itself: a count of one, a sum of one value. So the reader may fold as much as pays, and ship the
rest as it is; whoever merges what it ships cannot tell.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from narrows.projection.predicate import Predicate
from narrows.projection.values import Value
from narrows.schema import DataType


class FoldKind(Enum):
    COUNT = "count"
    SUM = "sum"
    MIN = "min"
    MAX = "max"
    MAX_BY = "max_by"
    """The value beside the largest of another fold; of several the last one, as in Spark."""
    MIN_BY = "min_by"
    FIRST = "first"
    LAST = "last"
    FIRST_VALID = "first_valid"
    LAST_VALID = "last_valid"
    MEAN = "mean"
    SQUARES = "squares"
    """The sum of squared distances from the mean."""


@dataclass(frozen=True)
class Fold:
    """A column of partial results: of the rows that pass the test, if there is one."""

    kind: FoldKind
    value: Value | None
    """What is folded; None: rows are counted."""
    dtype: DataType
    test: Predicate | None = None
    beside: tuple[int, ...] = ()
    """The places of the folds that it goes by, which stand before it: of MAX_BY and MIN_BY what is
    largest or smallest, of MEAN and SQUARES how many there are, of SQUARES the MEAN; of FIRST and
    LAST with a test how many rows pass it."""


@dataclass(frozen=True)
class PartialAggregation:
    keys: tuple[tuple[Value, DataType], ...]
    folds: tuple[Fold, ...]
    names: tuple[str, ...]
    """Names of the shipped columns: those of the keys, then those of the folds."""
    enough: int | None = None
    """How many groups of keys alone are enough; None: all that there are."""

    @property
    def always_folds(self) -> bool:
        """Whoever merges SQUARES has all of a group in memory: so there must not be one for each
        row, however few keys repeat."""
        return any(fold.kind is FoldKind.SQUARES for fold in self.folds)

    @property
    def types(self) -> tuple[DataType, ...]:
        return (*(dtype for _, dtype in self.keys), *(fold.dtype for fold in self.folds))
