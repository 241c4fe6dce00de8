"""What one task does with payloads that Spark has read: rows of a data frame, decoded and shipped.

Nobody knows where Spark has them from. So the place of a payload is the time at which its
micro-batch began, the task, and its number there: enough to tell two equal payloads apart, and the
same when a task is tried again. A table has no micro-batches, and is the same whenever it is read.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from narrows.connectors.base import Position
from narrows.formats.decoder import ArrayDecoder, Decoded
from narrows.worker.count_files import CountsPart
from narrows.worker.counts import ReadCounts
from narrows.worker.dead_letters import DeadLetters
from narrows.worker.newest_time import NewestTime
from narrows.worker.read import Shipping, kept_decoder, ship, with_time
from narrows.worker.read_spec import ReadSpec
from narrows.worker.row_order import RangePlace, RowOrder


class _Messages:
    """Payloads of one Arrow batch."""

    def __init__(self, payloads: pa.Array, place: Position, first: int) -> None:
        self._payloads = payloads
        self._place = place
        self._first = first

    def payload(self, number: int) -> bytes:
        found: bytes = self._payloads[number].as_py()
        return found

    def position(self, number: int) -> Position:
        return {**self._place, "row": self._first + number}


def decode_messages(
    spec: ReadSpec, batches: Iterator[pa.RecordBatch], task: int, total: ReadCounts | None = None
) -> Iterator[pa.RecordBatch]:
    """The rows of payloads that come with the time of their batch."""
    counts, first = ReadCounts(), 0
    shipping = Shipping(spec)
    newest = NewestTime(spec.newest, task, spec.event_time)
    order: RowOrder | None = None
    letters: DeadLetters | None = None
    place: dict[str, int] = {}
    part = CountsPart(None, 0, "")
    try:
        for batch in batches:
            if not batch.num_rows or shipping.is_done():
                continue
            at = batch.column(1)[0].as_py()
            if order is None or letters is None:
                order = RowOrder(RangePlace(at, task))
                place = {"task": task} if spec.bounded else {"batch": at, "task": task}
                letters = DeadLetters(spec, ":".join(map(str, (spec.source, *place.values()))))
                part = CountsPart(spec.statistics, 0 if spec.bounded else at, str(task))
            payloads = batch.column(0).cast(pa.binary()).drop_null()
            decoded = with_time(spec, _decoded(spec, payloads))
            newest.see(decoded.batch)
            letters.add(_Messages(payloads, place, first), decoded.bad)
            first += len(payloads)
            counts.add(payloads.nbytes, decoded)
            shipped = ship(spec, decoded, order)
            if shipped.num_rows:
                yield from shipping.of(iter((shipped,)), counts)
        yield from shipping.rest(counts)
    except BaseException:
        if letters is not None:
            letters.discard()
        raise
    if letters is not None:
        if shipping.is_done():
            letters.discard()  # others may have found more, and theirs are under the same name
        else:
            letters.publish()
        part.add(counts)
        newest.save()
    if total is not None:
        total.merge(counts)


def _decoded(spec: ReadSpec, payloads: pa.Array) -> Decoded:
    decoder = kept_decoder(spec)
    if isinstance(decoder, ArrayDecoder):
        return decoder.decode_array(payloads, spec.projection)
    return decoder.decode_with_projection(payloads.to_pylist(), spec.projection)
