"""The log of received payloads against crashes, torn writes, readers and a small disk.

Payloads are numbered as they are sent, and what was not acknowledged is sent again after a crash,
as a broker would do it. The log knows payloads that come again. So whatever happens, the payload
with the number n is written once and stands at place n: nothing that was acknowledged is missing,
nothing is there twice, and the order is that in which it was sent.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from narrows.connectors.received import segments
from narrows.connectors.received.consumers import Consumers
from narrows.connectors.received.keys import ID, key_of
from narrows.connectors.received.log import ReceivedLog
from narrows.connectors.received.log_files import LogLimits, NoRoom
from support.received import SCHEMA, payloads_in
from support.waiting import DEADLINE

LIMITS = LogLimits(sync_interval=0.0, max_bytes=6_000)
READERS = ("one", "other")


def payload(number: int) -> bytes:
    return b"%06d" % number + b"x" * (number * 7919 % 400)


def ids(payloads: Sequence[bytes]) -> list[bytes | None]:
    return [key_of(ID, found) for found in payloads]


class StoppableLog(ReceivedLog):
    """One whose disk can be looked at between two writes."""

    writing = threading.Lock()

    def _write(self, taken: Sequence[Any]) -> NoRoom | None:
        with self.writing:
            return super()._write(taken)


class LogMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self._root = Path(tempfile.mkdtemp(prefix="narrows-log-"))
        self._lives = 0
        self._folder = self._root / "0"
        self._sent = 0
        self._acknowledged = 0
        self._changed = threading.Condition()
        self._positions = dict.fromkeys(READERS, 0)

    def teardown(self) -> None:
        self._log.close()
        shutil.rmtree(self._root)

    # --- the log ----------------------------------------------------------------------------------

    @initialize()
    def begin(self) -> None:
        for name in READERS:
            Consumers(self._folder).begin(name, 0)
        self._open()

    def _open(self) -> None:
        """Who sends hears of this life alone."""
        life = self._lives = self._lives + 1

        def heard(numbers: Sequence[int]) -> None:
            with self._changed:
                if life == self._lives:
                    for number in numbers:  # those that come again were acknowledged before
                        assert number <= self._acknowledged
                        self._acknowledged = max(self._acknowledged, number + 1)
                    self._changed.notify_all()

        self._log = StoppableLog(
            self._folder, SCHEMA, heard, LIMITS, remembers={ID: 10_000}, identify=ids
        )
        for number in range(self._acknowledged, self._sent):
            self._log.append([(payload(number), "me")], [number])

    def _settle(self) -> None:
        """Waits until all is acknowledged, or something is in the way."""

        deadline = time.monotonic() + DEADLINE
        with self._changed:
            while self._acknowledged < self._sent and self._log.problem is None:
                assert time.monotonic() < deadline
                self._changed.wait(0.01)  # nobody says when there is a problem

    # --- what happens -----------------------------------------------------------------------------

    @rule(count=st.integers(1, 8), waits=st.booleans())
    def send(self, count: int, waits: bool) -> None:
        for number in range(self._sent, self._sent + count):
            self._log.append([(payload(number), "me")], [number])
        self._sent += count
        if waits:
            self._settle()

    @rule(back=st.integers(1, 5))
    def send_again(self, back: int) -> None:
        for number in range(max(0, self._acknowledged - back), self._acknowledged):
            self._log.append([(payload(number), "me")], [number])

    @rule(name=st.sampled_from(READERS), count=st.integers(1, 12))
    def read(self, name: str, count: int) -> None:
        """A reader comes on, and what both have read may go."""
        self._settle()
        position = self._positions[name]
        found = payloads_in(self._folder, since=position)
        there = [number for number in sorted(found) if number >= position][:count]
        assert there == list(range(position, position + len(there)))
        self._positions[name] += len(there)
        Consumers(self._folder).advance(name, self._positions[name])
        self._log.retain()

    @rule()
    def restart(self) -> None:
        self._log.close()
        self._open()

    @rule(torn=st.integers(0, 10_000), garbage=st.binary(max_size=40))
    def crash(self, torn: int, garbage: bytes) -> None:
        """All that is left is what is on the disk, with a part of the next write behind it."""
        with self._changed:
            self._lives += 1  # nothing that is heard from now on counts
        left = self._root / str(self._lives)
        with StoppableLog.writing:
            shutil.copytree(self._folder, left)
        self._log.close()
        self._folder = left
        newest = segments.segment_path(left, segments.segments_in(left)[-1])
        write = segments.group_bytes(_group(), 1 << 40, 1)
        with newest.open("ab") as file:
            file.write(write[: torn % len(write)] + garbage)
        self._open()

    # --- what must hold ---------------------------------------------------------------------------

    @invariant()
    def nothing_is_lost(self) -> None:
        if not self._lives:
            return
        with self._changed:
            acknowledged = self._acknowledged
        unread = min(self._positions.values())
        found = payloads_in(self._folder, since=unread)
        assert all(text == payload(number) for number, text in found.items())
        assert set(range(unread, acknowledged)) <= set(found)
        with StoppableLog.writing:  # which removes what is read, and may do so behind the listing
            sizes = [each.stat().st_size for each in self._folder.glob("*.received")]
        assert sum(sizes) < 8_000


def _group() -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [pa.array([b"never acknowledged"], pa.binary()), pa.array(["me"])], schema=SCHEMA
    )


TestReceivedLog = LogMachine.TestCase
TestReceivedLog.settings = settings(max_examples=15, stateful_step_count=25, deadline=None)
