"""A pipeline whose readers write now, and that has micro-batches then, whatever crashes in between:
each row is written once, under the number of its entry, and each bad payload is one dead letter."""

from __future__ import annotations

import json
import shutil
import tempfile
import uuid
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from narrows.connectors.entry_log import Entry, EntryLog
from narrows.connectors.target import WriteSpec
from narrows.spark.entries import entry_loop
from narrows.spark.entries.entry_loop import EntryLoop, WritingSteps
from narrows.spark.entries.intake import Intake
from narrows.spark.streaming.feed import Feed
from narrows.spark.streaming.handover import begin_position, end_position
from narrows.spark.write.sink import RowsWritten
from narrows.state.entry_position import first_entry
from narrows.worker.count_files import total_counts
from narrows.worker.lasting import EntryWork
from narrows.worker.read import read_entry
from narrows.worker.read_spec import ReadSpec
from narrows.worker.write import Receipts, publish, sweep, write_task
from support.copying import Copying
from support.fake_checkpoint import FakeQuery


class Crash(BaseException):
    """A process is gone: nobody cleans up."""


class InProcess:
    """Tasks without Spark, which may die before, in the middle of, or after what they do."""

    def __init__(self, read: ReadSpec, write: WriteSpec, count: int) -> None:
        self._read, self._write, self._count = read, write, count
        self.dies: str | None = None

    def __len__(self) -> int:
        return self._count

    def copy(self, number: int, entry: Entry, tasks: int) -> Sequence[Receipts]:
        receipts = []
        for task in range(tasks):
            if self.dies == "before" or (self.dies == "between" and task == 1):
                raise Crash
            receipts.append(EntryWork(self._read, self._write).copy(number, entry, task, tasks))
        if self.dies == "after":
            raise Crash
        return receipts

    def check(self) -> None:
        pass

    def stop(self) -> None:
        pass


class EntryLoopMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.copying = Copying(Path(tempfile.mkdtemp()))
        self.folder, self.log = self.copying.folder, self.copying.log
        self.read, self.target = self.copying.read, self.copying.target
        self.checkpoint = self.folder / "state" / "checkpoint"
        self.loop: EntryLoop | None = None
        self.query: FakeQuery | None = None
        self.start_loop(2)

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    # --- what comes -------------------------------------------------------------------------------

    @rule(rows=st.lists(st.booleans(), min_size=1, max_size=4), large=st.booleans())
    def put(self, rows: list[bool], large: bool) -> None:
        """A large file is worth several tasks."""
        self.copying.put_file(rows, large=large)

    # --- its readers write ------------------------------------------------------------------------

    @rule(tasks=st.integers(1, 3))
    def start_loop(self, tasks: int) -> None:
        """Also after a crash of what ran before, whatever that was."""
        self.query = None
        read = replace(self.read, partitions=tasks)
        write = WriteSpec((self.target,))
        position = begin_position(Intake(read), self.checkpoint)
        self.tasks = InProcess(read, write, tasks)
        self.loop = EntryLoop(
            Intake(read), position, RowsWritten(), WritingSteps(write, self.tasks)
        )

    @precondition(lambda self: self.loop is not None)
    @rule(dies=st.sampled_from((None, None, "before", "between", "after", "published")))
    def step(self, dies: str | None) -> None:
        assert self.loop is not None
        self.tasks.dies = dies
        try:
            if dies == "published":
                self._die_after_publishing(self.loop)
            else:
                self.loop.step(self.loop.intake.look)
        except Crash:
            self.start_loop(2)
        self.tasks.dies = None

    def _die_after_publishing(self, loop: EntryLoop) -> None:
        def published(*given: Any) -> int:
            publish(*given)
            raise Crash

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(entry_loop, "publish", published)
            loop.step(loop.intake.look)

    @precondition(lambda self: self.loop is not None)
    @rule()
    def settle(self) -> None:
        assert self.loop is not None
        self.loop.settle()

    # --- micro-batches ----------------------------------------------------------------------------

    @rule(tasks=st.integers(1, 3))
    def start_query(self, tasks: int) -> None:
        self.loop = None
        read = replace(self.read, partitions=tasks)
        end_position(read, self.checkpoint)
        self.feed = Feed(read, self.checkpoint)
        self.write = WriteSpec((self.target,), first_entry(self.log))
        sweep(self.write)
        self.query = FakeQuery(self.checkpoint, self.log / "markers")
        (self.checkpoint / "metadata").write_text(json.dumps({"id": str(uuid.UUID(int=7))}))

    @precondition(lambda self: self.query is not None)
    @rule(dies=st.sampled_from((None, None, "before", "after")))
    def micro_batch(self, dies: str | None) -> None:
        assert self.query is not None
        self.feed.keep_ahead()
        batch = self.query.begin_batch()
        if batch is None or dies == "before":
            return
        self.feed.check(batch)
        entry = self._entry_of(batch)
        marker = (self.log / "markers" / f"{entry:012d}.marker").read_text("ascii")
        receipts = []
        for line in marker.splitlines():
            number, task, tasks, _ = map(int, line.split())
            rows = read_entry(self.read, EntryLog(self.log).entry(number), number, task, tasks)
            receipts.append(write_task(self.write, rows, batch, task))
        publish(self.write, batch, receipts)
        if dies is None:
            self.query.commit(batch)

    def _entry_of(self, batch: int) -> int:
        assert self.query is not None
        (entry,) = self.query.entries(batch)
        assert entry == first_entry(self.log) + batch, "batches have the numbers of entries"
        return entry

    # --- what is written --------------------------------------------------------------------------

    @rule()
    def read_all(self) -> None:
        self.start_loop(2)
        assert self.loop is not None
        while self.loop.step(self.loop.intake.look):
            pass
        self.loop.settle()
        rows, bad = self.copying.rows, self.copying.bad
        assert self.copying.found() == list(range(rows))
        assert not list((self.folder / "out").glob(".*")), "nothing is left lying about"
        found = list((self.folder / "state" / "dead_letters").glob("[!.]*"))
        assert sum(len(path.read_text().splitlines()) for path in found) == bad
        counted = total_counts(self.folder / "state" / "statistics")
        assert (counted.payloads, counted.bad) == (rows + bad + self.copying.files, bad)


TestEntryLoop = EntryLoopMachine.TestCase
TestEntryLoop.settings = settings(max_examples=30, stateful_step_count=25, deadline=None)
