"""Reads Arrow files, mapped into memory: columns that nobody wants are not even looked at."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from narrows.arrow.batches import batch_of
from narrows.arrow.names import places_by_name
from narrows.arrow.nested import Projector
from narrows.files.faults import damaged_or_unreadable, shown
from narrows.files.ranges import FileRange
from narrows.formats.decoder import Decoded, DecodedPart
from narrows.projection.columns import DecodeProjection
from narrows.projection.predicate import Predicate


class RowsReader:
    def read(
        self, read: FileRange, projection: DecodeProjection, predicate: Predicate | None
    ) -> Iterator[DecodedPart]:
        path = read.path
        try:
            with pa.memory_map(path) as mapped:
                schema = pa.ipc.open_file(mapped).schema
                options = pa.ipc.IpcReadOptions(included_fields=_wanted(schema, projection))
                reader = pa.ipc.open_file(mapped, options=options)
                batches = reader.num_record_batches
                for number in range(batches):
                    batch = reader.get_batch(number)
                    projector = Projector(batch, projection, shown(path))
                    made = batch_of(projection, projector.columns(), batch.num_rows)
                    decoded = Decoded(made, mistyped=projector.mistyped)
                    yield DecodedPart(decoded, read.file_size // batches)
        except (OSError, pa.ArrowException) as error:
            raise damaged_or_unreadable(path, error) from error


def _wanted(schema: pa.Schema, projection: DecodeProjection) -> list[int]:
    """The columns of the file that hold something of the projection. Arrow reads all of them when
    none is named: then we want one, to count rows."""
    places = places_by_name(schema.names, projection.schema)
    roots = {str(column.path[0]) for column in projection.columns}
    return sorted(place for name, place in places.items() if name in roots) or [0]
