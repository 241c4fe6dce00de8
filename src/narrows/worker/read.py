"""What one task does: payloads of its file ranges, decoded, tested, shipped as Arrow batches.

Runs in a Spark Python worker, but knows nothing of Spark. Memory is bounded by the block of lines
that is being decoded, whatever the size of the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import pyarrow as pa

from narrows.files.faults import DamagedFileError, LostFileError
from narrows.files.lines import BLOCK_BYTES, FileLines, read_blocks
from narrows.files.ranges import FileRange, compression_of
from narrows.files.remains import remains_of
from narrows.formats.decoder import (
    BadPayload,
    Decoded,
    LineDecoder,
    RangeDecoder,
    RecordDecoder,
    decoder_for,
)
from narrows.formats.headers import decoder_for_file
from narrows.projection.predicate import keep
from narrows.sql.statements import OptionValue
from narrows.worker.counts import ReadCounts
from narrows.worker.dead_letters import DeadLetters
from narrows.worker.event_time import with_event_time
from narrows.worker.fragments import encode_fragments
from narrows.worker.read_spec import ROWS_ONLY, ReadSpec
from narrows.worker.row_order import Order, Place, RowOrder

_SHIPPED_ROWS = 8_192
_SHIPPED_BYTES = 4 << 20
_CACHED_BYTES = 512 << 10
_NARROW = 24
_LARGE_BYTES = 16 << 20
_WIDE = 1_000
_KEPT_DECODERS = 8


class Part(NamedTuple):
    """Some rows of a range: from a block of lines, or from a row group where there are no lines."""

    decoded: Decoded
    size: int
    block: FileLines | None = None


def read_partition(
    spec: ReadSpec,
    ranges: Sequence[FileRange],
    places: Sequence[Place] = (),
    total: ReadCounts | None = None,
) -> Iterator[pa.RecordBatch]:
    """The rows of these ranges.

    `places` says where each stands in the source, for plans that need order; `total` is for whoever
    wants to know what was counted.
    """
    for number, read in enumerate(ranges):
        counts = ReadCounts()
        order = RowOrder(places[number]) if spec.order is not None else None
        with DeadLetters(spec, read) as dead_letters:
            waiting = _Waiting()
            try:
                for part in _parts(spec, read):
                    dead_letters.add(part.block, part.decoded.bad)
                    shipped = ship(spec, part.decoded, order)
                    size = int(shipped.nbytes)
                    counts.add(part.size, part.decoded, shipped.num_rows, size)
                    waiting.add(shipped, size)
                    if waiting.is_worth_shipping:
                        yield waiting.take()
            except DamagedFileError as damage:
                # One letter for all that is lost, and on to the next file.
                dead_letters.add(None, [BadPayload(counts.payload_bytes, damage.reason)])
                counts.add_bad()
            except LostFileError as lost:
                if spec.on_missing == "fail":
                    raise
                _lose(spec, read, lost, total)
            if waiting.rows:
                yield waiting.take()
        counts.save(spec.statistics, read)
        if total is not None:
            total.merge(counts)


def _lose(spec: ReadSpec, read: FileRange, lost: LostFileError, total: ReadCounts | None) -> None:
    """One letter and one count for a lost file, however many of its ranges find it so.

    All of them write the same, under the name of the file's empty range, which nobody reads. Not
    only one of them may, for the file may have gone when others had been read already. (Where
    counts are not kept by name, that of the range in which the loss begins has to do.)
    """
    whole, counts = FileRange(read.path, 0, 0), ReadCounts()
    with DeadLetters(spec, whole) as dead_letters:
        dead_letters.add(None, [BadPayload(lost.kept, lost.reason)])
    counts.add_bad()
    counts.save(spec.statistics, whole)
    if total is not None and read.start <= lost.kept < read.end:
        total.merge(counts)


class _Waiting:
    """Batches that wait for others, because each costs the JVM something by itself."""

    def __init__(self) -> None:
        self.rows = 0
        self._size = 0
        self._batches: list[pa.RecordBatch] = []

    def add(self, batch: pa.RecordBatch, size: int) -> None:
        if batch.num_rows:
            self._batches.append(batch)
            self.rows += batch.num_rows
            self._size += size

    @property
    def is_worth_shipping(self) -> bool:
        return self.rows >= _SHIPPED_ROWS or self._size >= _SHIPPED_BYTES

    def take(self) -> pa.RecordBatch:
        batches, self._batches = self._batches, []
        self.rows = self._size = 0
        return batches[0] if len(batches) == 1 else pa.concat_batches(batches)


def _parts(spec: ReadSpec, read: FileRange) -> Iterator[Part]:
    has_lines = spec.format != "parquet" and compression_of(read.path) is None
    there, lost = remains_of(read, has_lines=has_lines)
    try:
        yield from _read_parts(spec, there)
    except DamagedFileError as damage:
        raise (lost or damage) from damage  # it is damaged because the end of it is lost
    if lost is not None:
        raise lost


def _read_parts(spec: ReadSpec, read: FileRange) -> Iterator[Part]:
    if spec.format == "parquet":
        from narrows.formats.parquet.reader import read_row_groups

        # Groups of rows may be skipped only where nobody asks for the event time of every row.
        skipping = spec.predicate if spec.event_time is None else None
        groups = read_row_groups(read, spec.projection, skipping)
        return (Part(with_time(spec, group.decoded), group.size) for group in groups)
    return _lines(spec, read)


def _lines(spec: ReadSpec, read: FileRange) -> Iterator[Part]:
    kept = kept_decoder(spec)
    if isinstance(kept, RangeDecoder) and compression_of(read.path) is None:
        # It decodes what is in the cache, however large a block is. But text that is copied into
        # the sink's files is worth keeping there, and new memory costs as much as copying does.
        block_bytes = BLOCK_BYTES if spec.fragments else _LARGE_BYTES
        for found in kept.decode_range(
            read, spec.projection, block_bytes=block_bytes, block_payloads=_SHIPPED_ROWS
        ):
            yield Part(with_time(spec, found.decoded), found.size, found.lines)
        return
    decoder, skip_before = decoder_for_file(kept, read.path)
    blocks = read_blocks(
        read,
        skip_before=skip_before,
        keep_blank=spec.format == "text",  # where a blank line is a row
        block_bytes=_block_bytes(len(spec.projection.columns)),
    )
    finds_lines = decoder if isinstance(decoder, LineDecoder) else None
    for block in blocks:
        if finds_lines is not None:
            decoded = finds_lines.decode_lines(block.pieces, spec.projection)
        else:
            decoded = decoder.decode_with_projection(block.payloads, spec.projection)
        yield Part(with_time(spec, decoded), block.size, block)


def kept_decoder(spec: ReadSpec) -> RecordDecoder:
    """Kept for the worker's next range: what a decoder makes of a wide projection costs seconds."""
    return _decoder(spec.format, tuple(sorted(spec.options.items())))


@lru_cache(maxsize=_KEPT_DECODERS)
def _decoder(format: str, options: tuple[tuple[str, OptionValue], ...]) -> RecordDecoder:
    return decoder_for(format, dict(options))


def _block_bytes(columns: int) -> int:
    """Lines are decoded while they are in the cache, unless there are so many columns that making
    the arrays of a block costs more than that saves."""
    if columns <= _NARROW:
        return _CACHED_BYTES
    return BLOCK_BYTES if columns < _WIDE else _LARGE_BYTES


def with_time(spec: ReadSpec, decoded: Decoded) -> Decoded:
    """The rows that have an event time, where the source declares one."""
    return decoded if spec.event_time is None else with_event_time(decoded, spec.event_time)


def ship(spec: ReadSpec, decoded: Decoded, order: Order | None = None) -> pa.RecordBatch:
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
    shipped = list(zip(spec.names, batch.columns, strict=False))
    if made is None:
        zone = str(spec.options.get("timezone", "UTC"))
        shipped += zip(spec.fragments, encode_fragments(spec.projection, batch, zone), strict=True)
    shipped += [(name, batch.column(width + place)) for place, (name, _) in enumerate(behind)]
    if shipped:
        names, arrays = zip(*shipped, strict=True)
        return pa.RecordBatch.from_arrays(list(arrays), names=list(names))
    rows = pa.nulls(batch.num_rows, pa.bool_())
    return pa.RecordBatch.from_arrays([rows], names=[ROWS_ONLY])
