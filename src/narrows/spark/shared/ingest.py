"""The ingest of a shared stream: a Spark source that decodes for everybody, and the sink beside it.

The source's tasks read payloads, decode what the running pipelines need together and write it into
segments; the JVM carries one line of JSON for each task. The sink publishes what the tasks of a
micro-batch wrote as one entry of the log. Neither payloads nor decoded values enter the JVM.

An entry has the number of the entry in the log of files that it was made from. So a batch that is
run again after a crash knows whether its entry is there already, and then does nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.streaming.datasource import ReadLimit
from pyspark.sql.types import StructType

from narrows.demand import NOTHING, Demand
from narrows.demand_json import demand_from_json, demand_to_json
from narrows.files.ranges import FileRange
from narrows.projection.columns import Aspect, DecodeProjection
from narrows.shared.log import EMPTY, Entry, SharedLog
from narrows.shared.registry import Registry
from narrows.shared.segments import SegmentWriter, segment_from_json
from narrows.spark.read.source import FileRanges
from narrows.spark.shared.file_reader import FileStreamReader
from narrows.worker.carried import Carried
from narrows.worker.counts import ReadCounts
from narrows.worker.read import read_partition
from narrows.worker.read_spec import ReadSpec
from narrows.worker.row_order import Place

MESSAGE = "message"
DEFAULT_BATCH_BYTES = 256 << 20
"""What one micro-batch takes, unless the stream says otherwise: while one is decoded the pipelines
are busy with the one before, and a pipeline that joins waits for one at most."""


@dataclass(frozen=True)
class IngestSpec:
    folder: str
    """Of the shared stream, in the state folder."""
    read: ReadSpec
    """How to read; which columns is decided for each micro-batch."""


class NarrowsIngest(DataSource):
    @classmethod
    def name(cls) -> str:
        return "narrows_ingest"

    @property
    def _spec(self) -> IngestSpec:
        return Carried[IngestSpec].from_option(self.options["spec"]).value

    def schema(self) -> str:
        return f"{MESSAGE} STRING"

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        return _IngestReader(self._spec)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802
        return _EntryWriter(self._spec.folder)


class _Part(InputPartition):
    """What one task decodes; without ranges it says only that the batch was there."""

    def __init__(
        self,
        number: int,
        version: int,
        demand: Demand,
        ranges: Sequence[FileRange] = (),
        places: Sequence[Place] = (),
    ) -> None:
        self.number = number
        self.version = version
        self.demand = demand
        self.ranges = ranges
        self.places = places


class _IngestReader(FileStreamReader):
    def __init__(self, spec: IngestSpec) -> None:
        super().__init__(spec.read)
        self._ingest = spec
        self._planned: tuple[int, Sequence[InputPartition]] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_ingest": self._ingest, "_planned": None}

    @property
    def _registry(self) -> Registry:
        return Registry(self._ingest.folder)

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802
        # Also when there is nothing to read: whoever has just registered waits for this.
        self._registry.apply()
        return super().latestOffset(start, limit)

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        number = end["entry"]
        if self._planned is None or self._planned[0] != number:
            # Should Spark ask twice for a batch, both answers must be of the same projection.
            self._planned = number, self._plan(start, end)
        return self._planned[1]

    def _plan(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        number = end["entry"]
        log = SharedLog(self._ingest.folder)
        if number == EMPTY:
            # Spark begins a query with a batch, also when there is nothing to read.
            return [_Part(EMPTY, 0, NOTHING)]
        if log.has(number):
            entry = log.entry(number)
            return [_Part(number, entry.version, entry.demand)]
        applied = self._registry.apply(number)
        parts = super().partitions(start, end)
        shares = [part for part in parts if isinstance(part, FileRanges)] or [FileRanges([], [])]
        return [
            _Part(number, applied.version, applied.demand, share.ranges, share.places)
            for share in shares
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, _Part)
        message = json.dumps(_decode(self._ingest, partition))
        yield pa.RecordBatch.from_arrays([pa.array([message])], names=[MESSAGE])


def _decode(spec: IngestSpec, part: _Part) -> dict[str, object]:
    """Decodes ranges into a segment; the message that tells of it."""
    projection = DecodeProjection(spec.read.projection.schema, part.demand, version=part.version)
    names = tuple(str(place) for place in range(len(projection.columns)))
    read = replace(spec.read, projection=projection, names=names)
    if read.event_time is not None and part.demand is not NOTHING:
        place = projection.by_place[(read.event_time.column,), Aspect.VALUE]
        read = replace(read, event_time=replace(read.event_time, place=place))
    counts = ReadCounts()
    with SegmentWriter(SharedLog(spec.folder).segments) as writer:
        for one, place_of_range in zip(part.ranges, part.places, strict=True):
            for batch in read_partition(read, [one], total=counts):
                writer.write(batch)
            writer.end_run(place_of_range.number)
        segment = writer.finish()
    return {
        "number": part.number,
        "version": part.version,
        "demand": demand_to_json(part.demand),
        "segments": [] if segment is None else [asdict(segment)],
        "counts": asdict(counts),
    }


@dataclass
class _Messages(WriterCommitMessage):
    """What the source's tasks said, as far as it came through this one."""

    texts: list[str]


class _EntryWriter(DataSourceStreamArrowWriter):
    def __init__(self, folder: str) -> None:
        self._folder = folder

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return _Messages([text for batch in iterator for text in batch.column(0).to_pylist()])

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        said = _said(messages)
        if said and said[0]["number"] != EMPTY:
            SharedLog(self._folder).publish(_entry(said))

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        names = [segment["name"] for message in _said(messages) for segment in message["segments"]]
        SharedLog(self._folder).remove_segments(names)


def _said(messages: Sequence[WriterCommitMessage | None]) -> list[dict[str, Any]]:
    texts = [text for m in messages if isinstance(m, _Messages) for text in m.texts]
    return [json.loads(text) for text in texts]


def _entry(said: Sequence[dict[str, Any]]) -> Entry:
    first = said[0]
    counts: dict[str, int] = {}
    for message in said:
        for name, count in message["counts"].items():
            counts[name] = counts.get(name, 0) + count
    return Entry(
        number=first["number"],
        version=first["version"],
        demand=demand_from_json(first["demand"]),
        segments=tuple(segment_from_json(s) for message in said for s in message["segments"]),
        counts=counts,
    )
