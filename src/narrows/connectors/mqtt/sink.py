"""Topics of a broker as a sink.

A task publishes its rows, and ends when the broker has acknowledged every one. Rows that cannot be
published are set aside:

* a topic that is NULL, empty, has wildcards or begins with `$`: rows come from strangers;
* a topic with another number of levels than the option has: a value with `/` in it would be a way
  into topics that nobody has thought of. An option that is a column and nothing else takes any;
* a message that is larger than the broker takes, or that the broker itself refuses.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from narrows.connectors.base import Receipt, SinkTask
from narrows.connectors.direct_sink import DirectSink, receipt_of
from narrows.connectors.letters import RowLetters
from narrows.connectors.mqtt.sink_client import SinkClient, client_of
from narrows.connectors.row_messages import Refuse, RowMessages
from narrows.connectors.row_texts import RowTexts
from narrows.connectors.target import SinkTarget
from narrows.plugins.row_text import Column, parse_row_text

TOPIC, VALUE = "topic", "value"
_LONGEST_TOPIC = 65_535
_OVERHEAD = 32
"""Bytes that a message has besides its topic and payload, at most."""


class MqttSink(DirectSink):
    def open_task(self, batch: int, task: int) -> SinkTask:
        return MqttSinkTask(self._target)


class MqttSinkTask:
    def __init__(self, target: SinkTarget) -> None:
        self._letters = RowLetters(target)
        self._client = client_of(target)
        self._maker = _Messages(target, self._letters, self._client)

    def add(self, batch: pa.RecordBatch) -> None:
        for messages in self._maker.messages(batch):
            topics = [topic.decode() for topic in messages.column(TOPIC).to_pylist()]
            self._client.send(topics, messages.column(VALUE).to_pylist())

    def close(self) -> Receipt:
        """Ends when the broker has acknowledged every message."""
        for payload, reason in self._client.finish():
            self._letters.add_payload(payload.decode("utf-8", "replace"), reason)
        return receipt_of(self._letters)

    def discard(self) -> None:
        self._client.drop()
        self._letters.discard()


class _Messages(RowMessages):
    def __init__(self, target: SinkTarget, letters: RowLetters, client: SinkClient) -> None:
        super().__init__(target, letters)
        text = parse_row_text(str(dict(target.options)["topic"]))
        self._topic = RowTexts(text, target)
        alone = [*map(type, text.pieces)] == [Column]
        levels = "".join(piece for piece in text.pieces if isinstance(piece, str)).count("/")
        self._slashes = None if alone else levels
        self._client = client

    def make(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays(
            [self._topic.of(rows), self.payloads(rows)], names=[TOPIC, VALUE]
        )

    def check(self, made: pa.RecordBatch, refuse: Refuse) -> None:
        topics = made.column(TOPIC)
        refuse(topics.is_null(), "its topic is NULL")
        for topic in topics.unique().drop_null().to_pylist():
            reason = self._no_topic(topic)
            if reason is not None:
                shown = topic.decode("utf-8", "replace")[:300]
                refuse(pc.equal(topics, pa.scalar(topic, pa.binary())), f"`{shown}` {reason}")
        largest = self._client.largest
        if largest is not None:
            sizes = pc.add(pc.binary_length(made.column(VALUE)), pc.binary_length(topics))
            reason = f"the message is larger than the broker takes, {largest} bytes"
            refuse(pc.greater(sizes, largest - _OVERHEAD), reason)

    def _no_topic(self, topic: bytes) -> str | None:
        """Why nothing can be published to a topic."""
        try:
            topic.decode()
        except UnicodeDecodeError:
            return "is no topic: it is no text"
        wild = any(character in topic for character in b"+#\0")
        if not topic or wild or topic.startswith(b"$") or len(topic) > _LONGEST_TOPIC:
            return "is no topic to publish to"
        if self._slashes is not None and topic.count(b"/") != self._slashes:
            return "has other levels than the option `topic`: a value has `/` in it"
        return None
