"""What tasks make of the files when windows close: one row for each window and key, or all rows of
each window.

Each task has some buckets of keys, and takes no more of them at once than fit into memory well. Or
it has some of the files, where nothing has to be merged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow as pa

from narrows.arrow.types import arrow_type
from narrows.files.small import read_small, write_small
from narrows.schema import TIMESTAMP
from narrows.worker.evaluate import evaluate, keep
from narrows.worker.keeping.groups_file import GroupsWriter, OpenGroups, share_of_buckets
from narrows.worker.keeping.steps import GroupsFile
from narrows.worker.windows.cut import ends_of
from narrows.worker.windows.kept import KeptRows
from narrows.worker.windows.spec import Finish, WindowSpec

_FILE = "merge.json"
_MAGIC = "narrows-merge-1"
_MERGED_TOGETHER = 1_000_000
_SHIPPED_ROWS = 16_384


@dataclass(frozen=True)
class Merge:
    """What the tasks of a step have to do; times are microseconds."""

    folder: str
    files: tuple[GroupsFile, ...]
    since: int
    until: int
    number: int = 0
    """Of the step, by which the sinks know what they get."""
    level: int | None = None
    """Where what is still open becomes a new file, of this level; None: files stay as they are."""
    new: int = 0
    """How many of the files, the last ones, are of this step; of groups that no window ends."""

    @property
    def groups(self) -> int:
        """How many there are to be merged, about; others are found by their keys."""
        return sum(file.rows for file in self.files[-self.new :])


def write_merge(folder: str, merge: Merge) -> None:
    """Says what the tasks of the next job have to do."""
    fields = {**asdict(merge), "files": [list(file) for file in merge.files]}
    write_small(Path(folder) / _FILE, _MAGIC, fields)


def read_merge(folder: str) -> Merge:
    fields = read_small(Path(folder) / _FILE, _MAGIC, "what is to be merged", "start again")
    return Merge(**{**fields, "files": tuple(GroupsFile(*file) for file in fields["files"])})


class MergingTask:
    """One of so many tasks. Gives the windows that closed; then the rest has been written."""

    def __init__(self, spec: WindowSpec, merge: Merge, task: int, tasks: int) -> None:
        self._spec, self._merge, self._cut = spec, merge, spec.cut
        self._task, self._tasks = task, tasks
        self.rest: GroupsFile | None = None

    def rows(self) -> Iterator[pa.RecordBatch]:
        merge, what = self._merge, self._spec.what
        keeps = merge.level is not None
        ends = ends_of(what, self._cut)
        writer = GroupsWriter(merge.folder, len(what.keys), ends, merge.level or 0)
        for groups in self._groups():
            closed = self._cut.closed(what, groups, merge.since, merge.until)
            yield from self._with_times(closed)
            if keeps:
                writer.add(self._cut.open(what, groups, merge.until))
        self.rest = writer.finish()

    def _groups(self) -> Iterator[pa.Table]:
        """Those of this task; what belongs together in one piece."""
        folder, files = self._merge.folder, self._merge.files
        if not self._spec.merges:
            return OpenGroups(folder, _shares(files, self._tasks)[self._task]).each()
        buckets = share_of_buckets(self._task, self._tasks)
        return OpenGroups(folder, files).some(buckets, _MERGED_TOGETHER)

    def _with_times(self, closed: pa.Table) -> Iterator[pa.RecordBatch]:
        keys = len(self._spec.what.keys)
        for place in range(keys, keys + 2):
            times = closed.column(place).cast(arrow_type(TIMESTAMP))
            closed = closed.set_column(place, closed.field(place).name, times)
        if isinstance(self._spec.what, KeptRows):
            closed = closed.select(range(keys, closed.num_columns))  # rows have them anyway
        for first in range(0, closed.num_rows, _SHIPPED_ROWS):
            yield from closed.slice(first, _SHIPPED_ROWS).combine_chunks().to_batches()


def _shares(files: Sequence[GroupsFile], tasks: int) -> list[list[GroupsFile]]:
    """Files for so many tasks, which have about as many groups each."""
    shares: list[list[GroupsFile]] = [[] for _ in range(tasks)]
    for file in sorted(files, key=lambda file: (-file.rows, file.name)):
        min(shares, key=lambda share: sum(each.rows for each in share)).append(file)
    return shares


def finished(finish: Finish, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows that are made of groups."""
    for batch in batches:
        for test in finish.tests:
            batch = keep(batch, test)
        columns: Sequence[pa.Array] = [
            evaluate(value, batch).cast(arrow_type(dtype)) for _, value, dtype in finish.columns
        ]
        names = [name for name, _, _ in finish.columns]
        yield pa.RecordBatch.from_arrays(list(columns), names=names)
