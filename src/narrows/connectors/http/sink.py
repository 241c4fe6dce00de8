"""Rows that are posted to somebody: a request for every so many of them.

A task ends when every request has been answered with success. What may pass - no connection, 5xx,
429 - is tried again. A request that is refused for what is in it (400, 413, 422) is sent in halves,
until the rows are found that are to blame; those, and the rows of other requests that are refused
(4xx), are dead letters. Where it is we who are refused, no row can help it, and the pipeline fails.

**The key.** Every request has an idempotency key. It says which life of the pipeline, which batch,
task and part, and has a digest of the body in it: a batch that is run again may be cut into tasks
in another way, and a receiver that knows keys must not take other rows for those that it has.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

import pyarrow as pa

from narrows.connectors.base import Receipt, SinkTask
from narrows.connectors.direct_sink import DirectSink, receipt_of
from narrows.connectors.http.sink_client import HttpAnswer, WebhookClient, client_of
from narrows.connectors.letters import RowLetters
from narrows.connectors.row_messages import Refuse, RowMessages
from narrows.connectors.target import SinkTarget
from narrows.errors import Code, fail

_VALUE = "value"
_OF_WHAT_IS_IN_IT = (400, 413, 422)
_OF_US = (401, 403, 404, 405, 407)
"""No row is to blame: the address, or who asks."""
_TYPES = {"lines": "application/x-ndjson", "list": "application/json", "single": "application/json"}
_OTHER_TYPE = "text/plain; charset=utf-8"


class WebhookSink(DirectSink):
    def open_task(self, batch: int, task: int) -> SinkTask:
        return WebhookTask(self._target, batch, task)


class WebhookTask:
    def __init__(self, target: SinkTarget, batch: int, task: int) -> None:
        options = dict(target.options)
        self._target = target
        self._letters = RowLetters(target)
        self._client: WebhookClient = client_of(target)
        self._maker = _Rows(target, self._letters)
        self._layout = str(options["layout"])
        self._most = 1 if self._layout == "single" else int(str(options["batch_rows"]))
        self._most_bytes = int(str(options["batch_bytes"]))
        self._type = _TYPES[self._layout] if target.format == "json" else _OTHER_TYPE
        self._prefix = f"{target.life}-{batch}-{task}"
        self._part = 0
        self._rows: list[bytes] = []
        self._bytes = 0

    def add(self, batch: pa.RecordBatch) -> None:
        for row in self._maker.rows(batch):
            if self._rows and self._bytes + len(row) > self._most_bytes:
                self._end_part()
            self._rows.append(row)
            self._bytes += len(row)
            if len(self._rows) >= self._most:
                self._end_part()

    def close(self) -> Receipt:
        """Ends when every request has been answered."""
        self._end_part()
        return receipt_of(self._letters)

    def discard(self) -> None:
        self._letters.discard()

    def _end_part(self) -> None:
        rows, self._rows, self._bytes = self._rows, [], 0
        if rows:
            self._send(rows)
            self._part += 1

    def _send(self, rows: Sequence[bytes]) -> None:
        body = self._body(rows)
        answer = self._client.send(body, self._type, self._key(body))
        if answer.is_success:
            return
        if answer.status in _OF_US or not 400 <= answer.status < 500:
            raise fail(
                Code.REFUSED,
                f"sink `{self._target.sink}`: {self._client.host} answers {answer.reason}",
                hint="see to the sink's `url`, and to who asks: `token`, `password`, `header.*`",
            )
        if answer.status in _OF_WHAT_IS_IN_IT and len(rows) > 1:
            half = len(rows) // 2
            self._send(rows[:half])
            self._send(rows[half:])
            return
        for row in rows:
            self._letters.add_payload(row.decode("utf-8", "replace"), _reason(answer))

    def _body(self, rows: Sequence[bytes]) -> bytes:
        match self._layout:
            case "list":
                return b"[" + b",".join(rows) + b"]"
            case "lines":
                return b"\n".join(rows) + b"\n"
            case _:
                return rows[0]

    def _key(self, body: bytes) -> str:
        return f"{self._prefix}-{self._part}-{hashlib.sha256(body).hexdigest()[:16]}"


class _Rows(RowMessages):
    """Each row as the sink's format has it."""

    def make(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays([self.payloads(rows)], names=[_VALUE])

    def check(self, made: pa.RecordBatch, refuse: Refuse) -> None:
        pass

    def rows(self, batch: pa.RecordBatch) -> Iterator[bytes]:
        for made in self.messages(batch):
            yield from made.column(_VALUE).to_pylist()


def _reason(answer: HttpAnswer) -> str:
    return f"the receiver answers {answer.reason}"
