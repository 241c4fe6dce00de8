"""What a task does with the rows of an entry of two streams that are joined: finds those that are
kept of the other one, gives the matches, and keeps the new ones.

    left:  kept + new     ×    right: new          matches that the new rows of the right make
    left:  new            ×    right: kept         ... and the other new ones, with what was there

Nobody takes what it has written for what is kept until the step says so (`worker/remembered/`), so
it may run twice, and an entry may come again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from narrows.arrow.key_hash import key_numbers
from narrows.worker.joining.matches import Matches, Numbers, Placed
from narrows.worker.joining.side import TIME, Side
from narrows.worker.keeping.steps import GroupsFile, StepLog
from narrows.worker.remembered.keys import kept_keys, together
from narrows.worker.remembered.task import Told, read_advance, tell

LEFT = "is_left"
"""The column that says of which side a row is."""
_SHIPPED_ROWS = 16_384


def key_name(place: int) -> str:
    return f"key{place}"


@dataclass(frozen=True)
class JoinSpec:
    left: Side
    right: Side
    once: bool = False
    """Is a left row given once, whatever it matches, and nothing of the right one?"""

    def remember(
        self, rows: Iterator[pa.RecordBatch], batch: int, attempt: str, task: int
    ) -> Iterator[pa.RecordBatch]:
        """What one task gives for its rows of an entry."""
        batches = [each for each in rows if each.num_rows]
        before = [StepLog(side.folder).before(batch)[0] for side in self._sides]
        told = [Told(), Told()]
        if batches:
            table = pa.Table.from_batches(batches)
            is_left = table.column(LEFT)
            new = [
                _New.of(side, table.filter(mine), each.watermark * 1_000)
                for side, each, mine in zip(
                    self._sides, before, (is_left, pc.invert(is_left)), strict=True
                )
            ]
            kept = self._kept(new, [each.files for each in before])
            yield from self._matches(new, kept)
            for place, (side, rows_of) in enumerate(zip(self._sides, new, strict=True)):
                told[place] = Told(side.written(rows_of.rows), rows_of.late)
                if side.waits and rows_of.alone.num_rows:
                    yield from self._by_themselves(side, rows_of.alone)
        for side, of_side in zip(self._sides, told, strict=True):
            tell(side.folder, attempt, task, of_side)

    def advance(self, attempt: str, task: int, tasks: int) -> Iterator[pa.RecordBatch]:
        """What one of so many tasks gives as time goes by: rows that will find no match."""
        now = [read_advance(side.folder) for side in self._sides]
        for place, side in enumerate(self._sides):
            until = now[place].until
            if not side.waits or until is None:
                continue
            other, others = self._sides[1 - place], now[1 - place].files
            for rows in side.given_up(now[place].files, task, tasks, now[place].since, until):
                found = other.having(others, _keys(rows, side.keys))
                mine, theirs = _placed([rows, found], side.keys)
                counts = Matches(mine, theirs, side.first, side.last).counts
                yield from self._by_themselves(side, rows.filter(pa.array(counts == 0)))
        for side in self._sides:
            tell(side.folder, attempt, task, Told())

    @cached_property
    def _sides(self) -> tuple[Side, Side]:
        return self.left, self.right

    # --- matches ----------------------------------------------------------------------------------

    def _kept(self, new: Sequence[_New], files: Sequence[Sequence[GroupsFile]]) -> list[pa.Table]:
        """What is kept of each side that the new rows of the other may match. Whether a left row
        has been given before is seen in the right rows that it may have matched then."""
        found = []
        for place, (side, other) in enumerate(zip(self._sides, new[::-1], strict=True)):
            keys = _keys(other.rows, side.keys)
            if self.once and place == 1:
                asked = zip(keys, _keys(new[1].rows, side.keys), strict=True)
                keys = [pa.concat_arrays(each) for each in asked]
            found.append(side.having(files[place], keys))
        return found

    def _matches(self, new: Sequence[_New], kept: Sequence[pa.Table]) -> Iterator[pa.RecordBatch]:
        left, right = (pa.concat_tables([k, n.rows]) for k, n in zip(kept, new, strict=True))
        left, right = left.combine_chunks(), right.combine_chunks()
        lefts, rights = _placed([left, right], self.left.keys)
        before, earlier = kept[0].num_rows, kept[1].num_rows
        new_left, new_right, old_right = slice(before, None), slice(earlier, None), slice(earlier)
        first, last = self.left.first, self.left.last
        with_new = Matches(lefts, rights.some(new_right), first, last)
        with_kept = Matches(lefts.some(new_left), rights.some(old_right), first, last)
        if self.once:
            given = with_new.counts > 0
            given[before:] |= with_kept.counts > 0
            had = Matches(lefts.some(slice(before)), rights.some(old_right), first, last)
            given[:before] &= had.counts == 0
            yield from _shipped(_row(self.left, left.filter(pa.array(given))))
            return
        ways = ((with_new, 0, earlier), (with_kept, before, 0))
        for matches, from_left, from_right in ways:
            for mine, theirs in matches.pairs():
                yield from _shipped(
                    _beside(
                        _row(self.left, left.take(pa.array(mine + from_left))),
                        _row(self.right, right.take(pa.array(theirs + from_right))),
                    )
                )

    def _by_themselves(self, side: Side, rows: pa.Table) -> Iterator[pa.RecordBatch]:
        """Rows without a match, beside NULLs."""
        other = self.right if side is self.left else self.left
        nulls = pa.table(
            [pa.nulls(rows.num_rows, each.type) for each in other.schema], other.schema
        )
        mine = _row(side, rows)
        both = (mine, nulls) if side is self.left else (nulls, mine)
        yield from _shipped(_beside(*both))


@dataclass(frozen=True)
class _New:
    """Rows of one side that a task has seen in an entry."""

    rows: pa.Table
    """With their keys and times: what is kept."""
    alone: pa.Table
    """Those that match none, for a key of theirs is NULL."""
    late: int
    """How many came too late."""

    @classmethod
    def of(cls, side: Side, rows: pa.Table, watermark: int) -> _New:
        names = [key_name(place) for place in range(side.keys)]
        columns = [rows.column(name) for name in names]
        keys = kept_keys([together(column) for column in columns])
        of_row = rows.select(side.schema.names).cast(side.schema)
        times = rows.column(TIME)
        made = pa.table([*keys, times, *of_row.columns], [*names, TIME, *side.schema.names])
        if side.goes_by_time:
            made = made.filter(pc.greater(made.column(TIME), watermark))
        late = rows.num_rows - made.num_rows
        has_keys = pa.array(np.ones(made.num_rows, bool))
        for name in names:
            has_keys = pc.and_(has_keys, pc.is_valid(made.column(name)))
        return cls(made.filter(has_keys).combine_chunks(), made.filter(pc.invert(has_keys)), late)


def _keys(rows: pa.Table, keys: int) -> list[pa.Array]:
    return [together(rows.column(place)) for place in range(keys)]


def _placed(tables: Sequence[pa.Table], keys: int) -> list[Placed]:
    """Rows of several tables, with numbers of their keys that go for all of them."""
    columns = zip(*(_keys(table, keys) for table in tables), strict=True)
    of_all = [pa.concat_arrays(column) for column in columns]
    numbers = key_numbers(of_all, sum(table.num_rows for table in tables))
    placed, first = [], 0
    for table in tables:
        times: Numbers = np.asarray(table.column(keys)).astype(np.int64, copy=False)
        placed.append(Placed(numbers[first : first + table.num_rows], times))
        first += table.num_rows
    return placed


def _row(side: Side, rows: pa.Table) -> pa.Table:
    """The columns of a side's rows, without keys and times."""
    return rows.select(range(side.keys + 1, rows.num_columns))


def _beside(left: pa.Table, right: pa.Table) -> pa.Table:
    names = [*left.column_names, *right.column_names]
    return pa.table([*left.columns, *right.columns], names)


def _shipped(rows: pa.Table) -> Iterator[pa.RecordBatch]:
    if rows.num_rows:
        yield from rows.combine_chunks().to_batches(max_chunksize=_SHIPPED_ROWS)
