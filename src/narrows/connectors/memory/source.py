"""A topic as a stream. An entry has the files of batches, all up to one that is not included:

{"upto": 7, "files": [["p-5f3c...09.arrow", 5000, 81210]]}
"""

from __future__ import annotations

from collections.abc import Iterable

from narrows.connectors.base import Lag, Share, SourceConnector, SourceDeclaration
from narrows.connectors.entry_log import Entry, TakenEntries
from narrows.connectors.memory import TOPIC
from narrows.connectors.memory.topic import Topic, TopicFile
from narrows.files.ranges import FileRange, pack, tasks_for
from narrows.plugins.start_at import LATEST, START_AT


class TopicSource(SourceConnector):
    def __init__(self, declared: SourceDeclaration) -> None:
        self._topic = Topic(declared.folder or "", str(declared.options[TOPIC]))
        self._reader = declared.reader
        self._begins_late = declared.options.get(START_AT) == LATEST
        self._max_bytes = declared.limit("max_bytes_per_trigger")

    def available(self) -> range:
        return self._topic.kept()

    def reserve(self) -> None:
        if self._reader is not None:
            # Before anything comes, or goes: what nobody has begun to read is nobody's.
            self._topic.consumers.begin(self._reader, self._begins(self.available()))

    def start(self) -> None:
        self.reserve()

    def admit(self, log: TakenEntries, available: range) -> Entry | None:
        first = self._first(log, available)
        chosen: list[TopicFile] = []
        upto = first
        for batch, files in self._topic.files(range(first, available.stop)):
            size = sum(file.size for file in (*chosen, *files))
            if batch > first and self._max_bytes is not None and size > self._max_bytes:
                break
            chosen += files
            upto = batch + 1
        return {"upto": upto, "files": [list(file) for file in chosen]} if upto > first else None

    def whole(self, available: range) -> Entry:
        files = [list(file) for _, files in self._topic.files(available) for file in files]
        return {"upto": available.stop, "files": files}

    def split(self, entry: Entry, tasks: int) -> list[Share]:
        ranges = [
            FileRange(str(self._topic.rows / name), 0, size, size)
            for name, _, size in entry["files"]
        ]
        place = {read: number for number, read in enumerate(ranges)}
        packed = pack(ranges, tasks_for(ranges, tasks))
        return [Share(part, [place[read] for read in part]) for part in packed]

    def size(self, entry: Entry) -> int:
        return sum(size for _, _, size in entry["files"])

    def version(self, available: range) -> str:
        return f"{available.start}:{available.stop}"

    def lag(self, log: TakenEntries, available: range) -> Lag:
        left = range(self._first(log, available), available.stop)
        return Lag(units=len(left))

    def committed(self, entry: Entry) -> None:
        if self._reader is not None:
            self._topic.consumers.advance(self._reader, entry["upto"])
            self._topic.retain()

    def folded(self, entries: Iterable[Entry]) -> Entry | None:
        return {"upto": max(entry["upto"] for entry in entries), "files": []}

    def _first(self, log: TakenEntries, available: range) -> int:
        """The first batch that no entry has, of those that are there."""
        last = log.last()
        if last >= 0:
            return max(int(log.entry(last)["upto"]), available.start)
        begins = self._begins(available)
        return begins if self._reader is None else self._topic.consumers.begin(self._reader, begins)

    def _begins(self, available: range) -> int:
        return available.stop if self._begins_late else available.start
