"""What a pipeline reads of a shared stream: segments, mapped into memory, its own leaves only.

`read_entries` is for anybody; the Spark source on top of it is for pipelines with a streaming
query of their own. An offset of that is the number of an entry.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from narrows.arrow.batches import batch_of
from narrows.errors import Code, fail
from narrows.files.names import name_of
from narrows.formats.decoder import Decoded
from narrows.shared.log import Entry, SharedLog
from narrows.shared.registry import Registry, pipeline_of
from narrows.shared.segments import Segment, read_segment
from narrows.spark.read.source import shipped_schema
from narrows.worker.carried import Carried
from narrows.worker.read import ship
from narrows.worker.read_spec import ReadSpec
from narrows.worker.row_order import RunsOrder

ENTRIES_AT_ONCE = 100
"""So many entries are read in one go, for a pipeline that has fallen behind."""


@dataclass(frozen=True)
class LogSpec:
    folder: str
    """Of the shared stream, in the state folder."""
    consumer: str
    read: ReadSpec


Work = tuple[Entry, Segment]


def shares(entries: Sequence[Entry], partitions: int) -> list[list[Work]]:
    """The segments of entries, shared out evenly by size; the same ones always in the same way."""
    work = [(entry, segment) for entry in entries for segment in entry.segments]
    loads: list[tuple[int, list[Work]]] = [(0, []) for _ in range(partitions)]
    for entry, segment in sorted(work, key=lambda pair: -pair[1].size):
        place = min(range(partitions), key=lambda p: loads[p][0])
        load, share = loads[place]
        share.append((entry, segment))
        loads[place] = (load + segment.size, share)
    return [share for _, share in loads]


def read_entries(spec: LogSpec, work: Sequence[Work]) -> Iterator[pa.RecordBatch]:
    """The rows that a pipeline takes of some segments."""
    segments = SharedLog(spec.folder).segments
    wanted = spec.read.projection
    needed = wanted.demand | wanted.tested
    for entry, segment in work:
        if not entry.demand.covers(needed):
            pipeline = name_of(pipeline_of(spec.consumer))
            raise fail(
                Code.UNREADABLE_FILE,
                f"entry {entry.number} of shared stream `{spec.read.source}` was decoded without"
                f" what pipeline `{pipeline}` needs",
                None,
                "it has lost its place: start it anew with"
                f" `narrows reset {shlex.quote(pipeline)}`",
            )
        union = entry.projection(wanted.schema)
        order = None if spec.read.order is None else RunsOrder(entry.number, segment.runs)
        for columns, rows in read_segment(segments, segment, union, wanted):
            shipped = ship(spec.read, Decoded(batch_of(wanted, columns, rows)), order)
            if shipped.num_rows:
                yield shipped


class NarrowsLog(DataSource):
    """The log of a shared stream as a Spark source. Its one option is the `LogSpec`."""

    @classmethod
    def name(cls) -> str:
        return "narrows_log"

    @property
    def _spec(self) -> LogSpec:
        return Carried[LogSpec].from_option(self.options["spec"]).value

    def schema(self) -> StructType:
        return shipped_schema(self._spec.read)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        return _LogReader(self._spec)


class _Share(InputPartition):
    def __init__(self, work: Sequence[Work]) -> None:
        self.work = work


class _LogReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, spec: LogSpec) -> None:
        self._spec = spec
        self._until: int | None = None

    @property
    def _log(self) -> SharedLog:
        return SharedLog(self._spec.folder)

    def _position(self) -> int:
        """Where the consumer began, as it was registered before the query started."""
        snapshot = Registry(self._spec.folder).snapshot()
        return snapshot.positions[self._spec.consumer]

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        return {"entry": self._position()}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._until = self._log.last()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadAllAvailable()

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802
        if self._spec.read.frozen:
            return start
        # The checkpoint may be behind what was registered, if the pipeline stood still meanwhile.
        first = max(start["entry"], self._position())
        last = self._log.last() if self._until is None else self._until
        return {"entry": max(start["entry"], min(last, first + ENTRIES_AT_ONCE))}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        log, position = self._log, self._position()
        # Entries before the position that are gone were not for this life of the pipeline.
        numbers = range(start["entry"] + 1, end["entry"] + 1)
        entries = [log.entry(n) for n in numbers if n > position or log.has(n)]
        needed = self._spec.read.projection.demand | self._spec.read.projection.tested
        entries = [e for e in entries if e.number > position or e.demand.covers(needed)]
        packed = [share for share in shares(entries, self._spec.read.partitions) if share]
        return [_Share(share) for share in packed] or [_Share([])]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, _Share)
        return read_entries(self._spec, partition.work)

    def commit(self, end: dict[str, int]) -> None:
        Registry(self._spec.folder).advance({self._spec.consumer: end["entry"]})
