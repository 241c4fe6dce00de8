"""The log of received payloads, for the one who writes it.

    log.append([(payload, received_at, topic)], [ticket])   # returns at once
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

import logging
import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from narrows.connectors.received.log_files import LogFiles, LogLimits, NoRoom, Row
from narrows.connectors.received.segments import Group

_LOG = logging.getLogger("narrows.sources")
_GROUP_BYTES = 4 << 20
"""Bytes that are worth a sync of their own."""
_WAITING_BYTES = 64 << 20
"""Bytes that may wait in memory before `append` waits, too."""
_TRY_AGAIN = 1.0
"""Seconds after which a disk that has refused is asked again."""

Ticket = Any
"""What its sender knows a payload by."""
Identify = Callable[[Sequence[bytes]], Sequence[bytes | None]]
"""For each payload what tells it from others; None for one that is never the same as another."""

_OPEN: dict[Path, ReceivedLog] = {}
"""The logs that this process writes."""


class _Item(NamedTuple):
    """A payload that waits to be written."""

    row: Row
    ticket: Ticket
    key: bytes | None = None
    is_new: bool = False
    """Is it to be written although there is another with its id?"""


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
        self._acknowledge = acknowledge
        self._identify = identify
        self._refuse = refuse
        self._limits = limits or LogLimits()
        self._files = LogFiles(folder, schema, self._limits, remembers or {})
        self._changed = threading.Condition()
        """Guards everything below."""
        self._waiting: list[_Item] = []
        self._waiting_bytes = 0
        self._problem: str | None = None
        self._closing = False
        self._thread = threading.Thread(target=self._run, name=f"log of {folder.name}", daemon=True)
        self._thread.start()
        _OPEN[folder.absolute()] = self

    # --- for whoever receives ---------------------------------------------------------------------

    def append(self, rows: Sequence[Row], tickets: Sequence[Ticket]) -> None:
        """Takes payloads, at least one. Each is acknowledged when it is on the disk."""
        items = [_Item(row, ticket) for row, ticket in zip(rows, tickets, strict=True)]
        with self._changed:
            while self._waiting_bytes > _WAITING_BYTES and not self._closing:
                self._changed.wait()
            begins = not self._waiting
            self._waiting += items
            self._waiting_bytes += _bytes(items)
            if begins or self._waiting_bytes > _GROUP_BYTES:
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
        return self._files.knows(key)

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
        self._files.close()

    # --- for whoever reads ------------------------------------------------------------------------

    def groups(self) -> list[Group]:
        """What is on the disk."""
        return self._files.groups()

    def retain(self) -> None:
        """Removes the segments that everybody has read."""
        gone = self._files.retain()
        with self._changed:
            if gone and self._refuse is not None:
                self._problem = None  # who was refused does not wait here to try again
            self._changed.notify_all()

    # --- the thread -------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            self._write_groups()
        except Exception as error:  # nothing is acknowledged any more, and everybody sees why
            self._problem = f"what is received cannot be kept: {error}"
            _LOG.exception("%s", self._problem)
        finally:
            self._end()
            self._files.end_writing()

    def _end(self) -> None:
        """Nothing is written any more: whoever waits for that and can be told, is."""
        if self._refuse is not None:
            with self._changed:
                self._closing = True
                left, self._waiting = self._waiting, []
            self._refuse(_tickets(left), NoRoom(self._problem or "it is closed", is_full=False))

    def _write_groups(self) -> None:
        synced = -math.inf  # and not 0: a machine that has just been started is not far from that
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
        """Writes what is new; or why it cannot."""
        rows, keys = self._new(taken)
        problem = self._files.write(rows, keys) if rows else None
        if rows and problem is None:
            self._problem = None
        return problem

    def _new(self, taken: Sequence[_Item]) -> tuple[list[Row], list[bytes]]:
        """The rows to write, without payloads that are known, and the keys that come with them."""
        if not self._files.remembers:
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
                if not item.is_new and (found in seen or self._files.knows(found)):
                    continue
                seen.add(found)
            mine = (key or b"") + (found or b"")
            rows.append((*item.row, mine or None))
            if mine:
                keys.append(mine)
            key = None
        return rows, keys


def _bytes(items: Sequence[_Item]) -> int:
    return sum(len(item.row[0]) for item in items)


def _tickets(items: Sequence[_Item]) -> list[Ticket]:
    return [item.ticket for item in items]


def open_log(folder: Path) -> ReceivedLog | None:
    """The log of a folder, if this process writes it."""
    return _OPEN.get(folder.absolute())
