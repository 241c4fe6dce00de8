"""Messages of a task, sent as they are made: at least once.

The producer is idempotent: what it sends twice because an acknowledgement got lost is there once,
and in order. It stays in the worker for the tasks that follow.
"""

from __future__ import annotations

import pyarrow as pa
from confluent_kafka import KafkaError, KafkaException

from narrows.connectors.base import Receipt
from narrows.connectors.kafka.sink.client import error_of, failure, producer_config
from narrows.connectors.kafka.sink.messages import MessageMaker
from narrows.connectors.kafka.sink.producer import Producer, Refused
from narrows.connectors.kafka.sink.topics import Topics
from narrows.connectors.letters import RowLetters
from narrows.connectors.target import SinkTarget

_OF_ONE_MESSAGE = (
    KafkaError.MSG_SIZE_TOO_LARGE,
    KafkaError.INVALID_MSG_SIZE,
    KafkaError.INVALID_RECORD,
    KafkaError.INVALID_MSG,
    KafkaError.INVALID_TIMESTAMP,
)
"""What a broker may have against a message. All else is about the topic, or the brokers."""


class _Client:
    """What a worker keeps for a sink."""

    def __init__(self, target: SinkTarget) -> None:
        self._target = target
        self.topics = Topics(target)
        self._producer: Producer | None = None
        self._room = 0

    def producer(self, room: int) -> Producer:
        """One that sends no more at once."""
        if self._producer is not None and room < self._room:
            self._producer.flush()  # or what was sent first could come last
            self._producer.close()
            self._producer = None
        if self._producer is None:
            config = producer_config(self._target)
            batch = min(room, int(config.get("batch.size", room)))
            self._producer, self._room = Producer({**config, "batch.size": batch}, room), room
        return self._producer

    def drop(self) -> None:
        """Nothing that waits is sent any more."""
        if self._producer is not None:
            self._producer.close()
            self._producer = None


_CLIENTS: dict[SinkTarget, _Client] = {}


class DirectTask:
    def __init__(self, target: SinkTarget) -> None:
        self._target = target
        self._letters = RowLetters(target)
        if target not in _CLIENTS:
            _CLIENTS[target] = _Client(target)
        self._client = _CLIENTS[target]
        self._maker = MessageMaker(target, self._letters, self._client.topics.facts)
        self._producer: Producer | None = None
        self._error: KafkaError | None = None

    def add(self, batch: pa.RecordBatch) -> None:
        try:
            for messages in self._maker.messages(batch):
                self._producer = self._client.producer(self._maker.room)
                self._producer.send(messages, self._maker.headers, self._on_refused)
                self._raise_error()
        except KafkaException as error:
            raise self._failure(error_of(error)) from error

    def close(self) -> Receipt:
        """Ends when the brokers have acknowledged every message."""
        if self._producer is not None:
            self._producer.flush()
        self._raise_error()
        self._letters.close()
        return {"files": [], "letters": self._letters.written}

    def discard(self) -> None:
        self._client.drop()
        self._letters.discard()

    def _on_refused(self, refused: Refused) -> None:
        error = refused.error
        if error.code() in _OF_ONE_MESSAGE:
            payload = refused.payload.decode("utf-8", "replace")
            self._letters.add_payload(payload, f"topic `{refused.topic}`: {error.str()}")
        else:
            self._error = self._error or error

    def _raise_error(self) -> None:
        if self._error is not None:
            raise self._failure(self._error)

    def _failure(self, error: KafkaError | None) -> Exception:
        return failure(self._target, "sending messages", error)
