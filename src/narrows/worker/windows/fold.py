"""What a task does with the rows that it reads: folds them by key and place in time, into a file;
or leaves them there as they are, if they have to be kept.

Rows that are too late for all their windows go no further, and are counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from narrows.worker.keeping.groups_file import GroupsWriter
from narrows.worker.keeping.steps import GroupsFile, StepLog
from narrows.worker.partial_aggregator import PartialAggregator, as_partial
from narrows.worker.windows.cut import Cut, Times, ends_of, with_places
from narrows.worker.windows.kept import AsTheyAre, Folds, Kept, KeptRows, row_groups
from narrows.worker.windows.spec import WindowSpec

_MICROSECONDS = {"s": 1_000_000, "ms": 1_000, "us": 1}
_FOLDED_TOGETHER = 65_536


class Folded(NamedTuple):
    """What a task has made of its rows."""

    file: GroupsFile | None
    late: int


def fold_rows(spec: WindowSpec, rows: Iterator[pa.RecordBatch], since: int) -> Folded:
    """Folds the rows of a task; `since` is where the watermark was, in microseconds."""
    cut, late = spec.cut, 0
    folds: Folds | None = None
    ends = ends_of(spec.what, cut)
    writer = GroupsWriter(StepLog(spec.folder).groups, len(spec.what.keys), ends)
    for batch in rows:
        if folds is None:
            folds = _folds(spec.what, cut, batch.num_columns)
        times = batch.column(spec.event_time.place)
        placed = cut.placed(batch, _microseconds(times, spec.event_time.unit), since)
        late += placed.late
        for groups in folds.add(placed.rows):
            writer.add(groups)
    for groups in () if folds is None else folds.rest():
        writer.add(groups)
    return Folded(writer.finish(), late)


def _folds(what: Kept, cut: Cut, width: int) -> Folds:
    """Of rows that have so many columns of their own."""
    if cut.grows:
        return _Touching(what, cut, width)
    if isinstance(what, KeptRows):
        return AsTheyAre(what, cut.places)
    return PartialAggregator(with_places(what, cut.places, width))


class _Touching:
    """Folds what belongs together by more than being equal."""

    def __init__(self, what: Kept, cut: Cut, width: int) -> None:
        self._what, self._cut, self._width = what, cut, width
        self._waiting: list[pa.RecordBatch] = []

    def add(self, rows: pa.RecordBatch) -> Iterator[pa.Table]:
        self._waiting.append(self._alone(rows))
        if sum(each.num_rows for each in self._waiting) >= _FOLDED_TOGETHER:
            yield from self.rest()

    def _alone(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Each row as a group."""
        if isinstance(self._what, KeptRows):
            return row_groups(self._what, self._cut.places, rows)
        return as_partial(with_places(self._what, self._cut.places, self._width), rows)

    def rest(self) -> Iterator[pa.Table]:
        if self._waiting:
            yield self._cut.fold(self._what, pa.Table.from_batches(self._waiting))
        self._waiting = []


def _microseconds(times: pa.Array, unit: str | None) -> Times:
    if unit is None:
        return np.asarray(times.cast(pa.timestamp("us", times.type.tz)).cast(pa.int64()))
    return np.asarray(times.cast(pa.int64())) * _MICROSECONDS[unit]
