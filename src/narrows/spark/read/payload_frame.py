"""Payloads that are a column of a data frame - of Kafka, Delta, anything - and what is in them."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from narrows.formats.decoder import ArrayDecoder, Decoded
from narrows.spark.read.source import shipped_schema
from narrows.worker.carried import Carried
from narrows.worker.dead_letters import keep_payloads
from narrows.worker.read import kept_decoder, ship, with_time
from narrows.worker.read_spec import ReadSpec
from narrows.worker.row_order import Place, RowOrder

Batches = Iterator[pa.RecordBatch]


def decode_payloads(frame: DataFrame, payload: str, spec: ReadSpec) -> DataFrame:
    """What the specification ships of the payloads in this column."""
    carried = Carried(spec)

    def decode(batches: Batches) -> Batches:
        return _decode(carried.value, batches)

    # The time of the batch orders the batches; inside one, tasks and their rows are in order.
    read_at = F.unix_micros(F.current_timestamp()).alias("read_at")
    columns = [F.col(payload)] if spec.order is None else [F.col(payload), read_at]
    return frame.select(*columns).mapInArrow(decode, shipped_schema(spec))


def _decode(spec: ReadSpec, batches: Batches) -> Batches:
    order: RowOrder | None = None
    for batch in batches:
        if order is None and spec.order is not None and batch.num_rows:
            task = TaskContext.get()
            number = task.partitionId() if task is not None else 0
            order = RowOrder(Place(batch.column(1)[0].as_py(), number))
        payloads = batch.column(0).cast(pa.binary()).drop_null()
        decoded = with_time(spec, _decoded(spec, payloads))
        keep_payloads(spec, payloads, decoded.bad)
        if decoded.batch.num_rows:
            yield ship(spec, decoded, order)


def _decoded(spec: ReadSpec, payloads: pa.Array) -> Decoded:
    decoder = kept_decoder(spec)
    if isinstance(decoder, ArrayDecoder):
        return decoder.decode_array(payloads, spec.projection)
    return decoder.decode_with_projection(payloads.to_pylist(), spec.projection)
