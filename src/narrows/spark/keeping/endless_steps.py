"""Groups that no window ends, kept by tasks (`worker/endless/keeper.py`), on Spark: what becomes of
an entry."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from typing import ClassVar

from narrows.connectors.entry_log import Entry
from narrows.connectors.target import WriteSpec
from narrows.explain.plan import Plan
from narrows.physical.execution import rows_of
from narrows.physical.kept_groups import endless_groups
from narrows.spark.compile.context import Context, PlaceReads
from narrows.spark.entries.entry_tasks import EntryJobs
from narrows.spark.entries.intake import Intake
from narrows.spark.keeping.endless_tasks import folding_groups
from narrows.spark.keeping.made_of_groups import PlanAbove
from narrows.spark.keeping.window_steps import SparkJobs, told_files, told_of_entry
from narrows.spark.read.reader import partial_spec
from narrows.spark.sql.own_session import OwnSession
from narrows.worker.endless.fold import EndlessSpec
from narrows.worker.endless.keeper import EndlessKeeper
from narrows.worker.endless.merge import EndlessTask
from narrows.worker.write import sweep


@dataclass(frozen=True)
class EndlessSteps:
    """An entry is folded into groups, and those are published that it has changed."""

    keeps_state: ClassVar[bool] = True

    own: OwnSession
    """Where all its jobs run."""
    folds: EntryJobs
    jobs: SparkJobs
    keeper: EndlessKeeper

    def __len__(self) -> int:
        return len(self.folds)

    def run(self, number: int, entry: Entry, tasks: int, *, ends: bool) -> int:
        with self.own.running():
            try:
                step = self.keeper.begin(number)
                answers = told_of_entry(self.folds, number, tasks)
                made = self.jobs.closed(answers, step) if tasks == 1 else None
                return self.keeper.run(number, told_files(answers, "file"), made)
            except BaseException:
                with contextlib.suppress(Exception):  # the first reason is the one to tell
                    sweep(self.keeper.write)
                raise

    was_closing: ClassVar[bool] = False
    has_open: ClassVar[bool] = False

    @property
    def intake(self) -> Intake:
        return Intake(self.keeper.spec.read)

    def close(self) -> None:
        """Nothing is ever over."""

    def check(self) -> None:
        self.own.check()

    def stop(self) -> None:
        self.own.stop()


def endless_steps(
    context: Context, pipeline: str, plan: Plan, place: PlaceReads, write: WriteSpec
) -> EndlessSteps:
    """The steps of a pipeline; `place` says where what its readers need is kept."""
    groups = endless_groups(rows_of(plan.physical))
    assert groups is not None, "the plan says so"
    spec = partial_spec(groups.partial)
    assert spec.partial is not None
    read = replace(place(groups.partial.reader, spec), partial=None)
    kept = EndlessSpec(read, spec.partial, str(context.state.windows(pipeline).absolute()))
    own = OwnSession(context.spark)
    finish = PlanAbove(context, plan, place).of_groups(groups)
    jobs = SparkJobs(own.spark, kept, EndlessTask, write, finish, context.parallelism)
    jobs.check()
    folds = EntryJobs(own, folding_groups(kept, jobs.finished_by, write), read.partitions)
    return EndlessSteps(own, folds, jobs, EndlessKeeper(kept, write, jobs))
