"""A topic, its writers and its readers, with crashes in between: every row is read once."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from narrows.connectors.base import SourceDeclaration
from narrows.connectors.entry_log import EntryLog
from narrows.connectors.memory.sink import TopicSink
from narrows.connectors.memory.source import TopicSource
from narrows.connectors.memory.topic import Topic
from narrows.connectors.target import RowPart, SinkTarget

WRITERS, READERS = ("p", "p-0"), ("q", "r")


class TopicMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self.folder = self._folder.name
        self.topic = Topic(self.folder, "t")
        self.next_row = 0
        self.written: list[int] = []
        """All rows of the topic, in their order."""
        self.batches = dict.fromkeys(WRITERS, -1)
        self.began: dict[str, int] = {}
        """Readers, and with which row each began."""
        self.read: dict[str, list[int]] = {}
        self.pending: dict[str, Any] = {}
        """Entries that were taken, and are not committed."""

    def teardown(self) -> None:
        self._folder.cleanup()

    # --- writers ----------------------------------------------------------------------------------

    def _sink(self, writer: str) -> TopicSink:
        options = (("topic", "t"),)
        parts = (RowPart("o0", "n"),)
        return TopicSink(
            SinkTarget(writer, "s", "memory", "json", options, parts, "", "", folder=self.folder)
        )

    def _tasks(self, writer: str, rows: list[int]) -> list[Any]:
        receipts = []
        for part in (rows[:1], rows[1:]):
            task = self._sink(writer).open_task(0, 0)
            task.add(pa.RecordBatch.from_arrays([pa.array(part, pa.int64())], names=["o0"]))
            receipts.append(task.close())
        return receipts

    @rule(writer=st.sampled_from(WRITERS), count=st.integers(0, 3))
    def write(self, writer: str, count: int) -> None:
        rows = list(range(self.next_row, self.next_row + count))
        self.next_row += count
        self.batches[writer] += 1
        self._sink(writer).publish(self.batches[writer], self._tasks(writer, rows))
        self.written += rows

    @rule(writer=st.sampled_from(WRITERS), back=st.integers(0, 2))
    def run_again(self, writer: str, back: int) -> None:
        """A batch that had rows and is run again, with others than before."""
        batch = self.batches[writer] - back
        if batch >= 0 and self.written:
            self._sink(writer).publish(self.batches[writer], self._tasks(writer, []))
            last = self._last_batch(writer)
            if last is not None and batch <= last:
                self._sink(writer).publish(batch, self._tasks(writer, [-1, -2]))

    def _last_batch(self, writer: str) -> int | None:
        """The last batch of it that had rows."""
        kept = self.topic.kept()
        log = EntryLog(self.topic.folder / "log")
        found = log.entry(kept.stop - 1)["writers"].get(writer) if kept.stop else None
        return None if found is None else int(found)

    @rule(writer=st.sampled_from(WRITERS), rows=st.integers(1, 2))
    def crash_while_writing(self, writer: str, rows: int) -> None:
        self._tasks(writer, [-7] * rows)
        self._sink(writer).sweep()

    # --- readers ----------------------------------------------------------------------------------

    def _source(self, reader: str) -> TopicSource:
        return TopicSource(
            SourceDeclaration("t", "rows", {"topic": "t"}, reader=reader, folder=self.folder)
        )

    def _log(self, reader: str) -> EntryLog:
        return EntryLog(Path(self.folder) / f"{reader}.entries")

    @rule(reader=st.sampled_from(READERS))
    def take(self, reader: str) -> None:
        if reader in self.pending:
            return
        source, log = self._source(reader), self._log(reader)
        if reader not in self.began:
            kept = [n for n in self._rows(source.whole(source.available())) if n >= 0]
            self.began[reader] = len(self.written) - len(kept)
            self.read[reader] = []
        entry = source.admit(log, source.available())
        if entry is not None:
            log.append(entry)
            self.pending[reader] = entry

    @precondition(lambda self: self.pending)
    @rule(reader=st.sampled_from(READERS), again=st.booleans())
    def commit(self, reader: str, again: bool) -> None:
        entry = self.pending.pop(reader, None)
        if entry is None:
            return
        rows = self._rows(entry)
        assert rows == self._rows(entry)
        self.read[reader] += rows
        for _ in range(1 + again):
            self._source(reader).committed(entry)

    def _rows(self, entry: Any) -> list[int]:
        found: list[int] = []
        for share in self._source("nobody").split(entry, 1):
            placed = sorted(zip(share.places, share.ranges, strict=True), key=lambda p: p[0])
            for _, read in placed:
                table = pa.ipc.open_file(read.path).read_all()  # type: ignore[attr-defined]
                found += table.column("n").to_pylist()
        return found

    # --- what must hold ---------------------------------------------------------------------------

    @invariant()
    def every_row_is_read_once_and_in_order(self) -> None:
        for reader, rows in self.read.items():
            began = self.began[reader]
            assert rows == self.written[began : began + len(rows)]

    @invariant()
    def what_is_there_belongs_to_somebody(self) -> None:
        named = {file.name for _, files in self.topic.files(self.topic.kept()) for file in files}
        there = {path.name for path in self.topic.rows.glob("*")}
        assert there == named
        if self.read and set(self.read) == set(self.began):
            behind = min(self.began[r] + len(rows) for r, rows in self.read.items())
            kept = [n for n in self._rows(self._whole()) if n >= 0]
            assert kept[-(len(self.written) - behind) :] == self.written[behind:] or not kept

    def _whole(self) -> Any:
        source = self._source("nobody")
        return source.whole(source.available())


TestTopicMachine = TopicMachine.TestCase
TestTopicMachine.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
