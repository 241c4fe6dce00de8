"""What the tasks of a reader read, and the columns that they ship.

Payloads are read *and decoded* in the executors' Python workers. What leaves are Arrow batches of
the demanded leaves; the payload itself never enters the JVM.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import StructType

from narrows.files.listing import FileEntry
from narrows.files.ranges import TARGET, FileRange, pack, split, tasks_for
from narrows.formats.parquet.reader import RANGE_BYTES as PARQUET_RANGE
from narrows.schema import BIGINT, BINARY, BOOLEAN, DataType
from narrows.spark.sql.types import spark_struct
from narrows.worker.read_spec import ROWS_ONLY, ReadSpec
from narrows.worker.row_order import ORDER_TYPE, Place


def shipped_schema(spec: ReadSpec) -> StructType:
    """What leaves the reader."""
    end = [] if spec.end is None else [(spec.end.column, BIGINT)]
    return spark_struct([*shipped_columns(spec), *end])


def shipped_columns(spec: ReadSpec) -> list[tuple[str, DataType]]:
    """A data frame needs a column, also when only rows are counted."""
    columns = spec.projection.columns[: spec.projection.shipped]
    named = [(name, column.dtype) for name, column in zip(spec.names, columns, strict=True)]
    named += [(name, BINARY) for name in spec.fragments]
    if spec.order is not None:
        named.append((spec.order, ORDER_TYPE))
    return named or [(ROWS_ONLY, BOOLEAN)]


class FileRanges(InputPartition):
    """What one task reads, in order, and where each part stands in the source."""

    def __init__(self, ranges: Sequence[FileRange], places: Sequence[Place]) -> None:
        self.ranges = ranges
        self.places = places


def shared_out(spec: ReadSpec, files: Sequence[FileEntry], batch: int = 0) -> list[FileRanges]:
    """What each task reads of the files."""
    target = PARQUET_RANGE if spec.format == "parquet" else TARGET
    ranges = split(files, target)
    places = {read: Place(batch, number) for number, read in enumerate(ranges)}
    packed = pack(ranges, tasks_for(ranges, spec.partitions))
    return [FileRanges(part, [places[read] for read in part]) for part in packed]
