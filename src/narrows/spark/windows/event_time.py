"""Time in a data frame: when a row happened, and the watermark that follows it.

    source ──► + stamp (event time, or the batch's time) ──► ∪ clock ──► watermark ──► rows only

The watermark sees every row that was read, whatever the query filters. Spark would like to move
filters below it, but none moves past a filter that is not deterministic; so the one that drops the
clock's rows is not.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from narrows.catalog.objects import Source
from narrows.errors import InternalError
from narrows.projection.columns import Aspect
from narrows.spark.sql.parsed import parsed_column
from narrows.spark.sql.sql_text import ShippedSource, quote
from narrows.spark.windows.clock import TIME, ClockSpec, clock_frame

_FROM_EPOCH = {"s": "timestamp_seconds", "ms": "timestamp_millis", "us": "timestamp_micros"}
_MARK = "from_clock"


@dataclass(frozen=True)
class RunTime:
    """What a streaming run knows about time when it starts. Milliseconds since 1970."""

    watermark: int = 0
    """Where an earlier run of the pipeline left the watermark."""
    clock: str = ""
    """The folder where the end of the input is said."""
    checkpoint: str = ""
    """Spark's folder; none where all rows are read at once."""
    closes: int | None = None
    """Set in the last step of a bounded run: the watermark at which all windows are over."""


def stamped(
    data: DataFrame, source: Source, shipped: ShippedSource, name: str, time: RunTime
) -> DataFrame:
    """The rows with the time when they happened: their event time, or the time of their batch.

    The time of batches never goes back behind windows that have been closed.
    """
    if source.eventtime is None:
        closed = F.timestamp_millis(F.lit(time.watermark + 1))
        return data.withColumn(name, F.greatest(F.current_timestamp(), closed))
    column = shipped.column((source.eventtime,), Aspect.VALUE)
    if column is None:
        raise InternalError(f"the event time of `{source.name}` was not shipped")
    unit = source.eventtime_unit
    text = column.text if unit is None else f"{_FROM_EPOCH[unit]}({column.text})"
    return data.withColumn(name, parsed_column(text))


def watermarked(data: DataFrame, time: str, delay: str) -> DataFrame:
    """The rows with a watermark that follows the column `time`: later rows may still come."""
    return data.withWatermark(time, delay)


def with_clock(
    data: DataFrame, time: str, delay: str, spec: ClockSpec, end: str | None
) -> DataFrame:
    """The rows with a watermark that follows their time, and that of a clock as well.

    `end` is the column in which readers say the end of the input: such rows are the clock's, too.
    Adds the column `from_clock`, false in every row that is left.
    """
    clock = clock_frame(data.sparkSession, spec).withColumnRenamed(TIME, time)
    ticks = clock.withColumn(_MARK, F.lit(True))
    if end is None:
        rows = data.withColumn(_MARK, F.lit(False))
    else:
        said = F.coalesce(F.timestamp_millis(end), time)
        marked = data.withColumns({time: said, _MARK: F.col(end).isNotNull()})
        rows = marked.drop(end)
    both = rows.unionByName(ticks, allowMissingColumns=True)
    rows_only = f"NOT ({quote(_MARK)} AND spark_partition_id() >= 0)"
    return watermarked(both, time, delay).where(rows_only)


def clock_mark() -> str:
    """The column that tells the clock's rows from others; nobody needs it any more."""
    return _MARK
