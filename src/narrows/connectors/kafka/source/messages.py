"""What is fetched from a partition, whichever way it is fetched.

    consumer = open_consumer({"bootstrap.servers": "localhost:9092"})
    with consumer.open("orders", 3, offset=1000) as stream:     # stands at offset 1000
        fetched = stream.fetch(8192, timeout=1.0)
        with fetched.batch as batch:
            batch.decode(decoder, projection), batch.offsets(), batch.keys() ...
        fetched.end                                             # the partition ended there
        stream.position                                         # what is fetched next

There are two ways, and results are the same. With the native kernel, messages stay where
`librdkafka` has them (`native.py`): no Python object and no copy for any of them. Without it,
messages are objects of `confluent_kafka` (`portable.py`).

A batch holds messages of one partition, their offsets ascending, maybe with gaps: transactions and
compaction leave some. Memory of the library belongs to it until it is released.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self

from narrows.connectors.kafka.client.faults import KafkaError
from narrows.formats.decoder import Decoded, RecordDecoder
from narrows.projection.columns import DecodeProjection

if TYPE_CHECKING:
    import pyarrow as pa


class MessageBatch(Protocol):
    """Messages of one partition. Whatever is asked for is made when it is asked for: one value for
    each message, in arrays of Arrow."""

    topic: str
    partition: int

    def __len__(self) -> int: ...

    @property
    def size(self) -> int:
        """Bytes of payload."""

    @property
    def nulls(self) -> Sequence[int]:
        """The numbers of messages without a payload (tombstones). `decode` makes no rows of
        them, and does not call them bad."""

    def decode(self, decoder: RecordDecoder, projection: DecodeProjection) -> Decoded:
        """The payloads, decoded; positions are numbers of messages."""

    def payload(self, number: int) -> bytes | None: ...

    def offset(self, number: int) -> int: ...

    def offsets(self) -> pa.Array: ...

    def timestamps(self) -> pa.Array:
        """TIMESTAMP; NULL where a message has none."""

    def keys(self) -> pa.Array: ...

    def headers(self) -> pa.Array:
        """Lists of (key, value); NULL where a message has none."""

    def split(self, offset: int) -> MessageBatch:
        """Keeps what stands before an offset, and gives away the others."""

    def release(self) -> None:
        """Gives back the memory; nothing can be asked for any more. Doing so twice does no harm."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...


class Fetched(NamedTuple):
    batch: MessageBatch
    end: int | None = None
    """If the partition's end was met: its offset, which the next message will have at least. Under
    read-committed that is where the first open transaction begins."""


class PartitionStream(Protocol):
    """A partition that is being fetched, ahead of whoever asks for the messages."""

    topic: str
    partition: int

    @property
    def position(self) -> int:
        """The offset after the last message or end that `fetch` has returned."""

    def fetch(self, most: int, timeout: float) -> Fetched:
        """Waits until there is something, or for so many seconds, and takes what is there: at most
        so many messages, maybe none. Raises a `KafkaError` for what is wrong with the partition,
        after the messages before it."""

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...


class Consumer(Protocol):
    """A client of a cluster. For the process that made it: its threads do not survive a fork."""

    def open(self, topic: str, partition: int, offset: int) -> PartitionStream:
        """Begins to fetch a partition at an offset. A partition has one stream at a time: to go
        elsewhere, close it and open it again."""

    @property
    def trouble(self) -> KafkaError | None:
        """What last went wrong with the connection, or that a topic is not to be found; None once
        something has arrived. The library tries again for ever, and how long to wait is for others
        to say. Of a partition that the topic does not have it says nothing if it knew the topic
        before it was asked for the partition: whoever waits has to ask the cluster."""

    def close(self) -> None:
        """Closes its streams and releases their batches, too."""
