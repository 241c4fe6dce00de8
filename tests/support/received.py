"""A log of received payloads for tests: what it holds, and what was acknowledged."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from narrows.connectors.received import segments
from narrows.connectors.received.contents import groups_in
from narrows.connectors.received.log import ReceivedLog
from narrows.connectors.received.log_files import LogLimits
from narrows.connectors.received.segments import PAYLOAD

DEADLINE = 60.0
SCHEMA = pa.schema([(PAYLOAD, pa.binary()), ("sender", pa.string())])
QUICK = LogLimits(sync_interval=0.0)


class Sender:
    """Sends payloads into a log, and hears what is acknowledged. Tickets are the payloads."""

    def __init__(self, folder: Path, limits: LogLimits = QUICK, **more: Any) -> None:
        self.folder = folder
        self.acknowledged: list[bytes] = []
        self._changed = threading.Condition()
        self.log = ReceivedLog(folder, SCHEMA, self._heard, limits, **more)

    def _heard(self, tickets: Sequence[bytes]) -> None:
        with self._changed:
            self.acknowledged += tickets
            self._changed.notify_all()

    def send(self, *payloads: bytes) -> None:
        for payload in payloads:
            self.log.append([(payload, "me")], [payload])

    def put(self, *payloads: bytes) -> None:
        """Sends, and waits for the acknowledgements."""
        count = len(self.acknowledged) + len(payloads)
        self.send(*payloads)
        with self._changed:
            heard = self._changed.wait_for(lambda: len(self.acknowledged) >= count, DEADLINE)
        assert heard, f"{len(self.acknowledged)} of {count} are acknowledged"


def payloads_in(folder: Path, since: int = 0) -> dict[int, bytes]:
    """The payloads of a log by number, as its files have them. Whoever has a position reads from
    there: what is before it may be removed at any moment."""
    found: dict[int, bytes] = {}
    for group in groups_in(folder):
        if group.start == group.stop or group.end <= since:
            continue
        batch = segments.read_batch(folder, group)
        found |= dict(enumerate(batch.column(PAYLOAD).to_pylist(), group.first))
    return found


def await_problem(log: ReceivedLog) -> str:
    deadline = time.monotonic() + DEADLINE
    while log.problem is None:
        assert time.monotonic() < deadline, "it has no problem"
        time.sleep(0.01)
    return log.problem
