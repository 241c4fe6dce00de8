"""Groups in an Arrow file, sorted by the buckets of their keys.

A key's groups are in the same bucket in all files, so a task that merges some buckets has all of
their groups, and no other task has any. Files are mapped into memory: what is in other buckets is
not looked at, but for the checksum.

Where few keys are looked for among many, a file is sorted by all bits of their numbers, and not by
buckets alone: such a file is *searched*, and its checksum is looked at once in each process.
"""

from __future__ import annotations

import mmap
import os
import uuid
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from narrows.arrow.key_hash import key_hashes
from narrows.errors import NarrowsError
from narrows.files.small import damaged
from narrows.worker.keeping.steps import SUFFIX, GroupsFile

BUCKETS = 64
_BUCKET_BITS = np.uint64(6)
_OTHER_BITS = np.uint64(58)
_BUCKET = "bucket"
_WRITTEN_TOGETHER = 65_536
"""Rows: small batches would be many slices to put together again."""
_WRITTEN_BYTES = 32 << 20
"""Or so much of them: rows may be long."""
_HINT = "restore the state folder from a backup, or start the pipeline anew: `narrows reset`"


EndsOf: TypeAlias = Callable[[pa.Table], tuple[int, int]]
"""When the first window is over that some groups are in, and when the last one is."""
_Numbers: TypeAlias = npt.NDArray[np.uint64]


class GroupsWriter:
    """Writes one file. Without a group there is none."""

    def __init__(
        self,
        folder: str,
        keys: int,
        ends: EndsOf,
        level: int = 0,
        *,
        searched: bool = False,
        made: int = 0,
    ) -> None:
        """Of groups whose first so many columns are keys; `made` is the step, if it merges."""
        self._path = Path(folder) / f"{uuid.uuid4().hex}{SUFFIX}"
        self._keys, self._ends_of, self._level = keys, ends, level
        self._searched, self._made = searched, made
        self._waiting: list[pa.Table] = []
        self._writer: Any = None
        self._rows = 0
        self._ends: list[tuple[int, int]] = []

    def add(self, groups: pa.Table | pa.RecordBatch) -> None:
        if isinstance(groups, pa.RecordBatch):
            groups = pa.Table.from_batches([groups])
        if groups.num_rows:
            self._waiting.append(groups)
        if (
            sum(each.num_rows for each in self._waiting) >= _WRITTEN_TOGETHER
            or sum(each.nbytes for each in self._waiting) >= _WRITTEN_BYTES
        ):
            self._write()

    def _write(self) -> None:
        groups = pa.concat_tables(self._waiting).combine_chunks()
        self._waiting.clear()
        keys = [column.combine_chunks() for column in groups.columns[: self._keys]]
        hashes = key_hashes(keys, groups.num_rows)
        sorted_by = _bucket_first(hashes) if self._searched else _buckets(hashes)
        if keys:
            order = np.argsort(sorted_by, kind="stable")
            groups, sorted_by = groups.take(pa.array(order)), sorted_by[order]
        filed = groups.append_column(_BUCKET, pa.array(sorted_by))
        if self._writer is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._writer = pa.ipc.new_file(pa.OSFile(str(self._path), "wb"), filed.schema)
        for batch in filed.combine_chunks().to_batches():
            self._writer.write_batch(batch)
        self._rows += groups.num_rows
        self._ends.append(self._ends_of(groups))

    def finish(self) -> GroupsFile | None:
        """What is on the disk; None when there were no groups."""
        if self._waiting:
            self._write()
        if self._writer is None:
            return None
        self._writer.close()
        with self._path.open("rb") as written:
            os.fsync(written.fileno())
            size = os.fstat(written.fileno()).st_size
            with mmap.mmap(written.fileno(), 0, access=mmap.ACCESS_READ) as content:
                crc = zlib.crc32(content)
        first, last = zip(*self._ends, strict=True)
        return GroupsFile(
            self._path.name,
            self._rows,
            size,
            crc,
            min(first),
            max(last),
            self._level,
            self._searched,
            self._made,
        )


class _Batch:
    """Groups that are sorted, of some file."""

    def __init__(self, filed: pa.RecordBatch) -> None:
        self.groups = filed.select(range(filed.num_columns - 1))
        self._sorted_by = np.asarray(filed.column(filed.num_columns - 1))

    @cached_property
    def bounds(self) -> list[int]:
        """The rows at which buckets begin."""
        buckets = np.arange(BUCKETS)
        firsts = buckets.astype(np.uint64) << _OTHER_BITS if self.is_searched else buckets
        return [*np.searchsorted(self._sorted_by, firsts), len(self._sorted_by)]

    @property
    def is_searched(self) -> bool:
        return bool(self._sorted_by.dtype == np.uint64)

    def having(self, wanted: _Numbers) -> pa.RecordBatch:
        """The groups of keys with these numbers, which are in order."""
        if len(wanted) > len(self._sorted_by):  # fewer are looked for the other way round
            places = np.searchsorted(wanted, self._sorted_by)
            found = wanted[np.minimum(places, len(wanted) - 1)] == self._sorted_by
            return self.groups.filter(pa.array(found))
        first = np.searchsorted(self._sorted_by, wanted, "left")
        counts = np.searchsorted(self._sorted_by, wanted, "right") - first
        before = np.cumsum(counts) - counts
        rows = np.repeat(first - before, counts) + np.arange(counts.sum())
        return self.groups.take(pa.array(rows))


class OpenGroups:
    """The groups of some files."""

    def __init__(self, folder: str, files: Sequence[GroupsFile]) -> None:
        self._files = [[*map(_Batch, _batches(Path(folder) / f.name, f))] for f in files]
        self._batches = [batch for batches in self._files for batch in batches]

    def having(self, hashes: _Numbers) -> list[pa.Table]:
        """What each file has of keys with such numbers (`key_hashes`); where two keys have the
        same number, it is what it has of both."""
        wanted = np.unique(_bucket_first(hashes))
        return [
            pa.Table.from_batches([batch.having(wanted) for batch in file]) for file in self._files
        ]

    def some(self, buckets: range, most_rows: int) -> Iterator[pa.Table]:
        """The groups of these buckets: of as many of them at once as have so many rows."""
        first = buckets.start
        while first < buckets.stop:
            last = first + 1
            while last < buckets.stop and self._rows(first, last + 1) <= most_rows:
                last += 1
            if self._rows(first, last):
                yield self._of(first, last)
            first = last

    def each(self) -> Iterator[pa.Table]:
        """All groups, as they stand in the files: those of a key come several times."""
        return (pa.Table.from_batches([batch.groups]) for batch in self._batches)

    def _rows(self, first: int, last: int) -> int:
        return sum(int(batch.bounds[last] - batch.bounds[first]) for batch in self._batches)

    def _of(self, first: int, last: int) -> pa.Table:
        return pa.Table.from_batches(
            [
                batch.groups.slice(batch.bounds[first], batch.bounds[last] - batch.bounds[first])
                for batch in self._batches
                if batch.bounds[last] > batch.bounds[first]
            ]
        )


def share_of_buckets(task: int, tasks: int) -> range:
    """The buckets that one of so many tasks has."""
    return range(BUCKETS * task // tasks, BUCKETS * (task + 1) // tasks)


def _buckets(hashes: _Numbers) -> npt.NDArray[np.int8]:
    return (hashes % np.uint64(BUCKETS)).astype(np.int8)


def _bucket_first(hashes: _Numbers) -> _Numbers:
    """The same numbers in another order: by buckets, then by the rest of their bits."""
    return (hashes << _OTHER_BITS) | (hashes >> _BUCKET_BITS)


def _batches(path: Path, file: GroupsFile) -> list[pa.RecordBatch]:
    try:
        mapped = pa.memory_map(str(path))
        if mapped.size() != file.bytes:
            raise _damaged(path, f"it has {mapped.size()} bytes, and had {file.bytes}")
        seen = _Seen.of(path, file) if file.searched else None
        if seen is None or seen not in _seen_right:
            if zlib.crc32(mapped.read_buffer()) != file.crc:
                raise _damaged(path, "it is not what was written")
            if seen is not None:
                _remember_right(seen)
        reader = pa.ipc.open_file(mapped)
        return [reader.get_batch(number) for number in range(reader.num_record_batches)]
    except (OSError, pa.ArrowInvalid) as error:
        raise _damaged(path, error) from error


class _Seen(NamedTuple):
    """A file as it was: whoever writes it anew, as from a backup, has another one."""

    path: Path
    crc: int
    written: int
    number: int

    @classmethod
    def of(cls, path: Path, file: GroupsFile) -> _Seen:
        status = path.stat()
        return cls(path, file.crc, status.st_mtime_ns, status.st_ino)


_seen_right: dict[_Seen, None] = {}
"""Searched files that this process has looked at as a whole: to do so for each few keys would take
as long as reading all of them."""
_SEEN_MOST = 4_096


def _remember_right(seen: _Seen) -> None:
    while len(_seen_right) >= _SEEN_MOST:
        del _seen_right[next(iter(_seen_right))]
    _seen_right[seen] = None


def _damaged(path: Path, reason: object) -> NarrowsError:
    return damaged(path, "the file with groups", reason, _HINT)
