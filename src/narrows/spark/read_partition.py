"""What one task does: payloads of its file ranges, decoded, tested, shipped as Arrow batches.

Runs in a Spark Python worker, but knows nothing of Spark. Memory is bounded by the block of lines
that is being decoded, whatever the size of the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import pyarrow as pa

from narrows.codecs.decoder import Decoded, LineDecoder, RecordDecoder, decoder_for
from narrows.codecs.delayed import encode_fragments
from narrows.codecs.predicate import keep
from narrows.files.headers import decoder_for_file
from narrows.files.lines import BLOCK_BYTES, Block, read_blocks
from narrows.files.ranges import FileRange
from narrows.spark.dead_letters import DeadLetters
from narrows.spark.read_spec import ROWS_ONLY, ReadSpec
from narrows.spark.statistics import ReadCounts
from narrows.sql.statements import OptionValue

_SHIPPED_ROWS = 8_192
_SHIPPED_BYTES = 4 << 20
_CACHED_BYTES = 512 << 10
_NARROW = 64
_WIDE_BYTES = 16 << 20
_WIDE = 1_000
_KEPT_DECODERS = 8


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
                    yield _joined(waiting)
                    waiting = []
            if waiting:
                yield _joined(waiting)
        counts.save(spec.statistics, read)


def _is_worth_shipping(batches: Sequence[pa.RecordBatch]) -> bool:
    """A batch costs the JVM something by itself, so small ones wait for others."""
    rows = sum(int(batch.num_rows) for batch in batches)
    return rows >= _SHIPPED_ROWS or sum(int(b.nbytes) for b in batches) >= _SHIPPED_BYTES


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)


def _parts(spec: ReadSpec, read: FileRange) -> Iterator[Part]:
    if spec.format == "parquet":
        from narrows.codecs.parquet import read_row_groups

        return (Part(batch.decoded, batch.size) for batch in read_row_groups(read, spec.projection))
    return _lines(spec, read)


def _lines(spec: ReadSpec, read: FileRange) -> Iterator[Part]:
    kept = _kept_decoder(spec.format, tuple(sorted(spec.options.items())))
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
        yield Part(decoded, block.size, block)


@lru_cache(maxsize=_KEPT_DECODERS)
def _kept_decoder(format: str, options: tuple[tuple[str, OptionValue], ...]) -> RecordDecoder:
    """Kept for the worker's next range: what a decoder makes of a wide projection costs seconds."""
    return decoder_for(format, dict(options))


def _block_bytes(columns: int) -> int:
    """Lines are decoded while they are in the cache, unless there are so many columns that making
    the arrays of a block costs more than that saves."""
    if columns <= _NARROW:
        return _CACHED_BYTES
    return BLOCK_BYTES if columns < _WIDE else _WIDE_BYTES


def ship(spec: ReadSpec, decoded: Decoded) -> pa.RecordBatch:
    """The rows that pass the tests, with the columns that somebody needs outside."""
    batch, made = decoded.batch, decoded.fragments
    if made is not None:
        # Behind the columns, where they are filtered along.
        names = [*batch.schema.names, *spec.fragments]
        batch = pa.RecordBatch.from_arrays([*batch.columns, *made], names=names)
    if spec.predicate is not None:
        batch = keep(batch, spec.predicate)
    if not (spec.names or spec.fragments):
        rows = pa.nulls(batch.num_rows, pa.bool_())
        return pa.RecordBatch.from_arrays([rows], names=[ROWS_ONLY])
    if made is None:
        zone = str(spec.options.get("timezone", "UTC"))
        fragments = encode_fragments(spec.projection, batch, zone)
    else:
        fragments = batch.columns[batch.num_columns - len(made) :]
    arrays = [*batch.columns[: len(spec.names)], *fragments]
    return pa.RecordBatch.from_arrays(arrays, names=[*spec.names, *spec.fragments])
