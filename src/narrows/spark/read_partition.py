"""What one task does: payloads of its file ranges, decoded, tested, shipped as Arrow batches.

Runs in a Spark Python worker, but knows nothing of Spark. Memory is bounded by the block of lines
that is being decoded, whatever the size of the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa

from narrows.codecs.decoder import Decoded, LineDecoder, decoder_for
from narrows.codecs.predicate import keep
from narrows.files.headers import decoder_for_file
from narrows.files.lines import BLOCK_BYTES, Block, read_blocks
from narrows.files.ranges import FileRange
from narrows.spark.dead_letters import DeadLetters
from narrows.spark.read_spec import ROWS_ONLY, ReadSpec
from narrows.spark.statistics import ReadCounts

_SHIPPED_ROWS = 8_192
_SHIPPED_BYTES = 4 << 20
_CACHED_BYTES = 512 << 10
_NARROW = 24


class Part(NamedTuple):
    """Some rows of a range: from a block of lines, or from a row group where there are no lines."""

    decoded: Decoded
    size: int
    block: Block | None = None


def read_partition(spec: ReadSpec, ranges: Sequence[FileRange]) -> Iterator[pa.RecordBatch]:
    for read in ranges:
        counts = ReadCounts()
        with DeadLetters(spec, read) as dead_letters:
            waiting = _Waiting()
            for part in _parts(spec, read):
                if part.block is not None:
                    dead_letters.add(part.block, part.decoded.bad)
                shipped = ship(spec, part.decoded)
                size = int(shipped.nbytes)
                counts.add(part.size, part.decoded, shipped.num_rows, size)
                waiting.add(shipped, size)
                if waiting.is_worth_shipping:
                    yield waiting.take()
            if waiting.rows:
                yield waiting.take()
        counts.save(spec.statistics, read)


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
        return pa.concat_batches(batches)


def _parts(spec: ReadSpec, read: FileRange) -> Iterator[Part]:
    if spec.format == "parquet":
        from narrows.codecs.parquet import read_row_groups

        return (Part(batch.decoded, batch.size) for batch in read_row_groups(read, spec.projection))
    return _lines(spec, read)


def _lines(spec: ReadSpec, read: FileRange) -> Iterator[Part]:
    decoder, skip_before = decoder_for_file(decoder_for(spec.format, spec.options), read.path)
    # Lines are decoded while they are in the cache, unless there are so many columns that making
    # the arrays of a block costs more than that saves.
    narrow = len(spec.projection.columns) <= _NARROW
    blocks = read_blocks(
        read,
        skip_before=skip_before,
        keep_blank=spec.format == "text",  # where a blank line is a row
        block_bytes=_CACHED_BYTES if narrow else BLOCK_BYTES,
    )
    finds_lines = decoder if isinstance(decoder, LineDecoder) else None
    for block in blocks:
        if finds_lines is not None:
            decoded = finds_lines.decode_lines(block.pieces, spec.projection)
        else:
            decoded = decoder.decode_with_projection(block.payloads, spec.projection)
        yield Part(decoded, block.size, block)


def ship(spec: ReadSpec, decoded: Decoded) -> pa.RecordBatch:
    """The rows that pass the tests, with the columns that somebody needs outside."""
    batch = decoded.batch
    if spec.predicate is not None:
        batch = keep(batch, spec.predicate)
    if spec.names:
        columns = batch.columns[: len(spec.names)]
        return pa.RecordBatch.from_arrays(columns, names=list(spec.names))
    rows = pa.nulls(batch.num_rows, pa.bool_())
    return pa.RecordBatch.from_arrays([rows], names=[ROWS_ONLY])
