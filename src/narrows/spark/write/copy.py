"""Pipelines that compute nothing: the tasks that read write, and no row crosses the JVM."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from narrows.connectors.target import WriteSpec
from narrows.spark.read.marker_source import marker_frame, read_markers
from narrows.spark.write.sink import WRITTEN_SCHEMA, batch_and_task, tell
from narrows.worker.carried import Carried
from narrows.worker.read_spec import ReadSpec
from narrows.worker.write import write_task


def copy_stream(spark: SparkSession, spec: ReadSpec, write: WriteSpec) -> DataFrame:
    """What tasks wrote that read and write: a row for each task.

    Where every field of the select list is delayed, Spark would only carry the readers' fragments
    to the sink.
    """
    both = Carried((spec, write))

    def copy(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        reads, writes = both.value
        yield tell(write_task(writes, read_markers(reads, batches), *batch_and_task()))

    return marker_frame(spark, spec).mapInArrow(copy, WRITTEN_SCHEMA)
