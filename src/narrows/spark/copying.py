"""Pipelines that compute nothing: what the reader encodes goes straight into the sinks' files.

Where every field of the select list is delayed, Spark would only carry the readers' fragments to
the sink. So the tasks that read also write; the JVM carries, for each of them, one row that says
which files it wrote, and publishing them is the sink's business as ever.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from narrows.spark.read_spec import ReadSpec
from narrows.spark.sink import (
    WRITTEN_SCHEMA,
    Written,
    discard,
    publish_batch,
    tell,
    told,
    write_task,
)
from narrows.spark.source import FileStreamReader
from narrows.spark.write_spec import WriteSpec


class NarrowsCopy(DataSource):
    """Source and sink of such a pipeline. Options: `spec`, what to read; `write`, where to."""

    @classmethod
    def name(cls) -> str:
        return "narrows_copy"

    @property
    def _write(self) -> WriteSpec:
        return WriteSpec.from_option(self.options["write"])

    def schema(self) -> str:
        return WRITTEN_SCHEMA

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        return _CopyingReader(ReadSpec.from_option(self.options["spec"]), self._write)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802
        return _Publisher(self._write)


class _CopyingReader(FileStreamReader):
    def __init__(self, spec: ReadSpec, write: WriteSpec) -> None:
        super().__init__(spec)
        self._write = write

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_write": self._write}

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        yield tell(write_task(self._write, super().read(partition)))


@dataclass
class _Told(WriterCommitMessage):
    """What readers wrote, as far as it came through this task."""

    written: list[Written]


class _Publisher(DataSourceStreamArrowWriter):
    def __init__(self, spec: WriteSpec) -> None:
        self._spec = spec

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return _Told(told(value for batch in iterator for value in batch.column(0).to_pylist()))

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        publish_batch(self._spec, _written(messages), batchId)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        discard(_written(messages))


def _written(messages: list[WriterCommitMessage | None]) -> list[Written]:
    return [written for m in messages if isinstance(m, _Told) for written in m.written]
