"""A feed and a query play together, whatever crashes, and whatever times the state folder gets:
every file is read once, in order."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from narrows.demand import NOTHING
from narrows.projection.columns import DecodeProjection
from narrows.schema import BIGINT, Field, Struct
from narrows.spark.streaming.checkpoint import check_markers
from narrows.spark.streaming.feed import Feed
from narrows.worker.read_spec import ReadSpec
from support.fake_checkpoint import FakeQuery
from support.file_log import FileLog

WEEK = 7 * 24 * 3600


class FeedMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.moves = 0
        (self.folder / "in").mkdir()
        self.put_files = 0
        self.rows: dict[int, list[str]] = {}
        """What each batch published."""
        self.batch: int | None = None
        self.start()

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    @property
    def spec(self) -> ReadSpec:
        return ReadSpec(
            source="s",
            connector="file",
            format="json",
            projection=DecodeProjection(Struct((Field("a", BIGINT),)), NOTHING),
            names=(),
            options={"path": str(self.folder / "in"), "max_files_per_trigger": 2},
            entry_log=str(self.state / "files" / "p [x]" / "0"),
        )

    def start(self) -> None:
        self.feed = Feed(self.spec, self.state / "checkpoint")
        markers = Path(str(self.spec.entry_log)) / "markers"
        self.query = FakeQuery(self.state / "checkpoint", markers)
        self.batch = None

    @rule(count=st.integers(1, 5))
    def put(self, count: int) -> None:
        for _ in range(count):
            path = self.folder / "in" / f"{self.put_files:06d}.json"
            path.write_text("{}\n")
            # Files of one age are taken by name.
            os.utime(path, (self.put_files, self.put_files))
            self.put_files += 1

    @rule()
    def look(self) -> None:
        self.feed.keep_ahead()

    @rule()
    def take_all(self) -> None:
        self.feed.take_all(ends=True)

    @precondition(lambda self: self.batch is None)
    @rule()
    def begin(self) -> None:
        self.batch = self.query.begin_batch()
        if self.batch is not None:
            check_markers(self.state / "checkpoint", self.markers, self.batch)
            log = FileLog(Path(str(self.spec.entry_log)))
            self.rows[self.batch] = [
                file.path for entry in self.query.entries(self.batch) for file in log.entry(entry)
            ]

    @precondition(lambda self: self.batch is not None)
    @rule()
    def commit(self) -> None:
        assert self.batch is not None
        self.query.commit(self.batch)
        self.batch = None

    @rule()
    def crash(self) -> None:
        self.start()

    @rule(shift=st.integers(-3 * WEEK, 3 * WEEK), same=st.booleans())
    def restore(self, shift: int, same: bool) -> None:
        """The state folder is copied elsewhere, with times that are anything but the old ones."""
        old = self.state
        shutil.copytree(old, self.folder / "copy")
        shutil.rmtree(old)
        (self.folder / "copy").rename(old)
        now = time.time() + shift
        for place, path in enumerate(sorted(old.rglob("*"), reverse=True)):
            at = now if same else now + place
            os.utime(path, (at, at))
        self.start()

    @rule()
    def move(self) -> None:
        """The state folder gets another name, also while a batch waits to be run again."""
        old, self.moves = self.state, self.moves + 1
        old.rename(self.state)
        self.start()

    @property
    def state(self) -> Path:
        return self.folder / f"state é [{self.moves}]"

    @property
    def markers(self) -> Path:
        return Path(str(self.spec.entry_log)) / "markers"

    @invariant()
    def never_far_ahead_of_what_is_read(self) -> None:
        assert [path for batch in sorted(self.rows) for path in self.rows[batch]] == [
            str(self.folder / "in" / f"{number:06d}.json")
            for number in range(sum(len(files) for files in self.rows.values()))
        ]

    @rule()
    def read_all(self) -> None:
        self.feed.take_all()
        while True:
            if self.batch is not None:
                self.commit()
            self.begin()
            if self.batch is None:
                break
        assert sum(len(files) for files in self.rows.values()) == self.put_files
        self.look()
        assert len(list(self.markers.glob("*.marker"))) == 0, "what was read is not kept"


TestFeed = FeedMachine.TestCase
TestFeed.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
