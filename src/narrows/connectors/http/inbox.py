"""What is pushed to a stream: written to its log, and answered when it is on the disk.

**Once.** A request with an idempotency key that was taken before is answered as if it was taken
again, and nothing is written; one that is being written is waited for. The keys stand in the log
beside the payloads (`received/keys.py`), so nobody forgets one of them and keeps the other.

There is one inbox for each stream of a process, however many want it: whoever reads the stream
keeps it open, too, so that what everybody has read goes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from narrows.arrow.types import arrow_type
from narrows.connectors.base import SourceDeclaration
from narrows.connectors.http.bodies import payloads_of
from narrows.connectors.inbox import Delivery, NotTakenError, Taken
from narrows.connectors.received.dedupe import Dedupe
from narrows.connectors.received.keys import ID, PUT_BACK, REQUEST, key_of
from narrows.connectors.received.log import ReceivedLog
from narrows.connectors.received.log_files import NoRoom
from narrows.connectors.received.options import log_limits
from narrows.connectors.received.segments import PAYLOAD
from narrows.errors import Code, InternalError
from narrows.files.names import file_name
from narrows.schema import TIMESTAMP
from narrows.secrets import is_secret

SCHEMA = pa.schema(
    [
        (PAYLOAD, pa.binary()),
        ("received_at", pa.timestamp("us", tz="UTC")),
        ("headers", pa.list_(pa.struct([("key", pa.string()), ("value", pa.string())]))),
    ]
)
METADATA = {
    "_received_at": lambda block: block.column("received_at").cast(arrow_type(TIMESTAMP)),
    "_headers": lambda block: block.column("headers"),
}
KEY_HEADER = "idempotency-key"
_LONGEST_KEY = 255
_NOT_KEPT = ("cookie", "host", "connection", "content-length", "content-encoding", "expect", "te")
"""Headers that are about the way and not about the payloads. Secrets are not kept either."""
_TRY_AGAIN = 1
"""Seconds after which somebody who was refused may try again."""


@dataclass
class _Request:
    """One that waits for the disk."""

    payloads: int
    key: bytes | None
    done: Future[Taken] = field(default_factory=Future)

    def __post_init__(self) -> None:
        self.done.set_running_or_notify_cancel()  # a client that goes away cancels nothing


class HttpInbox:
    """Made by `open_inbox`."""

    def __init__(self, declared: SourceDeclaration) -> None:
        options = declared.options
        self.largest = int(str(options["max_request_bytes"]))
        self.users = 0
        self._lock = threading.Lock()
        """Never taken by a thread that has the log's lock."""
        self._waiting: dict[bytes, _Request] = {}
        self._folder = log_folder(declared)
        requests = int(str(options["remember_requests"]))
        dedupe = Dedupe.of(declared)
        remembers = {REQUEST: requests, PUT_BACK: requests}
        if dedupe is not None:
            remembers[ID] = dedupe.last
        self._log = ReceivedLog(
            self._folder,
            SCHEMA,
            self._acknowledge,
            log_limits(options),
            remembers=remembers,
            identify=None if dedupe is None else dedupe.ids(),
            refuse=self._refuse,
        )

    @property
    def problem(self) -> str | None:
        return self._log.problem

    def take(self, delivery: Delivery) -> Future[Taken]:
        payloads = payloads_of(delivery, self.largest)
        given = delivery.header(KEY_HEADER)
        if given is not None and not 0 < len(given) <= _LONGEST_KEY:
            message = f"an idempotency key has 1 to {_LONGEST_KEY} characters"
            raise NotTakenError(Code.INVALID_REQUEST, message)
        key = None if given is None else key_of(REQUEST, given.encode("utf-8", "replace"))
        return self._take(payloads, _kept(delivery.headers), key)

    def put_back(self, name: str, payload: bytes) -> None:
        """Takes a payload once under a name, whatever else is there."""
        self._take([payload], [], key_of(PUT_BACK, name.encode()), are_new=True).result()

    def close(self) -> None:
        """Ends when nobody else has it open."""
        with _OPENING:
            self.users -= 1
            if self.users == 0:
                del _INBOXES[self._folder]
                self._log.close()

    def _take(
        self,
        payloads: Sequence[bytes],
        headers: list[dict[str, str]],
        key: bytes | None,
        *,
        are_new: bool = False,
    ) -> Future[Taken]:
        request = _Request(len(payloads), key)
        now = time.time_ns() // 1_000
        rows = [(payload, now, headers) for payload in payloads]
        with self._lock:
            if key is not None:
                before = self._waiting.get(key)
                if before is not None:
                    return before.done
                if self._log.knows(key):
                    request.done.set_result(Taken(len(payloads), repeated=True))
                    return request.done
            if not rows:
                request.done.set_result(Taken(0))
                return request.done
            if not self._log.append_together(rows, request, key, are_new=are_new):
                raise _refused(NoRoom("more is being sent than can be written", is_full=True))
            if key is not None:
                self._waiting[key] = request
        return request.done

    # --- in the log's thread ----------------------------------------------------------------------

    def _acknowledge(self, requests: Sequence[_Request]) -> None:
        for request in self._over(requests):
            request.done.set_result(Taken(request.payloads))

    def _refuse(self, requests: Sequence[_Request], reason: NoRoom) -> None:
        for request in self._over(requests):
            request.done.set_exception(_refused(reason))

    def _over(self, requests: Sequence[_Request]) -> list[_Request]:
        """The requests, each of them once, which nobody needs to wait for any more."""
        found = list({id(request): request for request in requests}.values())
        with self._lock:
            for request in found:
                if request.key is not None:
                    self._waiting.pop(request.key, None)
        return found


def _refused(reason: NoRoom) -> NotTakenError:
    code = Code.SOURCE_FULL if reason.is_full else Code.SOURCE_UNAVAILABLE
    return NotTakenError(code, reason.reason, retry_after=_TRY_AGAIN)


def _kept(headers: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
    return [
        {"key": name, "value": value}
        for name, value in headers
        if name not in _NOT_KEPT and not is_secret(name)
    ]


# --- those that are open --------------------------------------------------------------------------

_OPENING = threading.Lock()
_INBOXES: dict[Path, HttpInbox] = {}


def open_inbox(declared: SourceDeclaration) -> HttpInbox:
    """The inbox of a stream, for one more who has to close it."""
    with _OPENING:
        folder = log_folder(declared)
        inbox = _INBOXES.get(folder)
        if inbox is None:
            inbox = _INBOXES[folder] = HttpInbox(declared)
        inbox.users += 1
        return inbox


def log_folder(declared: SourceDeclaration) -> Path:
    if declared.folder is None:
        raise InternalError("a stream that is pushed to needs a place for its payloads")
    return Path(declared.folder).absolute() / file_name(declared.name)


def put_back(declared: SourceDeclaration, name: str, payload: bytes) -> None:
    inbox = open_inbox(declared)
    try:
        inbox.put_back(name, payload)
    finally:
        inbox.close()
