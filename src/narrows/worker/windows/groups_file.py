"""Groups in an Arrow file, sorted by the buckets of their keys.

A key's groups are in the same bucket in all files, so a task that merges some buckets has all of
their groups, and no other task has any. Files are mapped into memory: what is in other buckets is
not looked at, but for the checksum.
"""

from __future__ import annotations

import mmap
import os
import uuid
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from narrows.arrow.key_hash import key_hashes
from narrows.errors import NarrowsError
from narrows.files.small import damaged
from narrows.projection.partial_aggregation import PartialAggregation
from narrows.worker.windows.cut import Cut, place_columns
from narrows.worker.windows.steps import SUFFIX, GroupsFile

BUCKETS = 64
_BUCKET = "bucket"
_WRITTEN_TOGETHER = 65_536
"""Rows: small batches would be many slices to put together again."""
_HINT = "restore the state folder from a backup, or start the pipeline anew: `narrows reset`"


class GroupsWriter:
    """Writes one file. Without a group there is none."""

    def __init__(self, folder: str, what: PartialAggregation, cut: Cut, level: int = 0) -> None:
        self._path = Path(folder) / f"{uuid.uuid4().hex}{SUFFIX}"
        self._what, self._cut, self._level = what, cut, level
        self._waiting: list[pa.Table] = []
        self._writer: Any = None
        self._rows = 0
        self._ends: list[tuple[int, int]] = []

    def add(self, groups: pa.Table | pa.RecordBatch) -> None:
        if isinstance(groups, pa.RecordBatch):
            groups = pa.Table.from_batches([groups])
        if groups.num_rows:
            self._waiting.append(groups)
        if sum(each.num_rows for each in self._waiting) >= _WRITTEN_TOGETHER:
            self._write()

    def _write(self) -> None:
        groups = pa.concat_tables(self._waiting).combine_chunks()
        self._waiting.clear()
        keys = [column.combine_chunks() for column in groups.columns[: len(self._what.keys)]]
        buckets = (key_hashes(keys, groups.num_rows) % np.uint64(BUCKETS)).astype(np.int8)
        if keys:
            order = np.argsort(buckets, kind="stable")
            groups, buckets = groups.take(pa.array(order)), buckets[order]
        filed = groups.append_column(_BUCKET, pa.array(buckets))
        if self._writer is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._writer = pa.ipc.new_file(pa.OSFile(str(self._path), "wb"), filed.schema)
        for batch in filed.combine_chunks().to_batches():
            self._writer.write_batch(batch)
        self._rows += groups.num_rows
        places = place_columns(self._what, self._cut.places, groups)
        self._ends.append((self._cut.first_end(places), self._cut.last_end(places)))

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
            self._path.name, self._rows, size, crc, min(first), max(last), self._level
        )


class OpenGroups:
    """The groups of some files."""

    def __init__(self, folder: str, files: Sequence[GroupsFile]) -> None:
        self._batches: list[tuple[pa.RecordBatch, np.ndarray]] = []
        """Each with the rows at which its buckets begin."""
        for file in files:
            for batch in _batches(Path(folder) / file.name, file):
                buckets = np.asarray(batch.column(batch.num_columns - 1))
                bounds = np.searchsorted(buckets, np.arange(BUCKETS + 1))
                self._batches.append((batch.select(range(batch.num_columns - 1)), bounds))

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

    def _rows(self, first: int, last: int) -> int:
        return sum(int(bounds[last] - bounds[first]) for _, bounds in self._batches)

    def _of(self, first: int, last: int) -> pa.Table:
        return pa.Table.from_batches(
            [
                batch.slice(bounds[first], bounds[last] - bounds[first])
                for batch, bounds in self._batches
                if bounds[last] > bounds[first]
            ]
        )


def _batches(path: Path, file: GroupsFile) -> list[pa.RecordBatch]:
    try:
        mapped = pa.memory_map(str(path))
        if mapped.size() != file.bytes:
            raise _damaged(path, f"it has {mapped.size()} bytes, and had {file.bytes}")
        if zlib.crc32(mapped.read_buffer()) != file.crc:
            raise _damaged(path, "it is not what was written")
        reader = pa.ipc.open_file(mapped)
        return [reader.get_batch(number) for number in range(reader.num_record_batches)]
    except (OSError, pa.ArrowInvalid) as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, reason: object) -> NarrowsError:
    return damaged(path, "the file with groups of open windows", reason, _HINT)
