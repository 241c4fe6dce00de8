"""Sinks on Spark: tasks write as the last thing they do, and the driver publishes.

So a streaming query carries no row behind that but one for each task, which says what it wrote.
Spark may run a batch again after a crash, but it runs it under the same number: then what the batch
published before is replaced, so every row is there once, as far as the sink can promise that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, Row, SparkSession

from narrows.connectors.target import WriteSpec
from narrows.errors import InternalError
from narrows.spark.read.entry_source import entry_number
from narrows.worker.carried import Carried
from narrows.worker.write import (
    Receipts,
    publish,
    receipts_from_text,
    receipts_to_text,
    sweep,
    write_task,
)

WRITTEN_SCHEMA = "written STRING, batch BIGINT"
"""What tasks tell: what they wrote, and of which batch."""


@dataclass
class RowsWritten:
    """What a pipeline has published since it was started: as many rows to each of its sinks."""

    rows: int = 0
    late: int = 0
    """Rows that were too late for windows that its own tasks keep."""


def tell(receipts: Receipts, batch: int) -> pa.RecordBatch:
    """One row: what a task wrote."""
    told = {"written": [receipts_to_text(receipts)], "batch": [batch]}
    return pa.RecordBatch.from_pydict(told)


def receipts_told(rows: Sequence[Row], batch: int) -> list[Receipts]:
    """What each task of a batch wrote."""
    others = {row["batch"] for row in rows} - {batch}
    if others:
        raise InternalError(f"tasks of batch {batch} have written batch {others}")
    return [receipts_from_text(row["written"]) for row in rows]


class Writing(NamedTuple):
    """How the tasks of a job write, where it is not as the entry's number and their own say."""

    batch: int
    first_task: int = 0
    """The number of the first of them: those of another job may have written some of the batch."""


_BATCH, _FIRST_TASK = "spark.narrows.batch", "spark.narrows.first_task"


def set_writing(spark: SparkSession, writing: Writing) -> None:
    """Says so to the tasks of the next jobs of a session."""
    spark.conf.set(_BATCH, str(writing.batch))
    spark.conf.set(_FIRST_TASK, str(writing.first_task))


def batch_and_task(batch: int | None = None) -> tuple[int, int]:
    """The batch that this task writes, by default the entry or the micro-batch that it is part of,
    and its number there."""
    context = TaskContext.get()
    if context is None:
        return batch or 0, 0
    task = context.partitionId()
    said = context.getLocalProperty(_BATCH)
    if batch is None and said is not None:
        return int(said), int(context.getLocalProperty(_FIRST_TASK) or 0) + task
    current = entry_number() if batch is None else batch
    if current is None:
        current = int(context.getLocalProperty("streaming.sql.batchId") or 0)
    return current, task


def written_by_tasks(rows: DataFrame, spec: WriteSpec, batch: int | None = None) -> DataFrame:
    """What tasks wrote of rows that are as the sinks take them; of this batch, if it is not the
    micro-batch that they are part of."""
    carried = Carried(spec)

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        number, task = batch_and_task(batch)
        yield tell(write_task(carried.value, batches, number, task), number)

    return rows.mapInArrow(write, WRITTEN_SCHEMA)


def publish_written(told: DataFrame, spec: WriteSpec, batch: int) -> int:
    """Has tasks write and tell what they wrote, and publishes it; how many rows that were."""
    try:
        return publish(spec, batch, receipts_told(told.collect(), batch))
    except BaseException:
        sweep(spec)
        raise
