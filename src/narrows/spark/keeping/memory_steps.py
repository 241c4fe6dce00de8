"""What tasks remember of rows, step by step (`worker/remembered/keeper.py`), on Spark: its jobs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar, NamedTuple

import pyarrow as pa

from narrows.catalog.objects import Source
from narrows.connectors.entry_log import Entry
from narrows.errors import InternalError
from narrows.explain.plan import Plan
from narrows.logical.nodes import Node
from narrows.physical.execution import rows_of
from narrows.physical.kept_by_tasks import kept_places
from narrows.physical.nodes import PhysicalJoin
from narrows.physical.stream_join import stream_join
from narrows.plugins.options import parse_duration
from narrows.spark.entries.entry_plan import EntryPlan
from narrows.spark.entries.entry_tasks import EntryJobs
from narrows.spark.entries.intake import Taking
from narrows.spark.read.entry_source import set_entry_of_each
from narrows.spark.sql.own_session import OwnSession
from narrows.spark.windows.input_end import watermark_delay
from narrows.spark.windows.stream_joins import join_sides
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
from narrows.worker.newest_time import newest_of_stream
from narrows.worker.remembered.keeper import Kept, MemoryKeeper, Merging, Time, place_of
from narrows.worker.remembered.store import KeptKeys
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

    def merge(self, merge: Merging) -> Sequence[GroupsFile]:
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

    intake: Taking
    jobs: SparkMemoryJobs
    keeper: MemoryKeeper
    written: RowsWritten
    closes: bool
    """Is there something that the end of the input closes?"""

    def __len__(self) -> int:
        return self.jobs.most

    def run(self, number: int, entry: Entry, tasks: int, *, ends: bool) -> int:
        with self.jobs.own.running():
            set_entry_of_each(self.jobs.own.spark, self.intake.read_with(entry))
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
    made: EntryPlan, intake: Taking, time: Time | None, written: RowsWritten
) -> MemorySteps:
    """The steps of a pipeline that takes what it reads so."""
    rows, own = rows_of(made.plan.physical), OwnSession(made.context.spark)
    read_all_rows(own.spark)
    jobs = SparkMemoryJobs(own, made, made.context.parallelism)
    keeper = MemoryKeeper(_kept(made.remembered, kept_places(rows)), made.write, jobs, time)
    return MemorySteps(intake, jobs, keeper, written, closes=bool(windows_of(rows)))


def _kept(folder: Path, nodes: Sequence[Node]) -> list[Kept]:
    """What is kept in each place of a pipeline."""
    folders = [str(place_of(folder, place)) for place in range(len(nodes))]
    kept: list[Kept] = [KeptKeys(each) for each in folders]
    for place, node in enumerate(nodes):
        if isinstance(node, PhysicalJoin) and node is not (nodes[place - 1] if place else None):
            kept[place : place + 2] = join_sides(node, (folders[place], folders[place + 1]))
    return kept


class ReadHere(NamedTuple):
    """A stream that a pipeline reads, and where tasks leave how far they have come with it."""

    source: Source
    newest: Path


def memory_time(plan: Plan, streams: Callable[[], Sequence[ReadHere]]) -> Time | None:
    """How the time goes by that tasks wait for; None if they do not."""
    rows = rows_of(plan.physical)
    places = kept_places(rows)
    if not places:
        return None
    if isinstance(places[0], PhysicalJoin):
        how = stream_join(places[0])
        if how is None or how.times is None:
            return None
        return Time(lambda: min(map(_watermark_of, streams())), closing=_never)
    windows = [window for window in windows_of(rows).values() if window.goes_by_time]
    if not windows:
        return None

    def watermark() -> int:
        ((source, newest),) = streams()
        return newest_of_stream(newest) - watermark_delay(source, windows[0])

    def closing() -> int:
        ((_, newest),) = streams()
        return windows[0].closing_time(newest_of_stream(newest))

    return Time(watermark, closing)


def _watermark_of(stream: ReadHere) -> int:
    """Of a stream that nobody has read anything of it is at the beginning."""
    newest = newest_of_stream(stream.newest)
    return newest - (parse_duration(stream.source.watermark) or 0) if newest else 0


def _never() -> int:
    raise InternalError("nothing closes at the end of the input")
