"""Messages where `librdkafka` has them: fetched through its C API, decoded by the native kernel.

    librdkafka's threads ──► a queue for each partition ──► an array of pointers ──► the kernel

A message costs Python nothing: what is called here is called once for a batch. The kernel owns the
messages of a batch (`narrows_kernel.Messages`) and destroys them when it is released.

Partitions are started one by one, each with a queue of its own, so that one can be read to its end
while others are fetched ahead. Consumers are in no group: whoever reads by offsets needs none.
"""

from __future__ import annotations

import ctypes
import logging
import os
import weakref
from collections.abc import Sequence
from ctypes import byref, c_char_p, c_size_t, c_void_p
from typing import Any, Self

import pyarrow as pa

from narrows.arrow.types import arrow_type
from narrows.connectors.kafka.client import librdkafka
from narrows.connectors.kafka.client.faults import (
    PARTITION_EOF,
    KafkaError,
    Settings,
    without_values,
)
from narrows.connectors.kafka.source.headers import Headers, header_array
from narrows.connectors.kafka.source.messages import Fetched
from narrows.errors import InternalError
from narrows.formats.decoder import Decoded, MessageDecoder, RecordDecoder
from narrows.formats.kernel import load_native
from narrows.formats.null_payloads import decode_present
from narrows.projection.columns import DecodeProjection
from narrows.schema import TIMESTAMP

_LOG = logging.getLogger(__name__)
_LOG.addHandler(logging.NullHandler())  # or Python would write to stderr what nobody listens to
_POINTER = ctypes.sizeof(c_void_p)


class NativeBatch:
    def __init__(self, consumer: NativeConsumer, topic: str, partition: int, found: Any) -> None:
        self.topic = topic
        self.partition = partition
        self._consumer = consumer  # which must outlive the messages
        self._found = found
        consumer.batches.add(self)

    def __len__(self) -> int:
        return len(self._found)

    @property
    def size(self) -> int:
        return int(self._found.size)

    @property
    def nulls(self) -> Sequence[int]:
        found: Sequence[int] = self._found.nulls
        return found

    def decode(self, decoder: RecordDecoder, projection: DecodeProjection) -> Decoded:
        if isinstance(decoder, MessageDecoder):
            return decoder.decode_messages(self._found, projection)
        return decode_present(decoder, self._found.payloads(), projection)

    def payload(self, number: int) -> bytes | None:
        found: bytes | None = self._found.payload(number)
        return found

    def offset(self, number: int) -> int:
        return int(self._found.offset(number))

    def offsets(self) -> pa.Array:
        return pa.array(self._found.offsets())

    def timestamps(self) -> pa.Array:
        milliseconds = pa.array(self._found.timestamps()).view(pa.timestamp("ms", tz="UTC"))
        return milliseconds.cast(arrow_type(TIMESTAMP))

    def keys(self) -> pa.Array:
        return pa.array(self._found.keys())

    def headers(self) -> pa.Array:
        library = self._consumer.library
        return header_array([_headers(library, self._found.address(n)) for n in range(len(self))])

    def split(self, offset: int) -> NativeBatch:
        others = self._found.split_off(self._found.before(offset))
        return NativeBatch(self._consumer, self.topic, self.partition, others)

    def release(self) -> None:
        self._found.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.release()


class NativeStream:
    def __init__(self, consumer: NativeConsumer, topic: str, partition: int, offset: int) -> None:
        self.topic = topic
        self.partition = partition
        self.position = offset
        self._consumer = consumer
        self._library = library = consumer.library
        self._array: ctypes.Array[c_void_p] = (c_void_p * 0)()
        self._error: KafkaError | None = None
        self._handle = consumer.topic(topic)
        self._queue = library.queue_new(consumer.handle)
        if library.consume_start_queue(self._handle, partition, offset, self._queue) != 0:
            error = library.error(library.last_error())
            library.queue_destroy(self._queue)
            self._queue = None
            raise error

    def fetch(self, most: int, timeout: float) -> Fetched:
        self._consumer.poll()
        if self._error is None:
            batch, end = self._take(most, timeout)
            if len(batch) or self._error is None:
                return Fetched(batch, end)
        error, self._error = self._error, None
        assert error is not None
        raise error

    def _take(self, most: int, timeout: float) -> tuple[NativeBatch, int | None]:
        found = self._own(most, round(timeout * 1000))
        batch = NativeBatch(self._consumer, self.topic, self.partition, found)
        end = None
        if len(batch):
            self.position = batch.offset(len(batch) - 1) + 1
            self._consumer.trouble = None
        for _, number, offset, text in found.events:
            if number == PARTITION_EOF:
                end = offset
                self.position = max(self.position, offset)
                self._consumer.trouble = None
            else:
                self._error = self._consumer.error(number, text)
        return batch, end

    def _own(self, most: int, milliseconds: int) -> Any:
        """Waits for one message, then takes what else is there: a batch by itself would wait until
        it is full."""
        if self._queue is None:
            raise InternalError("the stream is closed")
        library = self._library
        if len(self._array) < most:
            self._array = (c_void_p * most)()
        count = 0
        first = library.consume_queue(self._queue, milliseconds)
        if first is not None:
            self._array[0] = first
            rest = byref(self._array, _POINTER)
            count = 1 + max(0, library.consume_batch_queue(self._queue, 0, rest, most - 1))
        return self._consumer.own(ctypes.addressof(self._array), count)

    def close(self) -> None:
        if self._queue is not None:
            queue, self._queue = self._queue, None
            self._library.consume_stop(self._handle, self.partition)
            self._library.queue_destroy(queue)
            self._consumer.streams.pop((self.topic, self.partition), None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class NativeConsumer:
    def __init__(self, settings: Settings) -> None:
        self._settings = {name: value for name, value in settings.items() if name != "group.id"}
        self.library = library = librdkafka.load()
        self._kernel = load_native()
        self._functions = library.address("message_destroy"), library.address("message_timestamp")
        self._process = os.getpid()
        self.trouble: KafkaError | None = None
        self._callbacks = (
            librdkafka.ErrorCallback(self._note_error),
            librdkafka.LogCallback(self._note_log),
        )
        self.handle: int | None = library.new_consumer(self._settings, *self._callbacks)
        self._topics: dict[str, Any] = {}
        self.streams: dict[tuple[str, int], NativeStream] = {}
        self.batches: weakref.WeakSet[NativeBatch] = weakref.WeakSet()

    def open(self, topic: str, partition: int, offset: int) -> NativeStream:
        self._check_process()
        if (topic, partition) in self.streams:
            raise InternalError("the partition is being read")
        stream = NativeStream(self, topic, partition, offset)
        self.streams[topic, partition] = stream
        return stream

    def topic(self, name: str) -> Any:
        if name not in self._topics:
            made = self.library.topic_new(self.handle, name.encode(), None)
            if made is None:
                raise self.library.error(self.library.last_error())
            self._topics[name] = made
        return self._topics[name]

    def own(self, array: int, count: int) -> Any:
        """The messages of an array, which the kernel takes over."""
        return self._kernel.Messages(array, count, *self._functions)

    def poll(self) -> None:
        """Has the library say what is not about messages, too."""
        self._check_process()
        self.library.poll(self.handle, 0)

    def _note_error(self, client: int, number: int, text: bytes, opaque: None) -> None:
        self.trouble = self.error(number, text.decode("utf-8", "replace"))

    def _note_log(self, client: int, level: int, about: bytes, text: bytes) -> None:
        said = text.decode("utf-8", "replace")
        _LOG.info("librdkafka: %s", without_values(said, self._settings))

    def error(self, number: int, text: str) -> KafkaError:
        return self.library.error(number, without_values(text, self._settings))

    def close(self) -> None:
        if self.handle is None or os.getpid() != self._process:
            return  # what a fork has copied is its parent's
        for batch in list(self.batches):
            batch.release()
        for stream in list(self.streams.values()):
            stream.close()
        for topic in self._topics.values():
            self.library.topic_destroy(topic)
        self.library.destroy_flags(self.handle, librdkafka.NO_CONSUMER_CLOSE)
        self._topics, self.handle = {}, None

    def _check_process(self) -> None:
        if self.handle is None:
            raise InternalError("the consumer is closed")
        if os.getpid() != self._process:
            raise InternalError("the consumer was made before the process was forked")


def _headers(library: librdkafka.Library, message: int) -> Headers | None:
    handle, name, value, size = c_void_p(), c_char_p(), c_void_p(), c_size_t()
    if library.message_headers(message, byref(handle)) != 0:
        return None
    found: list[tuple[str, bytes | None]] = []
    places = byref(name), byref(value), byref(size)
    while library.header_get_all(handle, len(found), *places) == 0:
        key = (name.value or b"").decode("utf-8", "replace")
        found.append((key, None if value.value is None else ctypes.string_at(value, size.value)))
    return found
