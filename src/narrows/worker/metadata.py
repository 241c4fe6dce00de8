"""Columns that come with payloads, put beside those that were decoded out of them.

    payloads        p0        p1 (bad)   p2        the reader says    _offset: 7, 8, 9   _topic: t
    decoded rows    a=1                  a=3       the decoder says   row_positions: 0, 2
    rows            a=1, _offset=7, _topic=t       a=3, _offset=9, _topic=t

A connector's reader makes whole values, of those columns only that are wanted. Who wants parts of
them gets those as flat columns, like the parts of a decoded value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa

from narrows.arrow.extract import Extraction
from narrows.arrow.types import arrow_type
from narrows.connectors.base import Part, RangeReader
from narrows.demand import ALL, fields
from narrows.formats.decoder import Decoded
from narrows.projection.columns import DecodeProjection


def demanded_metadata(projection: DecodeProjection) -> tuple[str, ...]:
    """The metadata columns that somebody looks at, in the order in which they are declared."""
    looked_at = {column.path[0] for column in projection.of_metadata.columns}
    return tuple(name for name in projection.metadata.names if name in looked_at)


class MetadataReader:
    """A connector's reader whose parts have all columns of a projection, in its order."""

    def __init__(self, reader: RangeReader, projection: DecodeProjection) -> None:
        self._reader = reader
        self._projection = projection
        self._wanted = projection.of_metadata
        names = demanded_metadata(projection)
        self._whole = DecodeProjection(self._wanted.schema, fields(dict.fromkeys(names, ALL)))
        self._extraction = Extraction(self._whole, self._wanted)

    def parts(self, read: Any) -> Iterator[Part]:
        for part in self._reader.parts(read):
            yield part._replace(decoded=self._joined(part), metadata=())

    def _joined(self, part: Part) -> Decoded:
        decoded = part.decoded
        values = [
            _of_rows(value, arrow_type(column.dtype), decoded)
            for column, value in zip(self._whole.columns, part.metadata, strict=True)
        ]
        needed = [values[place] for place in self._extraction.needs]
        made = self._extraction.apply(needed, decoded.batch.num_rows)
        # A decoder that makes fragments leaves out the columns that are for those only: the last.
        of_payload = zip(self._projection.payload.columns, decoded.batch.columns, strict=False)
        found = dict(of_payload) | dict(zip(self._wanted.columns, made, strict=True))
        columns = [column for column in self._projection.columns if column in found]
        batch = pa.RecordBatch.from_arrays(
            [found[column] for column in columns], names=[column.text for column in columns]
        )
        return replace(decoded, batch=batch)


def _of_rows(value: pa.Array | pa.Scalar, dtype: pa.DataType, decoded: Decoded) -> pa.Array:
    """The values of the payloads that rows were made of."""
    rows = decoded.batch.num_rows
    if isinstance(value, pa.Scalar):
        return pa.repeat(value.cast(dtype), rows)
    if decoded.row_positions is None:
        found = value.slice(0, rows)
    else:
        found = value.take(pa.array(decoded.row_positions, pa.int64()))
    return found if found.type == dtype else found.cast(dtype)
