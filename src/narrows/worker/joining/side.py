"""The rows that are kept of one of two streams: found by keys, written, and given up in time.

    groups/ab12.arrow      key0 ...   row_time: BIGINT   the columns of a row      sorted by keys

A row stays where a task has written it, and is never changed: whether it has had a match is seen in
the rows of the other side, which are kept as long as somebody asks. How long that is follows from
how far apart two rows may be that match (`physical/stream_join.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from narrows.arrow.key_hash import key_hashes
from narrows.worker.keeping.groups_file import GroupsWriter, OpenGroups, share_of_buckets
from narrows.worker.keeping.steps import GroupsFile, StepLog
from narrows.worker.remembered.store import NEVER

TIME = "row_time"
_TOGETHER = 250_000
"""Rows that are looked at in one piece."""


@dataclass(frozen=True)
class Side:
    folder: str
    keys: int
    """So many columns are its keys."""
    first: int | None
    """How much later the other row of a match happens, at the least; microseconds. None: there is
    no bound, here and below."""
    last: int | None
    """The same, at the most."""
    kept: int | None
    """How long a row is of use to somebody, by the time of what comes later."""
    waits: bool
    """Is a row given by itself, when it is known that there will be no match?"""
    schema: pa.Schema = field(default_factory=lambda: pa.schema([]))
    """Its rows; whoever looks after the files need not know."""

    @property
    def waiting(self) -> int | None:
        """How long a row waits until that is known; never less than nothing."""
        return None if self.last is None or not self.waits else max(self.last, 0)

    @property
    def goes_by_time(self) -> bool:
        return self.first is not None or self.last is not None

    # --- rows of an entry -------------------------------------------------------------------------

    def having(self, files: Sequence[GroupsFile], keys: Sequence[pa.Array]) -> pa.Table:
        """The rows that are kept with such keys, and perhaps others."""
        rows = len(keys[0])
        found = self.open(files).having(key_hashes(keys, rows)) if rows else []
        return self._table(found, keys)

    def written(self, rows: pa.Table) -> tuple[GroupsFile, ...]:
        """Keeps rows: with their keys and times, as they are found."""
        writer = self.writer()
        writer.add(rows)
        file = writer.finish()
        return () if file is None else (file,)

    # --- as time goes by --------------------------------------------------------------------------

    def given_up(
        self, files: Sequence[GroupsFile], task: int, tasks: int, since: int, until: int
    ) -> Iterator[pa.Table]:
        """The share that one of so many tasks has of the rows that have waited until now, since it
        was asked last."""
        waiting = self.waiting
        assert waiting is not None
        due = [file for file in files if file.first_end <= until and file.last_end > since]
        for found in self.open(due).some(share_of_buckets(task, tasks), _TOGETHER):
            ends = pc.add(found.column(TIME), waiting)
            is_due = pc.and_(pc.greater(ends, since), pc.less_equal(ends, until))
            rows = found.filter(is_due)
            if rows.num_rows:
                yield rows

    def alive(self, files: Sequence[GroupsFile], until: int) -> Sequence[GroupsFile]:
        return [file for file in files if file.last_end > until]

    def merged(
        self,
        files: tuple[GroupsFile, ...],
        level: int,
        number: int,
        *,
        until: int,
        whole: bool,
    ) -> SideMerge:
        return SideMerge(self, files, level, number, until)

    # --- files ------------------------------------------------------------------------------------

    def open(self, files: Sequence[GroupsFile]) -> OpenGroups:
        return OpenGroups(StepLog(self.folder).groups, files)

    def writer(self, level: int = 0, made: int = 0) -> GroupsWriter:
        folder = StepLog(self.folder).groups
        return GroupsWriter(folder, self.keys, self._ends, level, searched=True, made=made)

    def _table(self, found: Sequence[pa.Table], keys: Sequence[pa.Array]) -> pa.Table:
        names = [f"key{place}" for place in range(self.keys)]
        fields = [pa.field(name, key.type) for name, key in zip(names, keys, strict=True)]
        schema = pa.schema([*fields, pa.field(TIME, pa.int64()), *self.schema])
        return pa.concat_tables([schema.empty_table(), *found]).combine_chunks()

    def _ends(self, rows: pa.Table) -> tuple[int, int]:
        """When the first of the rows has waited for too long, and when all are of no use."""
        times, waiting = pc.min_max(rows.column(TIME)), self.waiting
        first = NEVER if waiting is None else times["min"].as_py() + waiting
        return first, NEVER if self.kept is None else times["max"].as_py() + self.kept


def two_sides(
    folders: tuple[str, str],
    keys: int,
    within: tuple[int | None, int | None],
    waits: tuple[bool, bool],
    *,
    once: bool = False,
) -> tuple[Side, Side]:
    """The sides of a join, where the right row of a match happens so much later than the left one;
    `once` if a left row is given when it has its first match."""
    first, last = within
    later = (first, last), (None if last is None else -last, None if first is None else -first)
    asks = waits[0] or once, waits[1]
    left, right = (
        Side(
            folder=folders[place],
            keys=keys,
            first=later[place][0],
            last=later[place][1],
            kept=_kept(later[place][1], later[1 - place][1], asked=asks[1 - place]),
            waits=waits[place],
        )
        for place in range(2)
    )
    return left, right


def _kept(last: int | None, others_last: int | None, *, asked: bool) -> int | None:
    """How long a row is of use: until no match of it comes; and where it is asked whether the other
    row had a match, until no match of that one comes either."""
    if last is None or (asked and others_last is None):
        return None
    return max(last, 0) + (max(others_last or 0, 0) if asked else 0)


@dataclass(frozen=True)
class SideMerge:
    """Files of a side that become one for each task, without the rows that are of no use."""

    side: Side
    files: tuple[GroupsFile, ...]
    level: int
    number: int
    until: int

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    def run(self, task: int, tasks: int) -> GroupsFile | None:
        writer = self.side.writer(self.level, self.number)
        for found in self.side.open(self.files).some(share_of_buckets(task, tasks), _TOGETHER):
            writer.add(self._of_use(found))
        return writer.finish()

    def _of_use(self, rows: pa.Table) -> pa.Table:
        kept = self.side.kept
        if kept is None:
            return rows
        return rows.filter(pc.greater(rows.column(TIME), self.until - kept))
