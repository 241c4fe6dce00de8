"""The log of received payloads, for the one who writes it.

    log.append((payload, received_at, topic), ticket)       # returns at once
    ...                                                      # a moment later, in the log's thread:
    written, synced, and then: acknowledge([ticket, ...])

Whoever sends hears that a payload has arrived when it is on the disk, and not before: what is not
acknowledged is sent again. Payloads that come within `sync_interval` are written and synced
together.

**No room.** When the log has come to `max_bytes`, and when the disk is full, payloads wait in
memory, unacknowledged, until readers have caught up: a broker stops sending when too much is not
acknowledged. When too much waits, `append` itself waits. Nothing is dropped.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from narrows.connectors.received import segments
from narrows.connectors.received.consumers import Consumers
from narrows.connectors.received.segments import Group
from narrows.errors import Code, fail
from narrows.files.atomic import make_private, sweep, sync_folder, write_atomically

_LOG = logging.getLogger("narrows.sources")
_GROUP_BYTES = 4 << 20
"""Bytes that are worth a sync of their own."""
_WAITING_BYTES = 64 << 20
"""Bytes that may wait in memory before `append` waits, too."""
_SEGMENT_BYTES = 64 << 20
_SEGMENTS = 8
"""So many segments has a log at least that has come to its limit: they go one by one."""
_TRY_AGAIN = 1.0
"""Seconds after which a disk that has refused is asked again."""
_LOCK = "lock"

Row = tuple[Any, ...]
"""A payload, and what the log keeps beside it, in the order of the log's columns."""
Ticket = Any
"""What its sender knows a payload by."""

_sync = getattr(os, "fdatasync", os.fsync)  # macOS has no such thing

_OPEN: dict[Path, ReceivedLog] = {}
"""The logs that this process writes."""


@dataclass(frozen=True)
class LogLimits:
    sync_interval: float = 0.05
    """Seconds between two syncs, at least."""
    max_bytes: int = 4 << 30
    """Bytes of the whole log on the disk."""

    @property
    def segment_bytes(self) -> int:
        return min(_SEGMENT_BYTES, self.max_bytes // _SEGMENTS)


class ReceivedLog:
    """One that is open. It may be appended to by several threads."""

    def __init__(
        self,
        folder: Path,
        schema: pa.Schema,
        acknowledge: Callable[[Sequence[Ticket]], None],
        limits: LogLimits | None = None,
    ) -> None:
        """The first column of the schema is the payload, binary."""
        self._folder = folder
        self._schema = schema
        self._acknowledge = acknowledge
        self._limits = limits or LogLimits()
        self._consumers = Consumers(folder)
        self._changed = threading.Condition()
        """Guards everything below."""
        self._waiting: list[tuple[Row, Ticket]] = []
        self._waiting_bytes = 0
        self._groups: list[Group] = []
        self._sizes: dict[int, int] = {}
        """The segments, and how many bytes each has."""
        self._next = 0
        """The number of the next payload that is written."""
        self._problem: str | None = None
        self._closing = False
        self._lock = self._take_lock()
        try:
            self._recover()
        except BaseException:
            self._lock.close()
            raise
        self._thread = threading.Thread(target=self._run, name=f"log of {folder.name}", daemon=True)
        self._thread.start()
        _OPEN[folder.absolute()] = self

    # --- for whoever receives ---------------------------------------------------------------------

    def append(self, row: Row, ticket: Ticket) -> None:
        """Takes a payload. It is acknowledged when it is on the disk."""
        with self._changed:
            while self._waiting_bytes > _WAITING_BYTES and not self._closing:
                self._changed.wait()
            self._waiting.append((row, ticket))
            self._waiting_bytes += len(row[0])
            if len(self._waiting) == 1 or self._waiting_bytes > _GROUP_BYTES:
                self._changed.notify_all()

    def forget_waiting(self, is_sent_again: Callable[[Ticket], bool]) -> None:
        """Forgets what waits to be written, where its sender will send it again."""
        with self._changed:
            kept = [(row, ticket) for row, ticket in self._waiting if not is_sent_again(ticket)]
            self._waiting = kept
            self._waiting_bytes = _bytes(kept)
            self._changed.notify_all()

    @property
    def problem(self) -> str | None:
        """Why nothing can be written at the moment; None if it can."""
        return self._problem

    def close(self) -> None:
        """Writes what waits, if there is room: what is not acknowledged is sent again."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join()
        _OPEN.pop(self._folder.absolute(), None)
        self._lock.close()

    # --- for whoever reads ------------------------------------------------------------------------

    def groups(self) -> list[Group]:
        """What is on the disk."""
        with self._changed:
            return list(self._groups)

    def retain(self) -> None:
        """Removes the segments that everybody has read."""
        passed = self._consumers.passed()
        if passed is None:
            return
        with self._changed:
            gone = [first for first, end in pairwise(sorted(self._sizes)) if end <= passed]
            for first in gone:
                segments.segment_path(self._folder, first).unlink(missing_ok=True)
                del self._sizes[first]
            self._groups = [group for group in self._groups if group.segment not in gone]
            self._changed.notify_all()

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
        found = segments.segments_in(self._folder)
        for first in found[:-1]:
            self._groups += segments.listed_groups(self._folder, first)
            self._sizes[first] = segments.segment_path(self._folder, first).stat().st_size
        read = max(self._consumers.positions().values(), default=0)
        if not found:
            self._begin_segment(read)
            return
        self._open_newest(found[-1])
        if read > self._next:  # somebody has put back an older log
            self._begin_segment(read)

    def _open_newest(self, first: int) -> None:
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

    def _begin_segment(self, first: int) -> None:
        path = segments.segment_path(self._folder, first)
        head = segments.file_head(self._schema)
        write_atomically(path, head)
        opened = os.open(path, os.O_WRONLY)
        if self._sizes:
            os.close(self._file)
        with self._changed:
            self._file = opened
            self._sizes[first] = len(head)
            self._next = first

    # --- the thread -------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            self._write_groups()
        except Exception as error:  # nothing is acknowledged any more, and everybody sees why
            self._problem = f"what is received cannot be kept: {error}"
            _LOG.exception("%s", self._problem)
        finally:
            os.close(self._file)

    def _write_groups(self) -> None:
        synced = 0.0
        while (taken := self._take(synced)) is not None:
            problem = self._write(taken)
            synced = time.monotonic()
            if problem is None:
                self._acknowledge([ticket for _, ticket in taken])
            elif not self._give_back(taken, problem):
                return

    def _take(self, synced: float) -> list[tuple[Row, Ticket]] | None:
        """Waits for the payloads of the next group; None if there are no more."""
        with self._changed:
            while not self._waiting and not self._closing:
                self._changed.wait()
            while (
                not self._closing
                and self._waiting_bytes <= _GROUP_BYTES
                and (left := synced + self._limits.sync_interval - time.monotonic()) > 0
            ):
                self._changed.wait(left)
            if not self._waiting:
                return None if self._closing else []
            taken, self._waiting = self._waiting, []
            self._waiting_bytes = 0
            self._changed.notify_all()
            return taken

    def _give_back(self, taken: list[tuple[Row, Ticket]], problem: str) -> bool:
        """Has payloads wait that could not be written; false if nobody can wait any more."""
        with self._changed:
            self._waiting = [*taken, *self._waiting]
            self._waiting_bytes = _bytes(self._waiting)
            if self._problem is None:
                _LOG.warning("%s", problem)
            self._problem = problem
            if not self._closing:
                self._changed.wait(_TRY_AGAIN)
            return not self._closing

    def _write(self, taken: Sequence[tuple[Row, Ticket]]) -> str | None:
        """Writes a group and syncs it; or why it cannot."""
        if not taken:
            return None
        columns = zip(*(row for row, _ in taken), strict=True)
        arrays = [
            pa.array(column, field.type)
            for column, field in zip(columns, self._schema, strict=True)
        ]
        batch = pa.RecordBatch.from_arrays(arrays, schema=self._schema)
        size = _bytes(taken)
        data = segments.group_bytes(batch, self._next, size)
        try:
            if not self._has_room(len(data)):
                return (
                    "the log of what was received is full"
                    f" (`max_log_bytes` = {self._limits.max_bytes}): it waits for those who read it"
                )
            segment, end = self._place(len(data))
            self._put(data, end)
        except OSError as error:
            return f"`{self._folder}`: {error.strerror or error}"
        group = Group(segment, end, end + len(data), self._next, len(taken), size)
        with self._changed:
            self._next = group.end
            self._sizes[segment] = group.stop
            self._groups.append(group)
            self._problem = None
        return None

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


def _bytes(items: Sequence[tuple[Row, Ticket]]) -> int:
    return sum(len(row[0]) for row, _ in items)


def groups_in(folder: Path) -> list[Group]:
    """What a log has on the disk, whether somebody writes it or not. Where payloads are missing
    that were there, a group of no bytes stands for them."""
    log = _OPEN.get(folder.absolute())
    return _with_gaps(log.groups() if log is not None else _closed_groups(folder))


def retain(folder: Path) -> None:
    """Removes what everybody has read, if this process writes the log; else whoever opens it
    next does so, with its first reader that comes on."""
    log = _OPEN.get(folder.absolute())
    if log is not None:
        log.retain()


def _closed_groups(folder: Path) -> list[Group]:
    found = segments.segments_in(folder)
    groups: list[Group] = []
    for first in found:
        with contextlib.suppress(FileNotFoundError):  # read by everybody, and removed meanwhile
            if first == found[-1]:
                _make_durable(folder, first)
                groups += segments.checked_groups(folder, first)[0]
            else:
                groups += segments.listed_groups(folder, first)
    return groups


def _make_durable(folder: Path, first: int) -> None:
    """What is taken into an entry must not be gone after a power cut."""
    descriptor = os.open(segments.segment_path(folder, first), os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    sync_folder(folder)


def _with_gaps(groups: Sequence[Group]) -> list[Group]:
    whole: list[Group] = []
    for group in groups:
        if whole and whole[-1].end < group.first:
            last = whole[-1]
            missing = group.first - last.end
            whole.append(Group(last.segment, 0, 0, last.end, missing, 0))
        whole.append(group)
    return whole
