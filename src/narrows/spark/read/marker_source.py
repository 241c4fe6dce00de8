"""A stream of files as Spark sees it: a folder of turns, and a map that reads what they name.

    turns (Spark's file source) ──► a row for each task ──► read_partition, in the tasks

What Spark keeps in the checkpoint is which turns it has taken; see `spark/streaming/markers.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from narrows.arrow.types import arrow_type
from narrows.connectors.file.file_log import FileLog
from narrows.files.listing import FileEntry
from narrows.spark.read.literal_path import literal_path
from narrows.spark.read.source import shared_out, shipped_columns, shipped_schema
from narrows.spark.write.sink import WRITTEN_SCHEMA, tell, write_task
from narrows.worker.carried import Carried
from narrows.worker.read import read_partition
from narrows.worker.read_spec import ReadSpec
from narrows.worker.write_spec import WriteSpec

Batches = Iterator[pa.RecordBatch]


def turns_folder(spec: ReadSpec) -> Path:
    assert spec.file_log is not None
    return Path(spec.file_log) / "turns"


def read_turns(spark: SparkSession, spec: ReadSpec) -> DataFrame:
    """The rows of a stream of files."""
    carried = Carried(spec)

    def read(batches: Batches) -> Batches:
        return _read(carried.value, batches)

    return _turns(spark, spec).mapInArrow(read, shipped_schema(spec))


def copy_turns(spark: SparkSession, spec: ReadSpec, write: WriteSpec) -> DataFrame:
    """What tasks wrote that read and write, for a pipeline that computes nothing.

    Where every field of the select list is delayed, Spark would only carry the readers' fragments
    to the sink. So no row crosses the JVM but one for each task, which says what it wrote.
    """
    both = Carried((spec, write))

    def copy(batches: Batches) -> Batches:
        reads, writes = both.value
        yield tell(write_task(writes, _read(reads, batches)))

    return _turns(spark, spec).mapInArrow(copy, WRITTEN_SCHEMA)


def _turns(spark: SparkSession, spec: ReadSpec) -> DataFrame:
    """A row for each task: the entry of the log of files, the task's number, of how many, and
    whether it is the end of the input."""
    folder = turns_folder(spec)
    folder.mkdir(parents=True, exist_ok=True)
    reader = spark.readStream.schema("value STRING").option("maxFilesPerTrigger", 1)
    # Spark remembers what it has taken for so long. Every marker is later than all before, and one
    # that was read is removed, so it need not remember any; the default of a week costs memory.
    reader = reader.option("maxFileAge", "1h")
    text = reader.text(literal_path(folder)).select(F.split("value", " ").alias("turn"))
    turns = text.select(*(F.col("turn")[place].cast("bigint") for place in range(4)))
    return turns.repartition(spec.partitions) if spec.partitions > 1 else turns


def _read(spec: ReadSpec, turns: Batches) -> Batches:
    assert spec.file_log is not None
    log = FileLog(spec.file_log)
    for batch in turns:
        for entry, *turn in zip(*(c.to_pylist() for c in batch.columns), strict=True):
            yield from _read_turn(spec, log.entry(entry), entry, *turn)


def _read_turn(
    spec: ReadSpec, files: Sequence[FileEntry], entry: int, task: int, tasks: int, is_last: int
) -> Batches:
    # As many tasks as when the turn was given, whatever would be shared out today.
    parts = shared_out(replace(spec, partitions=tasks), files, entry)
    ours = parts[task : task + 1]
    rows = (row for part in ours for row in read_partition(spec, part.ranges, part.places))
    if spec.end is None:
        return rows
    schema = pa.schema([(name, arrow_type(dtype)) for name, dtype in shipped_columns(spec)])
    return spec.end.with_end(rows, spec.event_time, schema, is_last=bool(is_last))
