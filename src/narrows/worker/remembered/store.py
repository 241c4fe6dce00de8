"""What is kept of each key: files in which the newest one that has a key is right.

    groups/ab12.arrow      key0 ...   due: BIGINT   kept: BINARY      sorted by the hash of the keys

A task writes what the keys of its rows have come to, into a file of its own. Whoever wants to know
what is kept of some keys looks for them in all files, from the oldest to the newest; so files are
merged before they get many (`Merge`), those of one size with each other. A key is *due* at the time
at which something happens to what is kept of it, though no row comes; most never are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from narrows.arrow.key_hash import key_hashes, key_numbers
from narrows.worker.keeping.groups_file import GroupsWriter, OpenGroups, share_of_buckets
from narrows.worker.keeping.steps import GroupsFile, StepLog

_DUE, _KEPT = "due", "kept"
NEVER = 2**63 - 1
_MERGED_TOGETHER = 250_000


def find_kept(
    folder: str | Path, files: Sequence[GroupsFile], keys: Sequence[pa.Array]
) -> list[bytes | None]:
    """What is kept of each key; None: nothing."""
    wanted = len(keys[0])
    groups = OpenGroups(StepLog(folder).groups, files)
    parts = [part for part in groups.having(key_hashes(keys, wanted)) if part.num_rows]
    if not parts:
        return [None] * wanted
    *columns, _, held = pa.concat_tables(parts).columns
    both = [pa.concat_arrays([*old.chunks, new]) for old, new in zip(columns, keys, strict=True)]
    numbers = key_numbers(both, len(held) + wanted)
    newest = np.full(len(numbers), -1)
    newest[numbers[: len(held)]] = np.arange(len(held))  # the last one stays
    places = newest[numbers[len(held) :]]
    kept: list[bytes | None] = held.take(pa.array(places, mask=places < 0)).to_pylist()
    return kept


def write_kept(
    folder: str | Path,
    keys: Sequence[pa.Array],
    kept: Sequence[bytes | None],
    due: Sequence[int | None],
) -> GroupsFile | None:
    """Keeps this of each key, in place of what was kept before; None of a key: nothing more. Times
    at which keys are due are microseconds."""
    names = [f"key{place}" for place in range(len(keys))]
    times = pa.array([NEVER if time is None else time for time in due], pa.int64())
    writer = _writer(folder, len(keys))
    writer.add(pa.table([*keys, times, pa.array(kept, pa.binary())], [*names, _DUE, _KEPT]))
    return writer.finish()


@dataclass(frozen=True)
class KeptKeys:
    """What is kept in a place, in the eyes of whoever looks after its files."""

    folder: str

    def alive(self, files: Sequence[GroupsFile], until: int) -> Sequence[GroupsFile]:
        return files

    def merged(
        self, files: tuple[GroupsFile, ...], level: int, number: int, *, until: int, whole: bool
    ) -> Merge:
        return Merge(self.folder, files, level, number, forgets=whole)


@dataclass(frozen=True)
class Merge:
    """Files that become one for each task."""

    folder: str
    files: tuple[GroupsFile, ...]
    """In the order in which they were written."""
    level: int
    number: int
    """Of the step in which that is done."""
    forgets: bool
    """Has no older file anything of a key of which nothing is kept any more?"""

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    def run(self, task: int, tasks: int) -> GroupsFile | None:
        """What one of so many tasks makes of its share of the keys."""
        writer: GroupsWriter | None = None
        for found in OpenGroups(StepLog(self.folder).groups, self.files).some(
            share_of_buckets(task, tasks), _MERGED_TOGETHER
        ):
            newest = newest_kept(found)
            if self.forgets:
                newest = newest.filter(newest.column(_KEPT).is_valid())
            keys = found.num_columns - 2
            writer = writer or _writer(self.folder, keys, self.level, self.number)
            writer.add(newest)
        return None if writer is None else writer.finish()


def all_kept(
    folder: str | Path, files: Sequence[GroupsFile], task: int, tasks: int, until: int | None
) -> Iterator[tuple[list[pa.Array], list[bytes]]]:
    """Keys of which something is kept, and what: the share that one of so many tasks has. Only
    those that are due until then, or all."""
    groups = OpenGroups(StepLog(folder).groups, files)
    for found in groups.some(share_of_buckets(task, tasks), _MERGED_TOGETHER):
        newest = newest_kept(found)
        newest = newest.filter(newest.column(_KEPT).is_valid())
        if until is not None:
            newest = newest.filter(pc.less_equal(newest.column(_DUE), until))
        *keys, _, kept = (column.combine_chunks() for column in newest.columns)
        yield keys, kept.to_pylist()


def newest_kept(rows: pa.Table) -> pa.Table:
    """The last row of each key."""
    names = rows.column_names[:-2]
    numbered = rows.select(names).append_column("row", pa.array(np.arange(rows.num_rows)))
    newest = numbered.group_by(names, use_threads=False).aggregate([("row", "max")])
    return rows.take(newest.column("row_max"))


def _writer(folder: str | Path, keys: int, level: int = 0, made: int = 0) -> GroupsWriter:
    return GroupsWriter(StepLog(folder).groups, keys, _ends, level, searched=True, made=made)


def _ends(rows: pa.Table) -> tuple[int, int]:
    """When the first of the keys is due, and when the last one is."""
    times = pc.min_max(rows.column(_DUE))
    return times["min"].as_py(), times["max"].as_py()
