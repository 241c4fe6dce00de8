"""Sinks on Spark: tasks write as the last thing they do, and the driver publishes.

So a streaming query carries no row behind that but one for each task, which says what it wrote.
Spark may run a batch again after a crash, but it runs it under the same number: then what the batch
published before is replaced, so every row is there once, as far as the sink can promise that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame

from narrows.connectors.target import WriteSpec
from narrows.worker.carried import Carried
from narrows.worker.write import (
    Receipts,
    publish,
    receipts_from_text,
    receipts_to_text,
    sweep,
    write_task,
)

WRITTEN = "written"
"""The column in which tasks tell what they wrote."""
WRITTEN_SCHEMA = f"{WRITTEN} STRING"


@dataclass
class RowsWritten:
    """What a pipeline has published since it was started: as many rows to each of its sinks."""

    rows: int = 0
    late: int = 0
    """Rows that were too late for windows that its own tasks keep."""


def tell(receipts: Receipts) -> pa.RecordBatch:
    """One row: what a task wrote."""
    return pa.RecordBatch.from_arrays([pa.array([receipts_to_text(receipts)])], names=[WRITTEN])


def batch_and_task(batch: int | None = None) -> tuple[int, int]:
    """The micro-batch that this task is part of, and its number there."""
    context = TaskContext.get()
    if context is None:
        return batch or 0, 0
    current = context.getLocalProperty("streaming.sql.batchId") if batch is None else batch
    return int(current or 0), context.partitionId()


def written_by_tasks(rows: DataFrame, spec: WriteSpec, batch: int | None = None) -> DataFrame:
    """What tasks wrote of rows that are as the sinks take them; of this batch, if it is not the
    micro-batch that they are part of."""
    carried = Carried(spec)

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield tell(write_task(carried.value, batches, *batch_and_task(batch)))

    return rows.mapInArrow(write, WRITTEN_SCHEMA)


def publish_written(told: DataFrame, spec: WriteSpec, batch: int) -> int:
    """Has tasks write and tell what they wrote, and publishes it; how many rows that were."""
    try:
        receipts = [receipts_from_text(row[WRITTEN]) for row in told.collect()]
        return publish(spec, batch, receipts)
    except BaseException:
        sweep(spec)
        raise
