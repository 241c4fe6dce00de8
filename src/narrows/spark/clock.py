"""The clock of a pipeline with windows: a source of its own that says how late it is.

A watermark moves when rows come. But a window must also close when no row comes any more: at the
end of a bounded run, or because a stream in processing time is quiet. So the rows of a source are
joined by those of a clock (`event_time.py` does that), which hold a time and nothing else and are
dropped right behind the watermark.

The clock says nothing while a stream in event time runs. In processing time it ticks whenever a
window could end. At the end of a bounded run it says, once, the time at which all windows are over.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType, TimestampType

TIME = "time"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class ClockSpec:
    """When a clock speaks. Times are milliseconds since 1970."""

    period: int | None = None
    """It ticks so often; None where only the end of the input is said."""
    close_at: int | None = None
    """The time to say at the end of a bounded run."""


def clock_frame(spark: SparkSession, spec: ClockSpec) -> DataFrame:
    spark.dataSource.register(NarrowsClock)
    reader = spark.readStream.format(NarrowsClock.name())
    return reader.option("spec", json.dumps(asdict(spec))).load()


class NarrowsClock(DataSource):
    @classmethod
    def name(cls) -> str:
        return "narrows_clock"

    def schema(self) -> StructType:
        return StructType().add(TIME, TimestampType())

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        return _ClockReader(ClockSpec(**json.loads(self.options["spec"])))


class _Said(InputPartition):
    """What the clock says in a batch; None for nothing."""

    def __init__(self, time: int | None) -> None:
        self.time = time


class _ClockReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """An offset is the time that was said last."""

    def __init__(self, spec: ClockSpec) -> None:
        self._spec = spec
        self._bounded = False

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        return {TIME: 0}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._bounded = True

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadAllAvailable()

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802
        now = start[TIME]
        if self._spec.close_at is not None:
            now = max(now, self._spec.close_at)
        elif self._spec.period is not None and not self._bounded:
            now = max(now, int(time.time() * 1000) // self._spec.period * self._spec.period)
        return {TIME: now}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        return [_Said(end[TIME] if end[TIME] > start[TIME] else None)]

    def read(self, partition: InputPartition) -> Iterator[tuple[datetime]]:
        assert isinstance(partition, _Said)
        if partition.time is not None:
            yield (_EPOCH + timedelta(milliseconds=partition.time),)
