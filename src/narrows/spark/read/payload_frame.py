"""Payloads that are a column of a data frame - of Kafka, Delta, anything - and what is in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from narrows.spark.read.shipped import shipped_schema
from narrows.worker.carried import Carried
from narrows.worker.messages import decode_messages
from narrows.worker.read_spec import ReadSpec

Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True)
class PayloadFrame:
    """A data frame of the user's, and the column that holds the payloads."""

    frame: DataFrame
    payload: str

    def messages(self) -> DataFrame:
        """The payloads, and when the batch that brought them began.

        The time of the batch orders the batches; inside one, tasks and their rows are in order.
        """
        read_at = F.unix_micros(F.current_timestamp()).alias("read_at")
        return self.frame.select(F.col(self.payload).cast("binary"), read_at)


def decode_payloads(payloads: PayloadFrame, spec: ReadSpec) -> DataFrame:
    """What the specification ships of the payloads in a data frame."""
    carried = Carried(spec)

    def decode(batches: Batches) -> Batches:
        return decode_messages(carried.value, batches, task_of_frame())

    return payloads.messages().mapInArrow(decode, shipped_schema(spec))


def task_of_frame() -> int:
    """The number of the task that this runs in."""
    context = TaskContext.get()
    return 0 if context is None else context.partitionId()
