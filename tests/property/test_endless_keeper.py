"""Groups without window that tasks keep give what plain counting gives, whatever dies between two
steps, and however often files are merged.

Rows come in random micro-batches, which one task reads or several. A process may die while tasks
fold, while they merge, between writing the step and publishing, and after that: then the same batch
comes again, and must publish the same rows under the same number. Different keys may have the same
number, by which they are looked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from narrows.arrow.key_hash import key_hashes
from narrows.connectors.target import WriteSpec
from narrows.demand import ALL
from narrows.projection.columns import DecodeProjection
from narrows.projection.partial_aggregation import Fold, FoldKind, PartialAggregation
from narrows.projection.values import CastValue, ColumnValue
from narrows.schema import BIGINT, DOUBLE, STRING, Field, Struct
from narrows.worker.endless import merge as merge_module
from narrows.worker.endless.fold import EndlessSpec, fold_groups
from narrows.worker.endless.keeper import EndlessKeeper, merge_of_one
from narrows.worker.endless.merge import EndlessTask
from narrows.worker.keeping import fewer_files, groups_file
from narrows.worker.keeping.steps import GroupsFile
from narrows.worker.read_spec import ReadSpec
from narrows.worker.windows.keeper import Closed
from narrows.worker.windows.merge import Merge
from narrows.worker.write import Receipts

Row = tuple[str | None, int | None]
"""A key and a value."""
Made = tuple[Any, ...]
"""A key; how many rows, the sum, the most, the first and the mean of their values."""

_SCHEMA = Struct((Field("k", STRING), Field("v", BIGINT)))
_BY_KEY = PartialAggregation(
    keys=((ColumnValue(0), STRING),),
    folds=(
        Fold(FoldKind.COUNT, None, BIGINT),
        Fold(FoldKind.SUM, ColumnValue(1), BIGINT),
        Fold(FoldKind.MAX, ColumnValue(1), BIGINT),
        Fold(FoldKind.COUNT, ColumnValue(1), BIGINT),
        Fold(FoldKind.MEAN, CastValue(ColumnValue(1), DOUBLE), DOUBLE, None, (3,)),
        Fold(FoldKind.SQUARES, CastValue(ColumnValue(1), DOUBLE), DOUBLE, None, (3, 4)),
    ),
    names=("k", "n", "s", "m", "c", "a", "q"),
)
_WHOLE = replace(_BY_KEY, keys=(), names=_BY_KEY.names[1:])
_ALONE = PartialAggregation(
    keys=(*_BY_KEY.keys, (ColumnValue(1), BIGINT)), folds=(), names=("k", "v")
)
"""Rows that are given once."""
_TASKS = 3


class DiedError(Exception):
    pass


@dataclass
class Machine:
    """Tasks and the driver, in a process that may die: then all that is left is on the disk."""

    folder: str
    what: PartialAggregation
    published: dict[int, list[Made]] = field(default_factory=dict)
    most_files: int = 0

    @property
    def spec(self) -> EndlessSpec:
        projection = DecodeProjection(_SCHEMA, ALL)
        read = ReadSpec("s", "file", "json", projection=projection, names=("k", "v"))
        return EndlessSpec(read, self.what, self.folder)

    def batch(self, number: int, rows: Sequence[Row], *, tasks: int, dies: str | None) -> None:
        jobs = Jobs(self.spec, dies)
        keeper = EndlessKeeper(self.spec, WriteSpec(()), jobs)
        keeper.begin(number)
        folded = [fold_groups(self.spec, _batches(rows[task::tasks])) for task in range(tasks)]
        if dies == "fold":
            raise DiedError
        files = [file for file in folded if file is not None]
        made = None
        if tasks == 1:  # it goes on by itself
            made = jobs.close(merge_of_one(self.spec, number, folded[0]))
        keeper.run(number, files, made)
        if dies == "publish":
            raise DiedError
        last = keeper.log.last()
        assert last is not None
        self.most_files = max(self.most_files, len(last.files))
        staged = sorted(jobs.staged, key=str)
        assert self.published.get(last.number, staged) == staged, "what is published again differs"
        self.published[last.number] = staged
        if dies == "commit":
            raise DiedError


def _batches(rows: Sequence[Row]) -> Iterator[pa.RecordBatch]:
    for first in range(0, len(rows), 2):
        keys, values = zip(*rows[first : first + 2], strict=True)
        arrays = [pa.array(keys, pa.string()), pa.array(values, pa.int64())]
        yield pa.RecordBatch.from_arrays(arrays, names=["k", "v"])


@dataclass
class Jobs:
    """What tasks do with files; `staged` is what they wrote."""

    spec: EndlessSpec
    dies: str | None
    staged: list[Made] = field(default_factory=list)

    def close(self, merge: Merge) -> Closed:
        assert self._merged(merge) == []
        if self.dies == "merge":
            raise DiedError
        return Closed([Receipts(len(self.staged), [])], [])

    def compact(self, merge: Merge) -> Sequence[GroupsFile]:
        before = list(self.staged)
        made = self._merged(merge)
        assert self.staged == before, "nothing is given there"
        if self.dies == "compact":
            raise DiedError
        return made

    def _merged(self, merge: Merge) -> list[GroupsFile]:
        written = []
        for number in range(_TASKS):
            task = EndlessTask(self.spec, merge, number, _TASKS)
            for batch in task.rows():
                columns = [column.to_pylist() for column in batch.columns]
                self.staged += [tuple(map(_rounded, row)) for row in zip(*columns, strict=True)]
            written += [] if task.rest is None else [task.rest]
        return written


# --- plain counting -------------------------------------------------------------------------------


class Counting:
    """What is to come out: all rows are kept, and looked at again and again."""

    def __init__(self, what: PartialAggregation) -> None:
        self._what = what
        self._rows: list[Row] = []

    def batch(self, rows: Sequence[Row]) -> list[Made]:
        if not self._what.folds:
            rows = list(set(rows) - set(self._rows))
            self._rows += rows
            return list(rows)
        self._rows += rows
        if not self._what.keys:
            return [_made([value for _, value in self._rows])]
        keys = {key for key, _ in rows}
        return [(key, *_made([v for k, v in self._rows if k == key])) for key in keys]


def _made(values: Sequence[int | None]) -> Made:
    known = [value for value in values if value is not None]
    if not known:
        return len(values), None, None, 0, None, None
    mean = sum(known) / len(known)
    squares = _rounded(sum((value - mean) ** 2 for value in known))
    return len(values), sum(known), max(known), len(known), _rounded(mean), squares


def _rounded(value: Any) -> Any:
    """Without the last digits, which depend on the order of additions."""
    return round(value, 6) + 0.0 if isinstance(value, float) else value


# --- both -----------------------------------------------------------------------------------------

_DEATHS = (None, None, "fold", "merge", "compact", "publish", "commit")
_ROW = st.tuples(st.sampled_from(["a", "b", "c", "d", "", None]), st.none() | st.integers(-5, 5))
_BATCH = st.tuples(
    st.lists(_ROW, max_size=8), st.sampled_from((1, _TASKS)), st.sampled_from(_DEATHS)
)


def _numbers_alike(columns: Sequence[pa.Array], rows: int) -> Any:
    """Two numbers for all keys."""
    return key_hashes(columns, rows) % np.uint64(2)


@pytest.mark.parametrize("what", [_BY_KEY, _WHOLE, _ALONE], ids=("keys", "whole", "alone"))
@pytest.mark.parametrize("numbers", [key_hashes, _numbers_alike], ids=("apart", "alike"))
@settings(max_examples=15, deadline=None)
@given(batches=st.lists(_BATCH, max_size=14), many=st.integers(1, 3))
def test_groups_give_what_counting_gives(
    what: PartialAggregation,
    numbers: Callable[..., Any],
    batches: list[tuple[list[Row], int, str | None]],
    many: int,
) -> None:
    counting = Counting(what)
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(fewer_files, "_MANY_FILES", many)
        for module in (merge_module, groups_file):
            patch.setattr(module, "key_hashes", numbers)
        machine = Machine(folder, what)
        for number, (rows, tasks, dies) in enumerate(batches):
            with suppress(DiedError):
                machine.batch(number, rows, tasks=tasks, dies=dies)
            if dies is not None:
                machine.batch(number, rows, tasks=tasks, dies=None)
            assert Counter(machine.published[number]) == Counter(counting.batch(rows))
    # Of each level as many as there may be, and those of a step and of a merge before they count.
    assert machine.most_files <= 5 * (many + _TASKS)


def test_a_large_step_has_as_many_files_as_a_small_one() -> None:
    """Large files are merged sooner, and what tasks have merged together counts as one."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(fewer_files, "_LARGE", 100)
        machine = Machine(folder, _BY_KEY)
        counting = Counting(_BY_KEY)
        for number in range(20):
            rows = [(f"key {place}", number) for place in range(number, number + 40)]
            machine.batch(number, rows, tasks=1, dies=None)
            assert Counter(machine.published[number]) == Counter(counting.batch(rows))
        assert machine.most_files <= 4 * _TASKS + 4
