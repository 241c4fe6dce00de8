"""What tasks remember of rows, step by step (`worker/remembered/keeper.py`), on Spark: its jobs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import ClassVar

import pyarrow as pa

from narrows.connectors.entry_log import Entry
from narrows.explain.plan import Plan
from narrows.physical.execution import rows_of
from narrows.physical.kept_by_tasks import kept_places
from narrows.spark.compile.context import Context
from narrows.spark.entries.entry_plan import EntryPlan
from narrows.spark.entries.entry_tasks import EntryJobs
from narrows.spark.sql.own_session import OwnSession
from narrows.spark.windows.closing import streams_of
from narrows.spark.windows.input_end import watermark_delay
from narrows.spark.windows.task_memory import read_all_rows, set_attempt
from narrows.spark.windows.windows import windows_of
from narrows.spark.write.sink import (
    RowsWritten,
    Writing,
    batch_and_task,
    receipts_told,
    set_writing,
)
from narrows.worker.keeping.steps import GroupsFile
from narrows.worker.newest_time import newest_time
from narrows.worker.read_spec import ReadSpec
from narrows.worker.remembered.keeper import MemoryKeeper, Time
from narrows.worker.remembered.store import Merge
from narrows.worker.write import Receipts

_ROWS_A_TASK = 50_000
"""Fewer are not worth another task."""
_FILE = "file"
_Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True)
class SparkMemoryJobs:
    own: OwnSession
    plan: EntryPlan
    most: int
    """So many tasks a job has at most."""

    @cached_property
    def _reading(self) -> EntryJobs:
        return EntryJobs(self.own, self.plan.make, self.most, self.plan.planned_for)

    @cached_property
    def _advancing(self) -> EntryJobs:
        return EntryJobs(self.own, self.plan.make_advancing, self.most, self.plan.planned_for)

    def read(self, batch: int, tasks: int, step: int, attempt: str) -> Sequence[Receipts]:
        return self._run(self._reading, batch, tasks, Writing(step), attempt)

    def advance(self, batch: int, tasks: int, step: int, attempt: str) -> Sequence[Receipts]:
        beside = Writing(step, first_task=self.most)
        return self._run(self._advancing, batch, tasks, beside, attempt)

    def _run(
        self, jobs: EntryJobs, batch: int, tasks: int, writing: Writing, attempt: str
    ) -> Sequence[Receipts]:
        set_writing(self.own.spark, writing)
        set_attempt(self.own.spark, attempt)
        return receipts_told(jobs.run(batch, tasks), writing.batch)

    def merge(self, merge: Merge) -> Sequence[GroupsFile]:
        tasks = max(1, min(self.most, merge.rows // _ROWS_A_TASK))

        def run(numbers: _Batches) -> _Batches:
            _, task = batch_and_task(0)
            for _ in numbers:
                yield pa.RecordBatch.from_pydict({_FILE: [json.dumps(merge.run(task, tasks))]})

        made = self.own.spark.range(0, tasks, 1, tasks).mapInArrow(run, f"{_FILE} STRING")
        files = [json.loads(row[_FILE]) for row in made.collect()]
        return [GroupsFile(*file) for file in files if file is not None]


@dataclass(frozen=True)
class MemorySteps:
    keeps_state: ClassVar[bool] = True

    read: ReadSpec
    jobs: SparkMemoryJobs
    keeper: MemoryKeeper
    written: RowsWritten
    closes: bool
    """Is there something that the end of the input closes?"""

    def __len__(self) -> int:
        return self.jobs.most

    def run(self, number: int, entry: Entry, tasks: int, *, ends: bool) -> int:
        with self.jobs.own.running():
            published = self.keeper.run(number, tasks)
            self.written.late += published.late
            return published.rows

    @property
    def was_closing(self) -> bool:
        return self.keeper.was_closing

    @property
    def has_open(self) -> bool:
        return self.closes and self.keeper.has_open

    def close(self) -> None:
        with self.jobs.own.running():
            self.written.rows += self.keeper.close(self.jobs.most)

    def check(self) -> None:
        self.jobs.own.check()

    def stop(self) -> None:
        self.jobs.own.stop()


def memory_steps(
    made: EntryPlan, read: ReadSpec, time: Time | None, written: RowsWritten
) -> MemorySteps:
    """The steps of a pipeline that reads this."""
    rows, own = rows_of(made.plan.physical), OwnSession(made.context.spark)
    read_all_rows(own.spark)
    jobs = SparkMemoryJobs(own, made, read.partitions)
    keeper = MemoryKeeper(made.remembered, len(kept_places(rows)), made.write, jobs, time)
    return MemorySteps(read, jobs, keeper, written, closes=bool(windows_of(rows)))


def memory_time(context: Context, pipeline: str, plan: Plan) -> Time | None:
    """How the time goes by that tasks wait for; None if they do not."""
    rows = rows_of(plan.physical)
    if not kept_places(rows):
        return None
    windows = [window for window in windows_of(rows).values() if window.goes_by_time]
    if not windows:
        return None
    (stream,), (window, *_) = streams_of(rows), windows
    newest = partial(newest_time, context.state.all_newest(pipeline))
    return Time(watermark_delay(stream, window), newest, window.closing_time)
