"""What one task does: payloads of its ranges, decoded, tested, shipped as Arrow batches.

Runs in a Spark Python worker, but knows nothing of Spark, nor where payloads come from: that is the
connector's business.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from functools import lru_cache
from typing import Protocol

import pyarrow as pa

from narrows.arrow.types import arrow_type
from narrows.connectors.base import (
    Decoding,
    LostRangeError,
    Range,
    RangeReader,
    Segmented,
    Share,
)
from narrows.connectors.opening import open_reader as open_connector_reader
from narrows.connectors.opening import open_source
from narrows.formats.base import find_format
from narrows.formats.decoder import ContainerReader, Decoded, RecordDecoder
from narrows.formats.fragments import encode_fragments
from narrows.plugins.options import OptionValue
from narrows.worker.count_files import CountsPart
from narrows.worker.counts import ReadCounts
from narrows.worker.dead_letters import DeadLetters, key_name
from narrows.worker.evaluate import evaluate, keep
from narrows.worker.event_time import with_event_time
from narrows.worker.first_rows import FirstRows, TopRows
from narrows.worker.keys.handed_rows import RowKeeper
from narrows.worker.keys.key_sets import KeyGatherer, KeySet
from narrows.worker.metadata import MetadataReader, demanded_metadata
from narrows.worker.newest_time import NewestTime
from narrows.worker.partial_aggregator import PartialAggregator
from narrows.worker.read_spec import ROWS_ONLY, Gathered, ReadSpec
from narrows.worker.row_order import Order, RangePlace, RowOrder, RunsOrder

_SHIPPED_ROWS = 8_192
_SHIPPED_BYTES = 4 << 20
_KEPT_DECODERS = 8


def read_entry(
    spec: ReadSpec,
    entry: object,
    number: int,
    task: int,
    tasks: int,
    keys: Sequence[KeySet] = (),
) -> Iterator[pa.RecordBatch]:
    """The rows that one of so many tasks reads of an entry."""
    source = open_source(spec.connector, spec.declared)
    for share in source.split(entry, tasks)[task : task + 1]:
        yield from read_share(spec, share, number, task=task, keys=keys)


def read_share(
    spec: ReadSpec,
    share: Share,
    batch: int = 0,
    total: ReadCounts | None = None,
    *,
    task: int = 0,
    reader: RangeReader | None = None,
    keys: Sequence[KeySet] = (),
) -> Iterator[pa.RecordBatch]:
    """The rows of some ranges. `batch` is the number of their entry and `task` that of the share;
    `total` is for whoever wants to know what was counted, `reader` from whoever has one open;
    `keys` are what the columns of `spec.keys` are tested by."""
    reader = reader or open_reader(spec)
    part = CountsPart(spec.statistics, batch, str(task))
    newest = NewestTime(spec.newest, task, spec.event_time)
    shipping, last = Shipping(spec, task), []
    for read, number in zip(share.ranges, share.places, strict=True):
        if shipping.is_done():
            break
        counts, waiting, place = ReadCounts(), _Waiting(shipping.wanted), RangePlace(batch, number)
        reading = _read(spec, reader, read, place, keys, waiting, counts, total, newest)
        with closing(reading) as rows:
            for shipped in shipping.of(rows, counts):
                if shipping.is_done():
                    last.append(shipped)
                else:
                    yield shipped
        part.add(counts)
        if total is not None:
            total.merge(counts)
    counts = ReadCounts()
    yield from shipping.rest(counts)
    part.add(counts)
    part.save()
    newest.save()
    if total is not None:
        total.merge(counts)
    yield from last  # who has them may not wait for us any more


def _read(
    spec: ReadSpec,
    reader: RangeReader,
    read: Range,
    place: RangePlace,
    keys: Sequence[KeySet],
    waiting: _Waiting,
    counts: ReadCounts,
    total: ReadCounts | None,
    newest: NewestTime,
) -> Generator[pa.RecordBatch]:
    order: Order = (
        RunsOrder(read.batch, read.runs) if isinstance(read, Segmented) else RowOrder(place)
    )
    with DeadLetters(spec, read.key) as dead_letters:
        try:
            for part in reader.parts(read):
                decoded = with_time(spec, part.decoded)
                newest.see(decoded.batch)
                dead_letters.add(part.payloads, decoded.bad)
                counts.add(part.size, decoded)
                waiting.add(ship(spec, decoded, order, keys))
                if waiting.is_worth_shipping:
                    yield waiting.take()
        except LostRangeError as lost:
            if not lost.damaged and spec.on_missing == "fail":
                raise
            if lost.key == read.key:
                dead_letters.add_lost(lost)
                counts.add_bad()
            else:
                _lose(spec, lost, place.batch, total)
        if waiting.rows:
            yield waiting.take()


def _lose(spec: ReadSpec, lost: LostRangeError, batch: int, total: ReadCounts | None) -> None:
    """One letter and one count for something that several ranges find lost."""
    counts = ReadCounts()
    with DeadLetters(spec, lost.key) as dead_letters:
        dead_letters.add_lost(lost)
    counts.add_bad()
    CountsPart(spec.statistics, batch, key_name(lost.key)).add(counts)
    if total is not None and lost.counted:
        total.merge(counts)


def open_reader(spec: ReadSpec) -> RangeReader:
    # Rows may be skipped unseen only where nobody asks for the event time of each.
    metadata = demanded_metadata(spec.projection)
    skipping = spec.skipping if spec.event_time is None else None
    decoding = Decoding(
        format=find_format(spec.format),
        decoder=lambda: kept_decoder(spec),
        container=lambda: _container(spec.format, _items(spec)),
        projection=spec.projection.payload,
        metadata=metadata,
        skipping=skipping,
        encodes=bool(spec.fragments),
        takes_null_payloads=spec.takes_null_payloads,
    )
    reader = open_connector_reader(spec.connector, spec.declared, decoding)
    return MetadataReader(reader, spec.projection) if metadata else reader


class _Gathers(Protocol):
    """Takes the rows of a task, and ships something else, or less."""

    @property
    def wanted(self) -> int | None:
        """How many rows it still takes; None: all that there are."""

    def add(self, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]: ...

    def rest(self) -> Iterator[pa.RecordBatch]: ...


class Shipping:
    """What becomes of a task's rows on their way out: they are aggregated, their keys gathered, the
    first of them taken, where the planner says so, and counted."""

    def __init__(self, spec: ReadSpec, task: int = 0) -> None:
        self._gathers: _Gathers | None = None
        self._hands_on = spec.gathers is Gathered.ROWS
        if spec.partial is not None:
            self._gathers = PartialAggregator(spec.partial)
        elif spec.gathers is Gathered.ROWS:
            assert spec.hands_on is not None
            self._gathers = RowKeeper(spec.hands_on, task, spec.partitions)
        elif spec.gathers is Gathered.KEYS:
            self._gathers = KeyGatherer(spec.gathers.value)
        elif spec.limit is not None:
            whichever = not spec.limit.keys
            self._gathers = FirstRows(spec.limit.count) if whichever else TopRows(spec.limit)

    @property
    def wanted(self) -> int | None:
        return None if self._gathers is None else self._gathers.wanted

    def is_done(self) -> bool:
        """Does it take no more rows? Then nothing more need be read."""
        return self.wanted == 0

    def of(self, rows: Iterator[pa.RecordBatch], counts: ReadCounts) -> Iterator[pa.RecordBatch]:
        for batch in rows:
            if self._hands_on:  # whoever takes them does not count
                counts.add_shipped(batch)
            for shipped in (batch,) if self._gathers is None else self._gathers.add(batch):
                counts.add_shipped(shipped)
                yield shipped
            if self.is_done():
                break

    def rest(self, counts: ReadCounts) -> Iterator[pa.RecordBatch]:
        """What is left when there are no more rows."""
        for shipped in () if self._gathers is None else self._gathers.rest():
            if not self._hands_on:
                counts.add_shipped(shipped)
            yield shipped


class _Waiting:
    """Batches that wait for others, because each costs the JVM something by itself."""

    def __init__(self, wanted: int | None) -> None:
        self.rows = 0
        self._enough = _SHIPPED_ROWS if wanted is None else min(wanted, _SHIPPED_ROWS)
        self._size = 0
        self._batches: list[pa.RecordBatch] = []

    def add(self, batch: pa.RecordBatch) -> None:
        if batch.num_rows:
            self._batches.append(batch)
            self.rows += batch.num_rows
            self._size += int(batch.nbytes)

    @property
    def is_worth_shipping(self) -> bool:
        return self.rows >= self._enough or self._size >= _SHIPPED_BYTES

    def take(self) -> pa.RecordBatch:
        batches, self._batches = self._batches, []
        self.rows = self._size = 0
        return batches[0] if len(batches) == 1 else pa.concat_batches(batches)


def kept_decoder(spec: ReadSpec) -> RecordDecoder:
    """Kept for the worker's next range: what a decoder makes of a wide projection costs seconds."""
    return _decoder(spec.format, _items(spec))


_Items = tuple[tuple[str, OptionValue], ...]


def _items(spec: ReadSpec) -> _Items:
    return tuple(sorted(spec.options.items()))


@lru_cache(maxsize=_KEPT_DECODERS)
def _decoder(format: str, options: _Items) -> RecordDecoder:
    return find_format(format).decoder(dict(options))


@lru_cache(maxsize=_KEPT_DECODERS)
def _container(format: str, options: _Items) -> ContainerReader:
    return find_format(format).reader(dict(options))


def with_time(spec: ReadSpec, decoded: Decoded) -> Decoded:
    """The rows that have an event time, where the source declares one."""
    return decoded if spec.event_time is None else with_event_time(decoded, spec.event_time)


def _columns(spec: ReadSpec, batch: pa.RecordBatch) -> list[tuple[str, pa.Array]]:
    if spec.computed is None:
        return list(zip(spec.names, batch.columns, strict=False))
    return [
        (name, evaluate(value, batch).cast(arrow_type(dtype)))
        for name, value, dtype in spec.computed
    ]


def ship(
    spec: ReadSpec, decoded: Decoded, order: Order | None = None, keys: Sequence[KeySet] = ()
) -> pa.RecordBatch:
    """The rows that pass the tests, with the columns that somebody needs outside."""
    batch, made = decoded.batch, decoded.fragments
    width = batch.num_columns
    # Behind the columns, where they are filtered along.
    behind = [] if made is None else list(zip(spec.fragments, made, strict=True))
    if spec.order is not None:
        assert order is not None
        # Numbered before the test: a row's place does not depend on which rows are kept.
        behind.append((spec.order, order.next(batch.num_rows)))
    if behind:
        names, arrays = zip(*behind, strict=True)
        batch = pa.RecordBatch.from_arrays(
            [*batch.columns, *arrays], names=[*batch.schema.names, *names]
        )
    if spec.predicate is not None:
        batch = keep(batch, spec.predicate)
    for test, among in zip(spec.keys, keys, strict=False):
        batch = batch.filter(among.has(batch.column(test.place)))
    shipped = _columns(spec, batch)
    if made is None:
        zone = str(spec.options.get("timezone", "UTC"))
        shipped += zip(spec.fragments, encode_fragments(spec.projection, batch, zone), strict=True)
    shipped += [(name, batch.column(width + place)) for place, (name, _) in enumerate(behind)]
    if shipped:
        names, arrays = zip(*shipped, strict=True)
        return pa.RecordBatch.from_arrays(list(arrays), names=list(names))
    rows = pa.nulls(batch.num_rows, pa.bool_())
    return pa.RecordBatch.from_arrays([rows], names=[ROWS_ONLY])
