"""What tasks make of files of groups that no window ends.

    the files of an entry       (a, n=1)           (c, n=2)
    those of before             (a, n=4) (b, n=7)            (a, n=2) (d, n=1)
    what has changed            (a, n=7)           (c, n=2)

Of groups that are nothing but keys (DISTINCT) only those are given that are in no file of before.

All files that a group is in have a part of it, and each part is looked for by its key: so a step
takes as long as its entry has keys, whatever else is kept. Parts stay where they are; files that
get many are merged, by the same tasks in another step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from narrows.arrow.key_hash import key_hashes
from narrows.arrow.types import arrow_type
from narrows.projection.partial_aggregation import Fold, FoldKind, PartialAggregation
from narrows.schema import TINYINT
from narrows.worker.endless.fold import EndlessSpec, groups_writer
from narrows.worker.keeping.groups_file import OpenGroups, share_of_buckets
from narrows.worker.keeping.steps import GroupsFile
from narrows.worker.partial_aggregator import fold, fold_by
from narrows.worker.windows.merge import Merge

_MERGED_TOGETHER = 1_000_000
_CHANGED_TOGETHER = 250_000
"""Groups of an entry: each may have a part in many files."""
_SHIPPED_ROWS = 16_384
_MARK = "changed"


class EndlessTask:
    """One of so many tasks. Gives the groups that an entry has changed, if there is one; or merges
    files to one."""

    def __init__(self, spec: EndlessSpec, merge: Merge, task: int, tasks: int) -> None:
        self._what, self._spec, self._merge = spec.what, spec, merge
        self._buckets = share_of_buckets(task, tasks)
        self.rest: GroupsFile | None = None

    def rows(self) -> Iterator[pa.RecordBatch]:
        if self._merge.level is not None:
            self.rest = self._merged(self._merge.level)
            return
        for groups in self._changed() if self._what.keys else self._whole():
            yield from groups.combine_chunks().to_batches(max_chunksize=_SHIPPED_ROWS)

    def _merged(self, level: int) -> GroupsFile | None:
        writer = groups_writer(self._spec, level, self._merge.number)
        for groups in self._open(self._merge.files).some(self._buckets, _MERGED_TOGETHER):
            writer.add(fold(self._what, groups))
        return writer.finish()

    def _open(self, files: Sequence[GroupsFile]) -> OpenGroups:
        return OpenGroups(self._merge.folder, files)

    def _changed(self) -> Iterator[pa.Table]:
        files, first = self._merge.files, len(self._merge.files) - self._merge.new
        before, new = self._open(files[:first]), self._open(files[first:])
        for groups in new.some(self._buckets, _CHANGED_TOGETHER):
            changed = fold(self._what, groups)
            keys = changed.columns[: len(self._what.keys)]
            hashes = key_hashes([key.combine_chunks() for key in keys], changed.num_rows)
            found = [each for each in before.having(hashes) if each.num_rows]
            yield self._together(found, changed) if found else changed

    def _together(self, found: list[pa.Table], changed: pa.Table) -> pa.Table:
        """The groups that changed, with all their parts, the oldest first. Other groups may have
        been found as well, whose keys have the same numbers; they have no mark. A group that is its
        keys alone changes no more once it is there: none of its parts may be an old one."""
        marked = [
            each.append_column(_MARK, pa.repeat(pa.scalar(mark, pa.int8()), each.num_rows))
            for each, mark in (*((part, 0) for part in found), (changed, 1))
        ]
        which = FoldKind.MAX if self._what.folds else FoldKind.MIN
        folds = (*self._what.folds, Fold(which, None, TINYINT))
        groups = fold_by(len(self._what.keys), folds, pa.concat_tables(marked))
        mark = groups.num_columns - 1
        return groups.filter(pc.equal(groups.column(mark), 1)).remove_column(mark)

    def _whole(self) -> Iterator[pa.Table]:
        """The one group that there is without keys. It is there without a row, too, and Spark gives
        it in every micro-batch."""
        if self._buckets.start > 0:
            return
        parts = list(self._open(self._merge.files).some(range(1), _MERGED_TOGETHER))
        yield fold(self._what, pa.concat_tables(parts)) if parts else _nothing(self._what)


def _nothing(what: PartialAggregation) -> pa.Table:
    """The group of no rows."""
    counts = [each.kind is FoldKind.COUNT for each in what.folds]
    arrays = [
        pa.array([0 if is_count else None], arrow_type(each.dtype))
        for each, is_count in zip(what.folds, counts, strict=True)
    ]
    return pa.table(arrays, names=list(what.names))
