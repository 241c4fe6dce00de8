"""What one task of an ingest does: decodes its share for everybody, into a segment.

What is decoded is the union of what the pipelines on a shared stream need at that moment. A task
answers with a few words about its segment; neither payloads nor decoded values go anywhere else.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import pyarrow as pa

from narrows.connectors.base import Share
from narrows.connectors.entry_log import Entry
from narrows.connectors.opening import open_source
from narrows.demand import NOTHING, Demand
from narrows.demand_json import demand_from_json, demand_to_json
from narrows.projection.columns import Aspect
from narrows.shared.log import SharedEntry, SharedLog
from narrows.shared.segments import SegmentWriter, segment_from_json
from narrows.worker.counts import ReadCounts
from narrows.worker.read import open_reader, read_share
from narrows.worker.read_spec import ReadSpec


@dataclass(frozen=True)
class IngestUnion:
    """What an entry of the shared log is decoded with."""

    number: int
    version: int
    demand: Demand


@dataclass(frozen=True)
class IngestWork:
    """The same for tasks that last (`worker/lasting.py`): a message says what an entry holds and
    what of it is wanted."""

    spec: ReadSpec
    folder: str

    def do(self, message: bytes) -> str:
        told: dict[str, Any] = json.loads(message)
        number, version, demand = told["number"], told["version"], demand_from_json(told["demand"])
        source = open_source(self.spec.connector, self.spec.declared)
        # Without a share it is a segment less, and counts all the same.
        shares = source.split(told["entry"], 1) or [Share([], [])]
        return ingest_share(self.spec, self.folder, IngestUnion(number, version, demand), shares[0])


def ingest_message(union: IngestUnion, entry: Entry) -> bytes:
    demand = demand_to_json(union.demand)
    told = {"number": union.number, "version": union.version, "demand": demand, "entry": entry}
    return json.dumps(told).encode("utf-8")


def ingest_share(spec: ReadSpec, folder: str, union: IngestUnion, share: Share) -> str:
    """Decodes ranges into a segment; the message that tells of it."""

    def rows(read: ReadSpec, counts: ReadCounts) -> Iterator[tuple[pa.RecordBatch, int]]:
        reader = open_reader(read)
        for one, place in zip(share.ranges, share.places, strict=True):
            part = Share([one], [place])
            for batch in read_share(read, part, union.number, counts, reader=reader):
                yield batch, place

    return _ingest(spec, folder, union, rows)


def ingest_rows(
    spec: ReadSpec,
    folder: str,
    union: IngestUnion,
    task: int,
    decode: Callable[[ReadSpec, ReadCounts], Iterator[pa.RecordBatch]],
) -> str:
    """The same for payloads that come as rows of a data frame."""

    def rows(read: ReadSpec, counts: ReadCounts) -> Iterator[tuple[pa.RecordBatch, int]]:
        return ((batch, task) for batch in decode(read, counts))

    return _ingest(spec, folder, union, rows)


def _ingest(
    spec: ReadSpec,
    folder: str,
    union: IngestUnion,
    rows: Callable[[ReadSpec, ReadCounts], Iterator[tuple[pa.RecordBatch, int]]],
) -> str:
    counts, last = ReadCounts(), None
    with SegmentWriter(SharedLog(folder).segments) as writer:
        for batch, place in rows(_for_union(spec, union), counts):
            if last is not None and place != last:
                writer.end_run(last)
            writer.write(batch)
            last = place
        if last is not None:
            writer.end_run(last)
        segment = writer.finish()
    return json.dumps(
        {
            "segments": [] if segment is None else [asdict(segment)],
            "counts": asdict(counts),
        }
    )


def _for_union(spec: ReadSpec, union: IngestUnion) -> ReadSpec:
    """How to read what everybody needs together."""
    projection = replace(spec.projection, demand=union.demand, version=union.version)
    names = tuple(str(place) for place in range(len(projection.columns)))
    event_time = spec.event_time
    if event_time is not None and union.demand is not NOTHING:
        place = projection.by_place[(event_time.column,), Aspect.VALUE]
        event_time = replace(event_time, place=place)
    return replace(spec, projection=projection, names=names, event_time=event_time)


def entry_of(union: IngestUnion, messages: Sequence[str]) -> SharedEntry:
    """The entry of the shared log that the tasks of a batch have made together. There need not be
    any: then it is an entry without rows, for the numbers of entries have no gaps."""
    said = [json.loads(message) for message in messages]
    counts: dict[str, int] = {}
    for message in said:
        for name, count in message["counts"].items():
            counts[name] = counts.get(name, 0) + count
    return SharedEntry(
        number=union.number,
        version=union.version,
        demand=union.demand,
        segments=tuple(segment_from_json(s) for message in said for s in message["segments"]),
        counts=counts,
    )
