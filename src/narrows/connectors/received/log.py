"""The log of received payloads, for the one who writes it.

    log.append((payload, received_at, topic), ticket)       # returns at once
    ...                                                      # a moment later, in the log's thread:
    written, synced, and then: acknowledge([ticket, ...])

Whoever sends hears that a payload has arrived when it is on the disk, and not before: what is not
acknowledged is sent again. Payloads that come within `sync_interval` are written and synced
together.

**No room.** When the log has come to `max_bytes`, and when the disk is full, payloads wait in
memory, unacknowledged, until readers have caught up: a broker stops sending when too much is not
acknowledged. When too much waits, `append` itself waits. Nothing is dropped. Where senders can be
told (`refuse`), they are told instead, and nothing waits.

**Keys.** A log may remember the last keys of what it has written (`keys.py`): of requests, so that
one that is sent again is known, and of payloads (`identify`), so that one that comes again is left
out, and acknowledged. They stand beside the payloads: what is on the disk is known, always.
"""

from __future__ import annotations

import fcntl
import logging
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
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
Identify = Callable[[Sequence[bytes]], Sequence[bytes | None]]
"""For each payload what tells it from others; None for one that is never the same as another."""

_sync = getattr(os, "fdatasync", os.fsync)  # macOS has no such thing

_OPEN: dict[Path, ReceivedLog] = {}
"""The logs that this process writes."""


class NoRoom(NamedTuple):
    """Why payloads cannot be written at the moment."""

    reason: str
    is_full: bool
    """Is it the log that has no room? Else it is the disk, or whatever is wrong with that."""


class _Item(NamedTuple):
    """A payload that waits to be written."""

    row: Row
    ticket: Ticket
    key: bytes | None = None
    is_new: bool = False
    """Is it to be written although there is another with its id?"""


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
        *,
        remembers: Mapping[int, int] | None = None,
        identify: Identify | None = None,
        refuse: Callable[[Sequence[Ticket], NoRoom], None] | None = None,
    ) -> None:
        """The first column of the schema is the payload, binary. `remembers` is how many keys
        of each kind, `identify` what finds those of payloads."""
        self._folder = folder
        self._keys = RecentKeys(folder, remembers) if remembers else None
        self._schema = schema.append(pa.field(KEYS, pa.binary())) if remembers else schema
        self._acknowledge = acknowledge
        self._identify = identify
        self._refuse = refuse
        self._limits = limits or LogLimits()
        self._consumers = Consumers(folder)
        self._changed = threading.Condition()
        """Guards everything below."""
        self._waiting: list[_Item] = []
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
            self._waiting.append(_Item(row, ticket))
            self._waiting_bytes += len(row[0])
            if len(self._waiting) == 1 or self._waiting_bytes > _GROUP_BYTES:
                self._changed.notify_all()

    def append_together(
        self, rows: Sequence[Row], ticket: Ticket, key: bytes | None, *, are_new: bool = False
    ) -> bool:
        """Takes payloads that are written together, or not at all, and are acknowledged by one
        ticket; false if too much waits already, or the log is closed. The key is that of all."""
        with self._changed:
            if self._waiting_bytes > _WAITING_BYTES or self._closing:
                return False
            self._waiting.append(_Item(rows[0], ticket, key, are_new))
            self._waiting += [_Item(row, ticket, None, are_new) for row in rows[1:]]
            self._waiting_bytes += sum(len(row[0]) for row in rows)
            self._changed.notify_all()
            return True

    def knows(self, key: bytes) -> bool:
        """Is there something with this key on the disk, or was until lately?"""
        with self._changed:
            return self._keys is not None and key in self._keys

    def forget_waiting(self, is_sent_again: Callable[[Ticket], bool]) -> None:
        """Forgets what waits to be written, where its sender will send it again."""
        with self._changed:
            kept = [item for item in self._waiting if not is_sent_again(item.ticket)]
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
            if gone and self._refuse is not None:
                self._problem = None  # who was refused does not wait here to try again
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

    def _begin_segment(self, first: int) -> None:
        path = segments.segment_path(self._folder, first)
        head = segments.file_head(self._schema)
        if self._keys is not None:
            self._keys.save(first)  # older segments may go from now on
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
            self._end()
            os.close(self._file)

    def _end(self) -> None:
        """Nothing is written any more: whoever waits for that and can be told, is."""
        if self._refuse is not None:
            with self._changed:
                self._closing = True
                left, self._waiting = self._waiting, []
            self._refuse(_tickets(left), NoRoom(self._problem or "it is closed", is_full=False))

    def _write_groups(self) -> None:
        synced = 0.0
        while (taken := self._take(synced)) is not None:
            problem = self._write(taken)
            synced = time.monotonic()
            if problem is None:
                self._acknowledge(_tickets(taken))
                continue
            self._has_problem(problem.reason)
            if self._refuse is not None:
                self._refuse(_tickets(taken), problem)
            elif not self._give_back(taken):
                return

    def _take(self, synced: float) -> list[_Item] | None:
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

    def _has_problem(self, problem: str) -> None:
        if self._problem is None:
            _LOG.warning("%s", problem)
        self._problem = problem

    def _give_back(self, taken: list[_Item]) -> bool:
        """Has payloads wait that could not be written; false if nobody can wait any more."""
        with self._changed:
            self._waiting = [*taken, *self._waiting]
            self._waiting_bytes = _bytes(self._waiting)
            if not self._closing:
                self._changed.wait(_TRY_AGAIN)
            return not self._closing

    def _write(self, taken: Sequence[_Item]) -> NoRoom | None:
        """Writes a group and syncs it; or why it cannot."""
        rows, keys = self._new(taken)
        if not rows:
            return None
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
        with self._changed:
            self._next = group.end
            self._sizes[segment] = group.stop
            self._groups.append(group)
            if self._keys is not None:
                self._keys.add(keys)
            self._problem = None
        return None

    def _new(self, taken: Sequence[_Item]) -> tuple[list[Row], list[bytes]]:
        """The rows to write, without payloads that are known, and the keys that come with them."""
        if self._keys is None:
            return [item.row for item in taken], []
        ids: Sequence[bytes | None] = [None] * len(taken)
        if self._identify is not None:
            ids = self._identify([item.row[0] for item in taken])
        rows, keys, seen = list[Row](), list[bytes](), set[bytes]()
        owner, key = None, None  # a key is that of the first payload with its ticket that is new
        for item, found in zip(taken, ids, strict=True):
            if item.ticket is not owner:
                owner, key = item.ticket, item.key
            if found is not None:
                if not item.is_new and (found in seen or found in self._keys):
                    continue
                seen.add(found)
            mine = (key or b"") + (found or b"")
            rows.append((*item.row, mine or None))
            if mine:
                keys.append(mine)
            key = None
        return rows, keys

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


def _bytes(items: Sequence[_Item]) -> int:
    return sum(len(item.row[0]) for item in items)


def _tickets(items: Sequence[_Item]) -> list[Ticket]:
    return [item.ticket for item in items]


def open_log(folder: Path) -> ReceivedLog | None:
    """The log of a folder, if this process writes it."""
    return _OPEN.get(folder.absolute())
