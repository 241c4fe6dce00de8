"""The clock of a pipeline with windows: a source of its own that says how late it is.

A watermark moves when rows come. But a window must also close when no row comes any more: at the
end of a bounded run, or because a stream in processing time is quiet. So the rows of a source are
joined by those of a clock (`event_time.py` does that), which hold a time and nothing else and are
dropped right behind the watermark.

Where rows have an event time, or cut windows themselves, the clock speaks once: at the end of a
bounded run it says the time at which all windows are over. It is then a folder of tiny files, which
costs Spark nothing while it is empty (a data source of our own would cost a process). In processing
time it also ticks whenever a window could end.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType, TimestampType

from narrows.files.atomic import write_atomically
from narrows.spark.read.literal_path import literal_path

TIME = "time"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class ClockSpec:
    """When a clock speaks. Times are milliseconds since 1970."""

    folder: str
    """Where the end of the input is said (`say_end`)."""
    behind: int = 0
    """How far the watermark stays behind what the clock says."""
    period: int | None = None
    """It ticks so often; None where only the end of the input is said."""
    closes: int | None = None
    """In the last step of a bounded run: where the watermark must go."""


_KEPT = 8
"""Files of a clock that stay. A batch that was cut short is run again before the next end is said,
so nobody needs more than the last two."""


def say_end(folder: Path, closes: int) -> None:
    """Says that the input has ended: the watermark may go where all windows are over.

    What was said long ago goes: a pipeline that is run every minute says half a million ends a
    year.
    """
    folder.mkdir(parents=True, exist_ok=True)
    said = sorted(int(path.stem) for path in folder.glob("*.txt") if _is_time(path.stem))
    for old in said[: -_KEPT + 1]:
        (folder / f"{old}.txt").unlink(missing_ok=True)
    write_atomically(folder / f"{closes}.txt", str(closes).encode("ascii"))


def _is_time(text: str) -> bool:
    return text.removeprefix("-").isdecimal()


def clock_frame(spark: SparkSession, spec: ClockSpec) -> DataFrame:
    """A stream of times in the column `time`."""
    if spec.period is None:
        Path(spec.folder).mkdir(parents=True, exist_ok=True)
        # There are few of these files, and saying a time again does no harm; not saying it would,
        # and that is what Spark makes of files that a restored folder has given old times.
        reader = spark.readStream.option("maxFileAge", "36500d")
        said = reader.text(literal_path(spec.folder))
        time = F.timestamp_millis(F.col("value").cast("bigint") + spec.behind)
        return said.select(time.alias(TIME))
    spark.dataSource.register(NarrowsClock)
    reader = spark.readStream.format(NarrowsClock.name())
    return reader.option("spec", json.dumps(asdict(spec))).load()


class NarrowsClock(DataSource):
    """A clock that ticks."""

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
        if self._spec.closes is not None:
            now = max(now, self._spec.closes + self._spec.behind)
        elif self._spec.period is not None and not self._bounded:
            now = max(now, int(time.time() * 1000) // self._spec.period * self._spec.period)
        return {TIME: now}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        return [_Said(end[TIME] if end[TIME] > start[TIME] else None)]

    def read(self, partition: InputPartition) -> Iterator[tuple[datetime]]:
        assert isinstance(partition, _Said)
        if partition.time is not None:
            yield (_EPOCH + timedelta(milliseconds=partition.time),)
