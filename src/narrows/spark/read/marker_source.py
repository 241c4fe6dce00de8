"""A stream as Spark sees it: a folder of markers, and a map that reads the entries that they name.

    markers (Spark's file source) ──► a row for each task ──► the task reads its share of the entry

What Spark keeps in the checkpoint is which markers it has taken; see `streaming/markers.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from narrows.arrow.types import arrow_type
from narrows.connectors.entry_log import EntryLog
from narrows.spark.read.literal_path import literal_path
from narrows.spark.read.shipped import shipped_columns, shipped_schema
from narrows.worker.carried import Carried
from narrows.worker.read import read_entry
from narrows.worker.read_spec import ReadSpec
from narrows.worker.table_keys import read_keys

Batches = Iterator[pa.RecordBatch]


def markers_folder(spec: ReadSpec) -> Path:
    assert spec.entry_log is not None
    return Path(spec.entry_log) / "markers"


def read_stream(spark: SparkSession, spec: ReadSpec) -> DataFrame:
    """The rows of a stream."""
    carried = Carried(spec)

    def read(batches: Batches) -> Batches:
        return read_markers(carried.value, batches)

    return marker_frame(spark, spec).mapInArrow(read, shipped_schema(spec))


def marker_frame(spark: SparkSession, spec: ReadSpec) -> DataFrame:
    """A row for each task: the entry, the task's number, of how many, and whether it is the end of
    the input."""
    folder = markers_folder(spec)
    folder.mkdir(parents=True, exist_ok=True)
    reader = spark.readStream.schema("value STRING").option("maxFilesPerTrigger", 1)
    # Spark remembers what it has taken for so long. Every marker is later than all before, and one
    # that was read is removed, so it need not remember any; the default of a week costs memory.
    reader = reader.option("maxFileAge", "1h")
    text = reader.text(literal_path(folder)).select(F.split("value", " ").alias("marker"))
    names = ("entry", "task", "tasks", "is_last")
    columns = (F.col("marker")[place].cast("bigint").alias(n) for place, n in enumerate(names))
    markers = text.select(*columns)
    if spec.partitions == 1:
        return markers
    # Task by task, as the shares stand in the entry: some sinks write in the order of tasks.
    return markers.repartitionById(spec.partitions, F.col("task").cast("int"))


def read_markers(spec: ReadSpec, markers: Batches) -> Batches:
    """What a task reads: the rows of the shares that its markers name."""
    assert spec.entry_log is not None
    log = EntryLog(spec.entry_log)
    for batch in markers:
        keys = read_keys(spec)
        for number, task, tasks, is_last in zip(
            *(column.to_pylist() for column in batch.columns), strict=True
        ):
            # As many tasks as when the marker was given, whatever would be shared out today.
            rows = read_entry(spec, log.entry(number), number, task, tasks, keys)
            yield from rows if spec.end is None else _with_end(spec, rows, is_last=bool(is_last))


def _with_end(spec: ReadSpec, rows: Batches, *, is_last: bool) -> Batches:
    assert spec.end is not None
    schema = pa.schema([(name, arrow_type(dtype)) for name, dtype in shipped_columns(spec)])
    return spec.end.with_end(rows, spec.event_time, schema, is_last=is_last)
