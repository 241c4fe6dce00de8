"""The files of a log of received payloads, for the one who writes them.

    segments        by the number of the first payload of each
    keys            what is remembered of those that were written last
    consumers       who has read how far

A segment goes when everybody has read it. What a crash has left behind the last whole group of the
newest one was acknowledged to nobody, and is cut off.
"""

from __future__ import annotations

import fcntl
import logging
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, NamedTuple

import pyarrow as pa

from narrows.connectors.received import segments
from narrows.connectors.received.consumers import Consumers
from narrows.connectors.received.keys import KEYS, RecentKeys
from narrows.connectors.received.segments import DamagedSegmentError, Group
from narrows.errors import Code, fail
from narrows.files.atomic import make_private, sweep, write_atomically

_LOG = logging.getLogger("narrows.sources")
_SEGMENT_BYTES = 64 << 20
_SEGMENTS = 8
"""So many segments has a log at least that has come to its limit: they go one by one."""
_LOCK = "lock"

Row = tuple[Any, ...]
"""A payload, and what the log keeps beside it, in the order of the log's columns."""

_sync = getattr(os, "fdatasync", os.fsync)  # macOS has no such thing


class NoRoom(NamedTuple):
    """Why payloads cannot be written at the moment."""

    reason: str
    is_full: bool
    """Is it the log that has no room? Else it is the disk, or whatever is wrong with that."""


@dataclass(frozen=True)
class LogLimits:
    sync_interval: float = 0.05
    """Seconds between two syncs, at least."""
    max_bytes: int = 4 << 30
    """Bytes of the whole log on the disk."""

    @property
    def segment_bytes(self) -> int:
        return min(_SEGMENT_BYTES, self.max_bytes // _SEGMENTS)


class LogFiles:
    """One thread writes; any thread may look, and remove what everybody has read."""

    def __init__(
        self, folder: Path, schema: pa.Schema, limits: LogLimits, remembers: Mapping[int, int]
    ) -> None:
        self._folder = folder
        self._limits = limits
        self._keys = RecentKeys(folder, remembers) if remembers else None
        self._schema = schema.append(pa.field(KEYS, pa.binary())) if remembers else schema
        self._consumers = Consumers(folder)
        self._guard = threading.RLock()
        """Guards everything below."""
        self._groups: list[Group] = []
        self._sizes: dict[int, int] = {}
        """The segments, and how many bytes each has."""
        self._next = 0
        """The number of the next payload that is written."""
        self._lock = self._take_lock()
        try:
            self._recover()
        except BaseException:
            self._lock.close()
            raise

    def groups(self) -> list[Group]:
        """What is on the disk."""
        with self._guard:
            return list(self._groups)

    def knows(self, key: bytes) -> bool:
        """Is there something with this key on the disk, or was until lately?"""
        with self._guard:
            return self._keys is not None and key in self._keys

    @property
    def remembers(self) -> bool:
        """Has every row a place for its key, behind its columns?"""
        return self._keys is not None

    def write(self, rows: Sequence[Row], keys: Sequence[bytes]) -> NoRoom | None:
        """Writes a group and syncs it; or why it cannot."""
        arrays = [
            pa.array(column, field.type)
            for column, field in zip(zip(*rows, strict=True), self._schema, strict=True)
        ]
        batch = pa.RecordBatch.from_arrays(arrays, schema=self._schema)
        size = sum(len(row[0]) for row in rows)
        data = segments.group_bytes(batch, self._next, size)
        try:
            if not self._has_room(len(data)):
                reason = (
                    "the log of what was received is full"
                    f" (`max_log_bytes` = {self._limits.max_bytes}): it waits for those who read it"
                )
                return NoRoom(reason, is_full=True)
            segment, end = self._place(len(data))
            self._put(data, end)
        except OSError as error:
            return NoRoom(f"`{self._folder}`: {error.strerror or error}", is_full=False)
        group = Group(segment, end, end + len(data), self._next, len(rows), size)
        with self._guard:
            self._next = group.end
            self._sizes[segment] = group.stop
            self._groups.append(group)
            if self._keys is not None:
                self._keys.add(keys)
        return None

    def retain(self) -> bool:
        """Removes the segments that everybody has read; were there any?"""
        passed = self._consumers.passed()
        if passed is None:
            return False
        with self._guard:
            gone = [first for first, end in pairwise(sorted(self._sizes)) if end <= passed]
            for first in gone:
                segments.segment_path(self._folder, first).unlink(missing_ok=True)
                del self._sizes[first]
            self._groups = [group for group in self._groups if group.segment not in gone]
        return bool(gone)

    def end_writing(self) -> None:
        os.close(self._file)

    def close(self) -> None:
        """Lets others write."""
        self._lock.close()

    # --- opening ----------------------------------------------------------------------------------

    def _take_lock(self) -> IO[str]:
        make_private(self._folder)
        file = (self._folder / _LOCK).open("a")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            message = f"somebody else writes what is received into `{self._folder}`"
            raise fail(
                Code.STATE_IN_USE, message, None, "run one process on a state folder"
            ) from None
        return file

    def _recover(self) -> None:
        """Finds what is there, and removes what a crash has left behind the last whole group."""
        sweep(self._folder)
        known = self._keys.load() if self._keys is not None else 0
        found = segments.segments_in(self._folder)
        for first in found[:-1]:
            self._groups += segments.listed_groups(self._folder, first)
            self._sizes[first] = segments.segment_path(self._folder, first).stat().st_size
        read = max(self._consumers.positions().values(), default=0)
        if not found:
            self._begin_segment(read)
            return
        fits = self._open_newest(found[-1])
        self._recall(known)
        if read > self._next or not fits:  # somebody has put back an older log, or one of old
            self._begin_segment(max(read, self._next))

    def _open_newest(self, first: int) -> bool:
        """Makes it ready to be written on; false if it has other columns."""
        path = segments.segment_path(self._folder, first)
        groups, end = segments.checked_groups(self._folder, first)
        length = path.stat().st_size
        if end == 0:
            raise fail(
                Code.UNREADABLE_FILE,
                f"what was received is damaged: `{path}` does not begin as it should",
                None,
                "restore the state folder from a backup, or move the file away: it is lost then",
            )
        if end < length:
            _LOG.warning("`%s`: the last %d bytes are of no whole group", path, length - end)
        self._file = os.open(path, os.O_WRONLY)
        os.ftruncate(self._file, end)
        os.fsync(self._file)
        self._groups += groups
        self._sizes[first] = end
        self._next = groups[-1].end if groups else first
        with path.open("rb") as file:
            return bool(segments.schema_in(file, first).equals(self._schema))

    def _recall(self, known: int) -> None:
        """Takes the keys of payloads from this number on, which are in no file of their own yet."""
        if self._keys is None:
            return
        for group in self._groups:
            if group.end > known:
                try:
                    batch = segments.read_batch(self._folder, group)
                except DamagedSegmentError:
                    continue  # whoever reads it says so
                if KEYS in batch.schema.names:
                    self._keys.add(batch.column(KEYS).drop_null().to_pylist())

    # --- segments ---------------------------------------------------------------------------------

    def _begin_segment(self, first: int) -> None:
        path = segments.segment_path(self._folder, first)
        head = segments.file_head(self._schema)
        if self._keys is not None:
            self._keys.save(first)  # older segments may go from now on
        write_atomically(path, head)
        opened = os.open(path, os.O_WRONLY)
        if self._sizes:
            os.close(self._file)
        with self._guard:
            self._file = opened
            self._sizes[first] = len(head)
            self._next = first

    def _has_room(self, size: int) -> bool:
        """Is there room for so many bytes, once what everybody has read is gone?"""
        if sum(self._sizes.values()) + size <= self._limits.max_bytes:
            return True
        if self._consumers.passed() == self._next and self._sizes.keys() != {self._next}:
            self._begin_segment(self._next)
        self.retain()
        held = sum(self._sizes.values())
        return held + size <= self._limits.max_bytes or self._sizes.keys() == {self._next}

    def _place(self, size: int) -> tuple[int, int]:
        """The segment for so many bytes, and where it ends."""
        newest = max(self._sizes)
        if self._next > newest and self._sizes[newest] + size > self._limits.segment_bytes:
            self._begin_segment(self._next)
            newest = self._next
        return newest, self._sizes[newest]

    def _put(self, data: bytes, at: int) -> None:
        """Writes behind what is there. What could not be written as a whole is written over."""
        rest = memoryview(data)
        while rest:
            count = os.pwrite(self._file, rest, at)
            rest, at = rest[count:], at + count
        _sync(self._file)
