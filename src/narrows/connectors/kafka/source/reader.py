"""Reads ranges of offsets, in a worker.

**When is a range over?** Counting would not do, for transactions, aborted messages and compaction
leave gaps: a range is over when the next message is known to stand at its end or behind it, because
such a message has come, or because the partition's end is there.

**What if nothing comes?** Then one asks why. Offsets that are gone, and topics, are lost: the rest
of the range is read, and what is lost is one letter. A broker that is away, or one that does not
give what it has promised, is waited for, but not for ever.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from narrows.arrow.batches import batch_of
from narrows.connectors.base import (
    Decoding,
    LostRangeError,
    Part,
    Position,
    SourceDeclaration,
    SourceUnavailableError,
)
from narrows.connectors.kafka.client.cluster import cluster_of, is_passing
from narrows.connectors.kafka.client.faults import KafkaError
from narrows.connectors.kafka.client.topics import Partition, Topics
from narrows.connectors.kafka.source.messages import Fetched, MessageBatch
from narrows.connectors.kafka.source.newest import newest_message
from narrows.connectors.kafka.source.offsets import OffsetRange
from narrows.connectors.kafka.source.streams import KeptStream, client_of
from narrows.formats.decoder import Decoded
from narrows.plugins.options import parse_duration
from narrows.projection.columns import DecodeProjection

_BLOCK_PAYLOADS = 8_192
_BLOCK_BYTES = 4 << 20
_FIRST_BLOCK = 1_024
_WAIT_SECONDS = 0.5
_ASK_SECONDS = 1.5
"""How long nothing must have come before one asks why."""

_METADATA: dict[str, Callable[[MessageBatch], pa.Array | pa.Scalar]] = {
    "_key": lambda batch: batch.keys(),
    "_topic": lambda batch: pa.scalar(batch.topic, pa.string()),
    "_partition": lambda batch: pa.scalar(batch.partition, pa.int32()),
    "_offset": lambda batch: batch.offsets(),
    "_timestamp": lambda batch: batch.timestamps(),
    "_headers": lambda batch: batch.headers(),
}


class KafkaReader:
    def __init__(self, declared: SourceDeclaration, decoding: Decoding) -> None:
        self._options = declared.options
        self._decoding = decoding
        self._patience = (parse_duration(str(declared.options["patience"])) or 0) / 1_000

    def newest(self, ranges: Sequence[OffsetRange]) -> Iterator[Part]:
        read = newest_message(ranges, self._messages)
        return iter(()) if read is None else self.parts(read)

    def _messages(self, read: OffsetRange) -> Iterator[MessageBatch]:
        if read.lost is not None:
            raise _lost(read, read.start, read.end, read.lost)
        reading = _Reading(self._options, read, self._patience)
        yield from reading.batches()
        if reading.lost is not None:
            raise reading.lost

    def parts(self, read: OffsetRange) -> Iterator[Part]:
        decoder, projection = self._decoding.decoder(), self._decoding.projection
        for batch in self._messages(read):
            decoded = batch.decode(decoder, projection)
            if self._decoding.takes_null_payloads and batch.nulls:
                decoded = _with_rows(decoded, batch, projection)
            metadata = [_METADATA[name](batch) for name in self._decoding.metadata]
            yield Part(decoded, batch.size, _Found(batch), metadata)


class _Reading:
    """One range on its way."""

    def __init__(self, options: Any, read: OffsetRange, patience: float) -> None:
        self._options = options
        self._read = read
        self._patience = patience
        self._reached = read.start
        """What stands before this was read."""
        self._asked_in_vain = False
        self.lost: LostRangeError | None = None
        """What could not be read."""

    def batches(self) -> Iterator[MessageBatch]:
        """The messages of the range; each batch is released when the next is asked for."""
        read, client = self._read, client_of(self._options)
        stream, goes_on = client.take(read.topic, read.partition, read.start, read.topic_id)
        is_whole = False
        try:
            if not goes_on:
                self._check_topic()
            yield from self._messages(stream)
            is_whole = self.lost is None
        finally:
            if is_whole:
                stream.leave(read.end)
                client.give_back(stream)
            else:
                stream.close()

    def _messages(self, stream: KeptStream) -> Iterator[MessageBatch]:
        end, most = self._read.end, _FIRST_BLOCK
        silence = _Silence(self._patience)
        self._reached = max(self._reached, min(stream.position, end))  # it may know of a gap
        while self._reached < end:
            fetched = self._fetch(stream, min(most, end - self._reached), silence)
            if fetched is None:
                continue
            with fetched.batch as batch:
                stream.end_at(end, batch)
                if len(batch):
                    most = _block(batch)
                    yield batch
            self._reached = max(self._reached, min(stream.position, end))

    def _fetch(self, stream: KeptStream, most: int, silence: _Silence) -> Fetched | None:
        """What comes next; None if it is nothing, and one should try again."""
        before = stream.position
        fetched = error = None
        with silence:
            try:
                fetched = stream.fetch(most, _WAIT_SECONDS)
            except KafkaError as found:
                error = found
        if fetched is not None and (len(fetched.batch) or stream.position > before):
            silence.is_over()
            self._asked_in_vain = False
        elif error is not None or silence.is_long:
            with silence:
                self._ask(stream, error)
            silence.has_asked()
            if silence.is_too_long:
                raise self._gives_up(stream, error)
        return fetched

    # --- what is wrong ----------------------------------------------------------------------------

    def _ask(self, stream: KeptStream, error: KafkaError | None) -> None:
        """Finds out why nothing comes. What is lost is passed over."""
        says_gone = error is not None and (error.says_offset_is_gone or error.says_topic_is_gone)
        if error is not None and not says_gone and not is_passing(error):
            raise error
        try:
            there, missing = self._look()
        except SourceUnavailableError:
            return  # that is why
        read, at = self._read, self._reached
        extent = there.extents.get(Partition(read.topic, read.partition))
        if self._is_another(there.ids):
            self._lose(read.end, "the topic was made anew")
        elif extent is None:
            # A broker that has just started may not know everything yet.
            if self._asked_in_vain:
                what = "topic" if missing else "partition"
                self._lose(read.end, f"the {what} is not there any more")
            self._asked_in_vain = True
        elif extent.first > at:
            self._lose(min(extent.first, read.end), "the messages were deleted")
            if extent.first < read.end:
                stream.go_to(extent.first)
        elif says_gone:
            stream.go_to(at)

    def _check_topic(self) -> None:
        """Is it the topic that was there when the range was taken? Offsets do not tell."""
        if not self._read.topic_id:
            return
        try:
            there, _ = self._look()
        except SourceUnavailableError:
            return
        if self._is_another(there.ids):
            self._lose(self._read.end, "the topic was made anew")

    def _look(self) -> tuple[Topics, list[str]]:
        seconds = min(_ASK_SECONDS, self._patience)
        return cluster_of(self._options).topics([self._read.topic], seconds)

    def _is_another(self, ids: Any) -> bool:
        known, found = self._read.topic_id, ids.get(self._read.topic)
        return bool(known) and bool(found) and known != found

    def _lose(self, upto: int, reason: str) -> None:
        start = self._reached if self.lost is None else int(self.lost.position["offset"])
        self.lost = _lost(self._read, start, upto, reason)
        self._reached = upto

    def _gives_up(self, stream: KeptStream, error: KafkaError | None) -> SourceUnavailableError:
        read, said = self._read, error or stream.trouble
        place = f"topic `{read.topic}`, partition {read.partition}"
        reason = "" if said is None else f": {said.problems[0].message}"
        return SourceUnavailableError(
            f"{place}: nothing came for {self._patience:.0f} seconds at offset {self._reached},"
            f" of a range that ends at {read.end}{reason}",
            "see whether the brokers are well; option `patience` says how long to wait for them",
        )


class _Silence:
    """How long nothing has come, not counting what others do with what has come."""

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._began = 0.0
        self.is_over()

    def __enter__(self) -> None:
        self._began = time.monotonic()

    def __exit__(self, *error: object) -> None:
        self._seconds += time.monotonic() - self._began

    def is_over(self) -> None:
        self._seconds = 0.0
        self._asked = 0.0

    @property
    def is_long(self) -> bool:
        return self._seconds - self._asked >= min(_ASK_SECONDS, self._patience)

    @property
    def is_too_long(self) -> bool:
        return self._seconds >= self._patience

    def has_asked(self) -> None:
        """The next time to ask is in a while."""
        self._asked = self._seconds


class _Found:
    """Messages that were decoded together, for the letters of those that are bad."""

    def __init__(self, batch: MessageBatch) -> None:
        self._batch = batch

    def payload(self, number: int) -> bytes:
        return self._batch.payload(number) or b""

    def position(self, number: int) -> Position:
        batch = self._batch
        return _position(batch.topic, batch.partition, batch.offset(number))


def _position(topic: str, partition: int, offset: int) -> dict[str, Any]:
    return {"topic": topic, "partition": partition, "offset": offset}


def _lost(read: OffsetRange, start: int, end: int, reason: str) -> LostRangeError:
    """The loss of messages from one offset up to another; in a topic that is another now, of all
    that nobody had read."""
    position = _position(read.topic, read.partition, start)
    if end > start:
        position["upto"] = end - 1
    what = f"offsets {start} to {end - 1} of" if end > start else f"what followed offset {start} in"
    text = f"{what} topic `{read.topic}`, partition {read.partition}, are lost: {reason}"
    return LostRangeError(read.key, position, text, damaged=False)


def _with_rows(decoded: Decoded, batch: MessageBatch, projection: DecodeProjection) -> Decoded:
    """Rows of messages without a payload among the others, none of which has columns."""
    rows = decoded.row_positions
    numbers = range(decoded.batch.num_rows) if rows is None else rows
    merged = sorted([*numbers, *batch.nulls])
    return Decoded(
        batch_of(projection, [], len(merged)), decoded.bad, decoded.mistyped, row_positions=merged
    )


def _block(batch: MessageBatch) -> int:
    """How many messages to ask for next, if they are as large as these."""
    return max(1, min(_BLOCK_PAYLOADS, _BLOCK_BYTES * len(batch) // max(1, batch.size)))
