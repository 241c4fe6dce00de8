"""What one task does: lines of its file ranges, decoded, tested, shipped as Arrow batches.

Runs in a Spark Python worker, but knows nothing of Spark. Memory is bounded by the block of lines
that is being decoded, whatever the size of the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from narrows.codecs.decoder import Decoded, decoder_for
from narrows.codecs.predicate import keep
from narrows.files.lines import read_blocks
from narrows.files.ranges import FileRange
from narrows.spark.dead_letters import DeadLetters
from narrows.spark.read_spec import ROWS_ONLY, ReadSpec
from narrows.spark.statistics import ReadCounts


def read_partition(spec: ReadSpec, ranges: Sequence[FileRange]) -> Iterator[pa.RecordBatch]:
    decoder = decoder_for(spec.format, spec.options)
    for read in ranges:
        counts = ReadCounts()
        with DeadLetters(spec, read) as dead_letters:
            for block in read_blocks(read):
                decoded = decoder.decode_with_projection(block.payloads, spec.projection)
                dead_letters.add(block, decoded.bad)
                shipped = ship(spec, decoded)
                counts.add(block, decoded, shipped)
                if shipped.num_rows:
                    yield shipped
        counts.save(spec.statistics, read)


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
