"""Messages as objects of `confluent_kafka`: the way that needs no native kernel.

It does what `native.py` does, and tests hold the two equal. `confluent_kafka` has no queue for a
single partition, so a stream is a client of its own.
"""

from __future__ import annotations

import logging
from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Self, cast

import pyarrow as pa
from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, KafkaException, TopicPartition
from confluent_kafka import Consumer as Client
from confluent_kafka import KafkaError as ClientError
from confluent_kafka import Message as ClientMessage

from narrows.arrow.types import arrow_type
from narrows.connectors.kafka.client.faults import (
    PARTITION_EOF,
    KafkaError,
    Settings,
    revealed,
    without_values,
)
from narrows.connectors.kafka.client.librdkafka import READING, UNLESS_SET
from narrows.connectors.kafka.source.headers import Headers, header_array
from narrows.connectors.kafka.source.messages import Fetched
from narrows.errors import Code, InternalError, fail
from narrows.formats.decoder import Decoded, RecordDecoder
from narrows.formats.null_payloads import decode_present
from narrows.projection.columns import DecodeProjection
from narrows.schema import TIMESTAMP

_LOG = logging.getLogger(__name__)
_LOG.addHandler(logging.NullHandler())  # or Python would write to stderr what nobody listens to
_GROUP = "narrows"
"""A client must name one, though it is never joined."""


class PortableBatch:
    def __init__(self, topic: str, partition: int, messages: Sequence[ClientMessage]) -> None:
        self.topic = topic
        self.partition = partition
        self._messages = messages

    def __len__(self) -> int:
        return len(self._messages)

    @property
    def size(self) -> int:
        return sum(len(payload) for payload in self._payloads() if payload is not None)

    @property
    def nulls(self) -> Sequence[int]:
        return [number for number, payload in enumerate(self._payloads()) if payload is None]

    def decode(self, decoder: RecordDecoder, projection: DecodeProjection) -> Decoded:
        return decode_present(decoder, self._payloads(), projection)

    def payload(self, number: int) -> bytes | None:
        return self._messages[number].value()

    def _payloads(self) -> list[bytes | None]:
        return [message.value() for message in self._messages]

    def offset(self, number: int) -> int:
        return _offset(self._messages[number])

    def offsets(self) -> pa.Array:
        return pa.array([_offset(message) for message in self._messages], pa.int64())

    def timestamps(self) -> pa.Array:
        times = [message.timestamp() for message in self._messages]
        milliseconds = [None if kind == TIMESTAMP_NOT_AVAILABLE else time for kind, time in times]
        return pa.array(milliseconds, pa.timestamp("ms", tz="UTC")).cast(arrow_type(TIMESTAMP))

    def keys(self) -> pa.Array:
        return pa.array([message.key() for message in self._messages], pa.binary())

    def headers(self) -> pa.Array:
        return header_array([_headers(message) for message in self._messages])

    def split(self, offset: int) -> PortableBatch:
        at = bisect_left(self._messages, offset, key=_offset)
        self._messages, others = self._messages[:at], self._messages[at:]
        return PortableBatch(self.topic, self.partition, others)

    def release(self) -> None:
        self._messages = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.release()


def _offset(message: ClientMessage) -> int:
    offset = message.offset()
    assert offset is not None, "it was fetched"
    return offset


def _headers(message: ClientMessage) -> Headers | None:
    # What a message may be given is of more types than what it has when it was fetched.
    return cast("Headers | None", message.headers())


class PortableStream:
    def __init__(self, consumer: PortableConsumer, topic: str, partition: int, offset: int) -> None:
        self.topic = topic
        self.partition = partition
        self.position = offset
        self._consumer = consumer
        self._error: KafkaError | None = None
        self._client: Client | None = consumer.new_client()
        self._client.assign([TopicPartition(topic, partition, offset)])

    def fetch(self, most: int, timeout: float) -> Fetched:
        if self._error is None:
            batch, end = self._take(most, timeout)
            if len(batch) or self._error is None:
                return Fetched(batch, end)
        error, self._error = self._error, None
        assert error is not None
        raise error

    def _take(self, most: int, timeout: float) -> tuple[PortableBatch, int | None]:
        """Waits for one message, then takes what else is there."""
        if self._client is None:
            raise InternalError("the stream is closed")
        first = self._client.poll(timeout)
        found = [] if first is None else [first, *self._client.consume(most - 1, 0)]
        messages = [message for message in found if message.error() is None]
        end = None
        if messages:
            self.position = _offset(messages[-1]) + 1
            self._consumer.trouble = None
        for message in found:
            error = message.error()
            if error is not None and error.code() == PARTITION_EOF:
                end = _offset(message)
                self.position = max(self.position, end)
                self._consumer.trouble = None
            elif error is not None:
                self._error = self._consumer.error(error)
        return PortableBatch(self.topic, self.partition, messages), end

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None
            self._consumer.forget(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class PortableConsumer:
    def __init__(self, settings: Settings) -> None:
        self._settings = dict(settings)
        self._streams: dict[tuple[str, int], PortableStream] = {}
        self._is_closed = False
        self.trouble: KafkaError | None = None
        self.new_client().close()  # to hear of wrong settings now

    def open(self, topic: str, partition: int, offset: int) -> PortableStream:
        if self._is_closed or (topic, partition) in self._streams:
            raise InternalError("the consumer is closed, or the partition is being read")
        stream = PortableStream(self, topic, partition, offset)
        self._streams[topic, partition] = stream
        return stream

    def forget(self, stream: PortableStream) -> None:
        self._streams.pop((stream.topic, stream.partition), None)

    def new_client(self) -> Client:
        def note(error: ClientError) -> None:
            self.trouble = self.error(error)

        given: dict[str, str | Callable[[ClientError], None]] = {"group.id": _GROUP}
        given |= revealed({**UNLESS_SET, **self._settings, **READING})
        try:
            return Client({**given, "error_cb": note}, logger=_LOG)
        except KafkaException as error:
            said = without_values(error.args[0].str(), self._settings)
            raise fail(Code.INVALID_OPTION, f"kafka: {said}") from None

    def error(self, error: ClientError) -> KafkaError:
        text = without_values(error.str(), self._settings)
        return KafkaError(error.code(), error.name(), text)

    def close(self) -> None:
        self._is_closed = True
        for stream in list(self._streams.values()):
            stream.close()
