"""The Spark data source: payloads are read *and decoded* here, in the executors' Python workers.

What leaves are Arrow batches of the demanded leaves. The payload itself never enters the JVM.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from narrows.codecs.parquet import RANGE_BYTES as PARQUET_RANGE
from narrows.files.file_log import FileLog
from narrows.files.listing import FileEntry, list_files
from narrows.files.ranges import TARGET, FileRange, pack, split
from narrows.schema import BIGINT, BINARY, BOOLEAN, DataType
from narrows.spark.read_partition import read_partition
from narrows.spark.read_spec import ROWS_ONLY, ReadSpec
from narrows.spark.row_order import ORDER_TYPE, Place
from narrows.spark.types import spark_struct


class NarrowsSource(DataSource):
    """Files of payloads, decoded by a projection. Its one option is the `ReadSpec`."""

    @classmethod
    def name(cls) -> str:
        return "narrows"

    @property
    def _spec(self) -> ReadSpec:
        return ReadSpec.from_option(self.options["spec"])

    def schema(self) -> StructType:
        return shipped_schema(self._spec)

    def reader(self, schema: StructType) -> DataSourceReader:
        return _TableReader(self._spec)


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
    packed = pack(ranges, spec.partitions)
    return [FileRanges(part, [places[read] for read in part]) for part in packed]


class _Reader:
    def __init__(self, spec: ReadSpec) -> None:
        self.spec = spec

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, FileRanges)
        return read_partition(self.spec, partition.ranges, partition.places)

    def _split(self, files: Sequence[FileEntry], batch: int = 0) -> list[InputPartition]:
        return [*shared_out(self.spec, files, batch)]


class _TableReader(_Reader, DataSourceReader):
    """Everything that is there."""

    def partitions(self) -> Sequence[InputPartition]:
        # Spark calls read() even for no partitions, so there is always one, maybe empty.
        return self._split(list_files(self.spec.path, missing_ok=True)) or [FileRanges([], [])]


class FileStreamReader(_Reader, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Files as they come. An offset is the number of an entry in the log of files taken."""

    def __init__(self, spec: ReadSpec) -> None:
        super().__init__(spec)
        self._log: FileLog | None = None
        self._until: list[FileEntry] | None = None

    def __getstate__(self) -> dict[str, Any]:
        # The reader is pickled for the workers, which have no business with the log.
        return {"spec": self.spec, "_log": None, "_until": None}

    @property
    def log(self) -> FileLog:
        if self._log is None:
            assert self.spec.file_log is not None
            self._log = FileLog(self.spec.file_log)
        return self._log

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        return {"entry": -1}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._until = list_files(self.spec.path, missing_ok=True)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        # The limits are ours (they combine files and bytes), so Spark need not know them.
        return ReadAllAvailable()

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802
        taken = start["entry"]
        if self.log.last() > taken:
            # After a crash: an entry that Spark did not journal is given again, as it was.
            return {"entry": taken + 1}
        candidates = self._until
        if candidates is None:
            candidates = list_files(self.spec.path, missing_ok=True)
        files, size = (
            self.spec.limit("max_files_per_trigger"),
            self.spec.limit("max_bytes_per_trigger"),
        )
        return {"entry": self.log.admit(candidates, max_files=files, max_bytes=size)}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        files = self.log.entries(after=start["entry"], upto=end["entry"])
        return self._split(files, batch=end["entry"])
