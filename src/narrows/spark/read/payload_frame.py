"""Payloads that are a column of a data frame - of Kafka, Delta, anything - and what is in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import BinaryType, CharType, StringType, VarcharType

from narrows.errors import Code, fail
from narrows.spark.read.shipped import shipped_schema
from narrows.spark.sql.sql_text import quote
from narrows.worker.carried import Carried
from narrows.worker.messages import decode_messages
from narrows.worker.read_spec import ReadSpec

Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True)
class PayloadFrame:
    """A data frame of the user's, and the column that holds the payloads."""

    frame: DataFrame
    payload: str

    def __post_init__(self) -> None:
        names = self.frame.columns
        if self.payload not in names:
            message = f"the data frame has no column `{self.payload}`"
            raise fail(Code.UNKNOWN_COLUMN, message, hint=f"its columns are {', '.join(names)}")
        dtype = self.frame.schema[self.payload].dataType
        if not isinstance(dtype, (BinaryType, CharType, StringType, VarcharType)):
            raise fail(
                Code.WRONG_TYPE,
                f"column `{self.payload}` of the data frame is {dtype.simpleString().upper()},"
                " which is no payload",
                hint="payloads are STRING or BINARY; `to_json(struct(...))` makes them of columns",
            )

    def messages(self) -> DataFrame:
        """The payloads, as they were written, and when the batch that brought them began.

        The time of the batch orders the batches; inside one, tasks and their rows are in order.
        """
        read_at = F.unix_micros(F.current_timestamp()).alias("read_at")
        return self.frame.select(F.col(quote(self.payload)).cast("binary"), read_at)


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
