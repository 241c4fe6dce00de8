"""A producer: thousands of messages at once are handed to `librdkafka`, through its C API.

    columns of Arrow ──► an array of `rd_kafka_message_t` that points into them ──► one call

A message costs Python nothing; the library copies it into its queue. Messages with headers are
handed over one by one, for the call that takes many takes no headers.

**Never more than one request for a partition.** While messages of a partition are on their way, an
idempotent producer of `librdkafka` sends no others to it. If others are there, its thread does not
sleep until the broker has answered: it asks again and again, at the cost of a whole core
(`rd_kafka_toppar_producer_serve` wakes up at once as long as a batch is ready, and then finds that
it must not send it). So no more is handed over than one request holds (`window`) before all of it
is acknowledged. Meanwhile whoever sends makes the messages that come next.

What the library reports later - that a message was not delivered - is noted while it is polled, and
told to whoever sent the message when the library has returned: an exception inside of one of its
callbacks would be nobody's.
"""

from __future__ import annotations

import ctypes
import logging
import os
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from confluent_kafka import KafkaError, KafkaException

from narrows.connectors.kafka.client import librdkafka
from narrows.connectors.kafka.sink.message_arrays import (
    COPIED,
    Message,
    MessageParts,
    message_array,
    message_sizes,
)
from narrows.connectors.kafka.sink.messages import TOPIC
from narrows.errors import InternalError

_LOG = logging.getLogger(__name__)
_LOG.addHandler(logging.NullHandler())  # or Python would write to stderr what nobody listens to

ANY_PARTITION: Final = -1
_PURGE_ALL: Final = 0x3
_FULL_MILLISECONDS = 50
"""How long to wait when the producer has as many messages as it can hold."""
_FLUSH_MILLISECONDS = 1_000
_TRANSACTION_MILLISECONDS = 5_000


class Refused(NamedTuple):
    """A message that was not delivered, and why."""

    error: KafkaError
    topic: str
    payload: bytes


OnRefused = Callable[[Refused], None]


class Producer:
    def __init__(self, config: Mapping[str, object], window: int) -> None:
        """`window` is how many bytes may be on their way at a time: what fits into one request.
        Raises a KafkaException for what the library does not take."""
        self._window = window
        self._on_their_way = 0
        self._in_transaction = False
        self._waited_in_vain = False
        self._library = library = librdkafka.load()
        self._noted: deque[tuple[int, Refused]] = deque()
        """What was reported and not told yet, with the number of who is to be told."""
        self._senders: dict[int, OnRefused] = {}
        self._topics: dict[bytes, int] = {}
        callbacks = {
            "dr_msg": librdkafka.DeliveryCallback(_noting(library, self._noted)),
            "log": librdkafka.LogCallback(_log),
        }
        given = {name: _text(value) for name, value in config.items()}
        given["delivery.report.only.error"] = "true"
        try:
            handle = library.new_client(librdkafka.PRODUCER, given, callbacks)
        except ValueError as error:
            raise KafkaException(KafkaError(KafkaError._INVALID_ARG, str(error))) from None
        self._made = handle
        self._destroy = weakref.finalize(
            self, _destroy, library, handle, self._topics, callbacks, os.getpid()
        )
        self._destroy.atexit = False

    @property
    def _handle(self) -> int:
        if not self._destroy.alive:
            raise InternalError("the producer is closed")
        return self._made

    # --- sending ----------------------------------------------------------------------------------

    def send(
        self,
        messages: pa.RecordBatch,
        headers: Sequence[str] = (),
        on_refused: OnRefused | None = None,
        partition: int = ANY_PARTITION,
    ) -> None:
        """In order, as far as messages go to the same partition. If `on_refused` is given it is
        called, by this call and later ones, for each message that is not delivered."""
        sender = 0
        if on_refused is not None:
            sender = next((n for n, each in self._senders.items() if each == on_refused), 0)
            sender = sender or len(self._senders) + 1
            self._senders[sender] = on_refused
        topics = messages.column(TOPIC)
        names = topics.unique().to_pylist()
        for name in names:
            some = messages
            if len(names) > 1:
                some = messages.filter(pc.equal(topics, pa.scalar(name, pa.binary())))
            for piece in self._in_windows(some, headers):
                if headers:
                    self._send_each(self._topic(name), piece, headers, sender, partition)
                else:
                    self._send_all(self._topic(name), piece, sender, partition)
        self.poll(0)

    def _in_windows(
        self, messages: pa.RecordBatch, headers: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        """As many messages at a time as may be on their way; waits until they may."""
        ends = np.cumsum(message_sizes(messages, headers))
        start = 0
        while start < messages.num_rows:
            before = int(ends[start - 1]) if start else 0
            room = self._window - self._on_their_way
            end = int(np.searchsorted(ends, before + room, side="right"))
            if end <= start and self._on_their_way:
                self._await_window()
                continue
            end = max(end, start + 1)  # a message may be larger than the window
            self._on_their_way += int(ends[end - 1]) - before
            yield messages.slice(start, end - start)
            start = end

    def _send_all(self, topic: int, messages: pa.RecordBatch, sender: int, partition: int) -> None:
        array = message_array(messages, sender)
        while len(array):
            given = array.ctypes.data, len(array)
            taken = self._library.produce_batch(topic, partition, COPIED, *given)
            if taken == len(array):
                return
            # Where there is no room for one message there is none for those behind it.
            first = int(np.flatnonzero(array["error"])[0])
            self._wait_for_room(KafkaError(int(array["error"][first])))
            array = array[first:]
            array["error"] = 0

    def _send_each(
        self,
        topic: int,
        messages: pa.RecordBatch,
        headers: Sequence[str],
        sender: int,
        partition: int,
    ) -> None:
        parts = MessageParts(messages, headers, topic, partition, sender)
        for place in parts.addresses():
            while (error := self._library.produceva(self._handle, place, parts.count)) is not None:
                self._wait_for_room(self._taken(error))

    def _wait_for_room(self, error: KafkaError) -> None:
        if error.code() != KafkaError._QUEUE_FULL:
            raise KafkaException(error)
        self.poll(_FULL_MILLISECONDS)

    def poll(self, milliseconds: int) -> None:
        self._library.poll(self._handle, milliseconds)
        self._tell()

    def flush(self) -> None:
        """Ends when every message is acknowledged, or refused."""
        self._await_all()
        self._senders.clear()

    def _await_window(self) -> None:
        """Waits until there is room for more. The messages of a transaction that has failed stay
        where they are until it is aborted: then one waits once, and the commit says why."""
        if not self._in_transaction:
            self._await_all()
        elif not self._waited_in_vain:
            self._waited_in_vain = self._library.flush(self._handle, _TRANSACTION_MILLISECONDS) != 0
        self._on_their_way = 0
        self._tell()

    def _await_all(self) -> None:
        while self._library.flush(self._handle, _FLUSH_MILLISECONDS) != 0:
            self._tell()
        self._on_their_way = 0
        self._tell()

    def purge(self) -> None:
        """Nothing that waits is sent any more."""
        self._library.purge(self._handle, _PURGE_ALL)
        self._library.poll(self._handle, 0)
        self._noted.clear()
        self._senders.clear()

    def close(self) -> None:
        self._destroy()

    def _tell(self) -> None:
        while self._noted:
            sender, refused = self._noted.popleft()
            if sender in self._senders:
                self._senders[sender](refused)

    def _topic(self, name: bytes) -> int:
        if name not in self._topics:
            made = self._library.topic_new(self._handle, name, None)
            if made is None:
                raise KafkaException(KafkaError(self._library.last_error()))
            self._topics[name] = made
        return self._topics[name]

    # --- transactions -----------------------------------------------------------------------------

    def init_transactions(self, seconds: float) -> None:
        self._check(self._library.init_transactions(self._handle, round(seconds * 1000)))

    def begin_transaction(self) -> None:
        self._in_transaction, self._waited_in_vain = True, False
        self._check(self._library.begin_transaction(self._handle))

    def commit_transaction(self, seconds: float) -> None:
        self._check(self._library.commit_transaction(self._handle, round(seconds * 1000)))

    def abort_transaction(self, seconds: float) -> None:
        self._check(self._library.abort_transaction(self._handle, round(seconds * 1000)))

    def _check(self, error: int | None) -> None:
        if error is not None:
            raise KafkaException(self._taken(error))

    def _taken(self, error: int) -> KafkaError:
        """What the library says, which is ours to give back."""
        library = self._library
        try:
            return KafkaError(
                library.error_code(error),
                library.error_string(error).decode("utf-8", "replace"),
                bool(library.error_is_fatal(error)),
                bool(library.error_is_retriable(error)),
                bool(library.error_txn_requires_abort(error)),
            )
        finally:
            library.error_destroy(error)


def _noting(library: librdkafka.Library, noted: deque[tuple[int, Refused]]) -> Any:
    """What the library calls for a message; it must not keep the producer alive."""

    def note(client: int, address: int, opaque: None) -> None:
        found = Message.from_address(address)
        if found.error:
            topic = library.topic_name(found.topic).decode("utf-8", "replace")
            payload = ctypes.string_at(found.payload, found.length) if found.payload else b""
            noted.append((found.private or 0, Refused(KafkaError(found.error), topic, payload)))

    return note


def _log(client: int, level: int, about: bytes, text: bytes) -> None:
    _LOG.info("librdkafka: %s", text.decode("utf-8", "replace"))


def _destroy(
    library: librdkafka.Library, handle: int, topics: dict[bytes, int], callbacks: Any, process: int
) -> None:
    if os.getpid() != process:
        return  # what a fork has copied is its parent's
    library.purge(handle, _PURGE_ALL)
    for topic in topics.values():
        library.topic_destroy(topic)
    library.destroy_flags(handle, 0)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
