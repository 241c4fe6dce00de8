"""A format that Narrows does not have: Arrow's own files. This is all there is to it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import IO

import pyarrow as pa
import pyarrow.ipc

from narrows.arrow.batches import batch_of
from narrows.arrow.nested import Projector
from narrows.files.ranges import FileRange
from narrows.formats import Container, Decoded, DecodedPart, Encoded, Format, RowColumns
from narrows.projection.columns import DecodeProjection
from narrows.projection.predicate import Predicate


class ArrowReader:
    def read(
        self, read: FileRange, projection: DecodeProjection, predicate: Predicate | None
    ) -> Iterator[DecodedPart]:
        with pyarrow.ipc.open_stream(read.path) as batches:
            for batch in batches:
                projector = Projector(batch, projection, read.path)
                rows = batch_of(projection, projector.columns(), batch.num_rows)
                yield DecodedPart(Decoded(rows, mistyped=projector.mistyped), batch.nbytes)


class ArrowEncoder:
    def open(self, file: IO[bytes]) -> ArrowWriter:
        return ArrowWriter(file)


class ArrowWriter:
    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._writer: pa.RecordBatchStreamWriter | None = None

    def add(self, rows: RowColumns) -> None:
        columns = {part.name: part.array for part in rows if not isinstance(part, Encoded)}
        batch = pa.RecordBatch.from_pydict(columns)
        if self._writer is None:
            self._writer = pyarrow.ipc.new_stream(self._file, batch.schema)
        self._writer.write_batch(batch)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


FORMAT = Format(
    name="toy",
    source_options=(),
    sink_options=(),
    framing=Container(range_bytes=sys.maxsize),  # nobody can begin to read in its middle
    reader=lambda options: ArrowReader(),
    encoder=lambda options: ArrowEncoder(),
    suffix=".arrows",
)
