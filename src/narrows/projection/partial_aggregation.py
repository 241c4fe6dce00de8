"""What a reader folds before it ships: rows of a task with the same keys become one row.

    SELECT kind, count(*), avg(x) ... GROUP BY kind      keys    kind
                                                         folds   count 1, sum x, count x

Plain data, made by the planner (`physical/worker_aggregation.py`) and run by the reader
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


@dataclass(frozen=True)
class Fold:
    """A column of partial results: of the rows that pass the test, if there is one."""

    kind: FoldKind
    value: Value | None
    """What is folded; None: rows are counted."""
    dtype: DataType
    test: Predicate | None = None


@dataclass(frozen=True)
class PartialAggregation:
    keys: tuple[tuple[Value, DataType], ...]
    folds: tuple[Fold, ...]
    names: tuple[str, ...]
    """Names of the shipped columns: those of the keys, then those of the folds."""
    enough: int | None = None
    """How many groups of keys alone are enough; None: all that there are."""

    @property
    def types(self) -> tuple[DataType, ...]:
        return (*(dtype for _, dtype in self.keys), *(fold.dtype for fold in self.folds))
