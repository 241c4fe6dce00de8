"""The rows of a data frame as JSON, as the sinks write them."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import DataFrame

from narrows.formats.encoder import Values
from narrows.formats.json.encoder import JsonEncoder
from narrows.spark.write.sink_frame import as_encodable

_LINE = "line"


def json_lines(frame: DataFrame, timezone: str) -> Iterator[str]:
    """Encoded in the workers, so that a large result need not fit into memory here."""
    for row in json_frame(frame, timezone).toLocalIterator():
        yield row[_LINE]


def json_frame(frame: DataFrame, timezone: str) -> DataFrame:
    """The same as a data frame of one column."""
    names = list(frame.columns)

    def encode(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        encoder = JsonEncoder(timezone)
        for batch in batches:
            rows = [Values(name, array) for name, array in zip(names, batch.columns, strict=True)]
            yield pa.RecordBatch.from_arrays([encoder.objects(rows, "")], names=[_LINE])

    inner = as_encodable(frame.toDF(*[f"o{place}" for place in range(len(names))]))
    return inner.mapInArrow(encode, f"{_LINE} STRING")
