"""What a task does with the rows that it reads: folds them by key, into a file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from narrows.projection.partial_aggregation import PartialAggregation
from narrows.worker.keeping.groups_file import GroupsWriter
from narrows.worker.keeping.steps import GroupsFile, StepLog
from narrows.worker.partial_aggregator import PartialAggregator
from narrows.worker.read_spec import ReadSpec


@dataclass(frozen=True)
class EndlessSpec:
    """What tasks must know that fold rows into groups without end, and merge what was folded."""

    read: ReadSpec
    what: PartialAggregation
    folder: str
    """Where the log of steps is, and the groups."""

    merges: ClassVar[bool] = True
    """Must a task have all groups of a key?"""


def groups_writer(spec: EndlessSpec, level: int = 0, made: int = 0) -> GroupsWriter:
    """Of files in which few keys are found among many."""
    folder, keys = StepLog(spec.folder).groups, len(spec.what.keys)
    return GroupsWriter(folder, keys, _no_ends, level, searched=True, made=made)


def _no_ends(groups: pa.Table) -> tuple[int, int]:
    return 0, 0


def fold_groups(spec: EndlessSpec, rows: Iterator[pa.RecordBatch]) -> GroupsFile | None:
    """Folds the rows of a task; None if there are none."""
    folds, writer = PartialAggregator(spec.what), groups_writer(spec)
    for batch in rows:
        for groups in folds.add(batch):
            writer.add(groups)
    for groups in folds.rest():
        writer.add(groups)
    return writer.finish()
