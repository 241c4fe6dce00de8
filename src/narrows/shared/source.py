"""The log of a shared stream as a source: what a pipeline reads are entries that are decoded.

An entry of the pipeline's own log is `{"after": 3, "upto": 7}`: entries 4 to 7 of the shared log.
Ranges are segments, mapped into memory; of each only the pipeline's own leaves are read.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from narrows.arrow.batches import batch_of
from narrows.connectors.base import Decoding, Lag, Part, Share, SourceConnector, SourceDeclaration
from narrows.connectors.entry_log import Entry, TakenEntries
from narrows.errors import Code, fail
from narrows.files.names import name_of
from narrows.formats.decoder import Decoded
from narrows.shared.log import SharedEntry, SharedLog
from narrows.shared.registry import ConsumerRegistry, pipeline_of
from narrows.shared.segments import Segment, read_segment

FOLDER, CONSUMER = "shared_folder", "consumer"
"""Options, given by whoever reads a shared stream: its folder, and under which name it reads."""

ENTRIES_AT_ONCE = 100
"""So many entries are read in one go, for a pipeline that has fallen behind."""


@dataclass(frozen=True)
class SegmentRange:
    """A segment of an entry."""

    entry: SharedEntry
    segment: Segment

    @property
    def key(self) -> str:
        return self.segment.name

    @property
    def batch(self) -> int:
        return self.entry.number

    @property
    def runs(self) -> Sequence[tuple[int, int]]:
        return self.segment.runs


class SharedLogSource(SourceConnector):
    def __init__(self, declared: SourceDeclaration) -> None:
        self._folder = str(declared.options[FOLDER])
        self._consumer = str(declared.options[CONSUMER])
        self._log = SharedLog(self._folder)

    def available(self) -> int:
        return self._log.last()

    def admit(self, log: TakenEntries, available: int) -> Entry | None:
        # What was read may be behind what was registered, if the pipeline stood still meanwhile.
        last = log.last()
        after = max(self._position(), log.entry(last)["upto"] if last >= 0 else -1)
        if available <= after:
            return None
        return {"after": after, "upto": min(available, after + ENTRIES_AT_ONCE)}

    def whole(self, available: int) -> Entry:
        return {"after": self._position(), "upto": available}

    def split(self, entry: Entry, tasks: int) -> list[Share]:
        """Segments, shared out by size and in their order: what the tasks write one after the other
        is in the order of the stream."""
        ranges = [
            SegmentRange(shared, segment)
            for shared in self._entries(entry)
            for segment in shared.segments
        ]
        total, done = sum(read.segment.size for read in ranges), 0
        shares: dict[int, list[SegmentRange]] = {}
        for read in ranges:
            middle = done + read.segment.size // 2
            task = min(tasks - 1, middle * tasks // max(1, total))
            shares.setdefault(task, []).append(read)
            done += read.segment.size
        return [Share(part, [0] * len(part)) for part in shares.values()]

    def size(self, entry: Entry) -> int:
        return sum(shared.size for shared in self._entries(entry))

    def version(self, available: int) -> str:
        return str(available)

    def lag(self, log: TakenEntries, available: int) -> Lag:
        last = log.last()
        after = max(self._position(), log.entry(last)["upto"] if last >= 0 else -1)
        return Lag(units=max(0, available - after))

    def committed(self, entry: Entry) -> None:
        ConsumerRegistry(self._folder).advance({self._consumer: entry["upto"]})

    def _position(self) -> int:
        """Where the consumer began in this life, as it was registered before it was started."""
        return ConsumerRegistry(self._folder).snapshot().positions.get(self._consumer, -1)

    def _entries(self, entry: Entry) -> list[SharedEntry]:
        numbers: Sequence[int] = range(entry["after"] + 1, entry["upto"] + 1)
        there = set(self._log.numbers())
        if not there.issuperset(numbers):
            # Entries before the position that are gone were not for this life of the pipeline. Who
            # misses none need not ask: every task would wait for the registry's lock.
            position = self._position()
            numbers = [n for n in numbers if n > position or n in there]
        return [self._log.entry(n) for n in numbers]


class SegmentReader:
    """Reads the leaves that a pipeline wants out of segments that hold those of all."""

    def __init__(self, declared: SourceDeclaration, decoding: Decoding) -> None:
        self._source = declared.name
        self._consumer = str(declared.options[CONSUMER])
        self._folder = str(declared.options[FOLDER])
        self._segments = SharedLog(self._folder).segments
        self._wanted = decoding.projection

    def parts(self, read: SegmentRange) -> Iterator[Part]:
        wanted = self._wanted
        if not read.entry.demand.covers(wanted.demand | wanted.tested):
            positions = ConsumerRegistry(self._folder).snapshot().positions
            if read.entry.number <= positions.get(self._consumer, -1):
                return  # it was not for this life of the pipeline
            pipeline = name_of(pipeline_of(self._consumer))
            raise fail(
                Code.UNREADABLE_FILE,
                f"entry {read.entry.number} of shared stream `{self._source}` was decoded without"
                f" what pipeline `{pipeline}` needs",
                None,
                "it has lost its place: start it anew with"
                f" `narrows reset {shlex.quote(pipeline)}`",
            )
        union = read.entry.projection(wanted.schema)
        for columns, rows in read_segment(self._segments, read.segment, union, wanted):
            yield Part(Decoded(batch_of(wanted, columns, rows)), 0)
