"""Windows that tasks keep (`worker/windows/keeper.py`), on Spark: what its jobs do, some of which
are those of groups that no window ends, too (`endless_steps.py`)."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pyspark.sql import DataFrame, SparkSession

from narrows.connectors.entry_log import Entry
from narrows.connectors.target import WriteSpec
from narrows.errors import InternalError
from narrows.schema import DataType
from narrows.spark.entries.entry_tasks import EntryJobs, waiting_for_tables
from narrows.spark.entries.intake import Intake
from narrows.spark.keeping.window_tasks import (
    READER,
    TOLD,
    MakeMerging,
    closed_frame,
    merging_frame,
    sweep_closed,
)
from narrows.spark.read.entry_source import is_read_in_place, set_entry
from narrows.spark.sql.own_session import OwnSession, brought_into, physical_plan
from narrows.spark.write.sink import RowsWritten, receipts_told, written_by_tasks
from narrows.worker.endless.fold import EndlessSpec
from narrows.worker.keeping.steps import GroupsFile
from narrows.worker.windows.keeper import Closed, WindowKeeper
from narrows.worker.windows.merge import Merge, write_merge
from narrows.worker.windows.spec import Finish, WindowSpec
from narrows.worker.write import Receipts, receipts_from_text

_ROWS_A_TASK = 50_000
"""Fewer are not worth another task."""


@dataclass(frozen=True)
class SparkFinish:
    """What Spark makes of merged groups, where tasks cannot."""

    spark: SparkSession
    """Where it is said how: it knows the user's functions, and tables."""
    columns: Sequence[tuple[str, DataType]]
    """Those of a group, or of a row of a window that closed."""
    rows: Callable[[DataFrame, bool], DataFrame]
    """The rows that sinks take; with `in_place` if one task has all that it is made of."""
    again: bool
    """May Spark make them in the same way in every step, but for what it has shuffled?"""
    row_by_row: bool
    """Is there nothing that it would shuffle?"""


@dataclass(frozen=True)
class SparkJobs:
    """Merges files by jobs of Spark's."""

    spark: SparkSession
    spec: WindowSpec | EndlessSpec
    merging: MakeMerging
    """What each of their tasks does."""
    write: WriteSpec
    finish: Finish | SparkFinish
    tasks: int
    """At most."""
    _frames: dict[tuple[int, bool], DataFrame] = field(default_factory=dict)
    _finished: dict[int, DataFrame] = field(default_factory=dict)
    """What Spark makes of groups of so many tasks, where it may do so again."""
    _shuffled: set[int] = field(default_factory=set)
    """How many tasks those had where it may not."""

    @property
    def finished_by(self) -> Finish | None:
        """What tasks make of groups; None where Spark goes on."""
        return self.finish if isinstance(self.finish, Finish) else None

    def check(self) -> None:
        """What Spark will not take is said now, and not when there is something to make."""
        if isinstance(self.finish, SparkFinish):
            self._finish_of(self.finish, 1)

    def close(self, merge: Merge) -> Closed:
        if isinstance(self.finish, SparkFinish) and not self.spec.merges:
            write_merge(self.spec.folder, merge)  # Spark can have rows right out of the files
            return Closed(self._computed(self.finish, self._tasks(merge), merge.number), ())
        return self.closed(self._merged(merge, self.finished_by), merge.number)

    def closed(self, answers: Sequence[dict[str, Any]], number: int) -> Closed:
        """What tasks have made of files in a step, as they tell; Spark goes on, where it has to."""
        rest = told_files(answers, "rest")
        if isinstance(self.finish, Finish):
            return Closed([receipts_from_text(each["written"]) for each in answers], rest)
        try:
            closed = any(each["closed"] for each in answers)
            receipts = self._computed(self.finish, len(answers), number) if closed else []
            return Closed(receipts, rest)
        finally:
            sweep_closed(self.spec.folder)

    def _computed(self, finish: SparkFinish, tasks: int, number: int) -> list[Receipts]:
        set_entry(self.spark, number)  # it is the step's that is written
        with waiting_for_tables():
            made = self._finish_of(finish, tasks)
        return receipts_told(made.collect(), number)

    def _finish_of(self, finish: SparkFinish, tasks: int) -> DataFrame:
        made = self._finished.get(tasks)
        if made is None:
            closed = closed_frame(finish.spark, self.spec, self.merging, finish.columns, tasks)
            rows = finish.rows(closed, tasks == 1)
            made = brought_into(self.spark, written_by_tasks(rows, self.write))
            if self._lasts(finish, tasks, made):
                self._finished[tasks] = made
        return made

    def _lasts(self, finish: SparkFinish, tasks: int, made: DataFrame) -> bool:
        """Can it be run again? What Spark has shuffled or broadcast, it would not make again; of
        one task's rows it need not shuffle any, as a rule."""
        if finish.row_by_row:
            return True
        if not finish.again or tasks > 1 or tasks in self._shuffled:
            return False
        if is_read_in_place(physical_plan(self.spark, made), READER):
            return True
        self._shuffled.add(tasks)
        return False

    def compact(self, merge: Merge) -> Sequence[GroupsFile]:
        return told_files(self._merged(merge, None), "rest")

    def _tasks(self, merge: Merge) -> int:
        return max(1, min(self.tasks, merge.groups // _ROWS_A_TASK))

    def _merged(self, merge: Merge, finish: Finish | None) -> list[dict[str, Any]]:
        frame = self._frame(self._tasks(merge), finish)
        write_merge(self.spec.folder, merge)
        return [json.loads(row[TOLD]) for row in frame.collect()]

    def _frame(self, tasks: int, finish: Finish | None) -> DataFrame:
        key = tasks, finish is None
        if key not in self._frames:
            made = merging_frame(self.spark, self.spec, self.merging, finish, self.write, tasks)
            self._frames[key] = made
        return self._frames[key]


@dataclass(frozen=True)
class WindowSteps:
    """An entry is folded into windows, and a step publishes those that close then."""

    keeps_state: ClassVar[bool] = True

    own: OwnSession
    """Where all its jobs run."""
    folds: EntryJobs
    keeper: WindowKeeper
    written: RowsWritten

    def __len__(self) -> int:
        return len(self.folds)

    def run(self, number: int, entry: Entry, tasks: int, *, ends: bool) -> int:
        with self.own.running():
            self.keeper.begin(number)
            answers = told_of_entry(self.folds, number, tasks)
            self.written.late += sum(each["late"] for each in answers)
            return self.keeper.run(number, told_files(answers, "file"), ends=ends)

    @property
    def intake(self) -> Intake:
        return Intake(self.keeper.spec.read)

    @property
    def was_closing(self) -> bool:
        return self.keeper.was_closing

    @property
    def has_open(self) -> bool:
        return self.keeper.has_open

    def close(self) -> None:
        with self.own.running():
            self.written.rows += self.keeper.close()

    def check(self) -> None:
        self.own.check()

    def stop(self) -> None:
        self.own.stop()


def told_of_entry(folds: EntryJobs, number: int, tasks: int) -> list[dict[str, Any]]:
    """What so many tasks tell that have folded an entry."""
    answers = [json.loads(row[TOLD]) for row in folds.run(number, tasks)]
    others = {each["entry"] for each in answers} - {number}
    if others:
        raise InternalError(f"tasks of entry {number} have folded entry {others}")
    return answers


def told_files(answers: Sequence[dict[str, Any]], kind: str) -> list[GroupsFile]:
    """The files that they have left."""
    return [GroupsFile(*each[kind]) for each in answers if each[kind] is not None]
