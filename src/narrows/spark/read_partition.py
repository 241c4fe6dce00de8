"""What one task does: payloads of its file ranges, decoded, tested, shipped as Arrow batches.

Runs in a Spark Python worker, but knows nothing of Spark. Memory is bounded by the block of lines
that is being decoded, whatever the size of the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa

from narrows.codecs.decoder import Decoded, decoder_for
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
_NARROW = 64


class Part(NamedTuple):
    """Some rows of a range: from a block of lines, or from a row group where there are no lines."""

    decoded: Decoded
    size: int
    block: Block | None = None


def read_partition(spec: ReadSpec, ranges: Sequence[FileRange]) -> Iterator[pa.RecordBatch]:
    for read in ranges:
        counts = ReadCounts()
        with DeadLetters(spec, read) as dead_letters:
            waiting: list[pa.RecordBatch] = []
            for part in _parts(spec, read):
                if part.block is not None:
                    dead_letters.add(part.block, part.decoded.bad)
                shipped = ship(spec, part.decoded)
                counts.add(part.size, part.decoded, shipped)
                if shipped.num_rows:
                    waiting.append(shipped)
                if _is_worth_shipping(waiting):
                    yield pa.concat_batches(waiting)
                    waiting = []
            if waiting:
                yield pa.concat_batches(waiting)
        counts.save(spec.statistics, read)


def _is_worth_shipping(batches: Sequence[pa.RecordBatch]) -> bool:
    """A batch costs the JVM something by itself, so small ones wait for others."""
    rows = sum(int(batch.num_rows) for batch in batches)
    return rows >= _SHIPPED_ROWS or sum(int(b.nbytes) for b in batches) >= _SHIPPED_BYTES


def _parts(spec: ReadSpec, read: FileRange) -> Iterator[Part]:
    if spec.format == "parquet":
        from narrows.codecs.parquet import read_row_groups

        groups = read_row_groups(read, spec.projection, spec.predicate)
        return (Part(batch.decoded, batch.size) for batch in groups)
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
    for block in blocks:
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
