"""A plan whose tasks keep its windows: what they must know."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from narrows.connectors.target import WriteSpec
from narrows.explain.plan import Plan
from narrows.physical.execution import rows_of
from narrows.physical.window_groups import window_groups
from narrows.spark.compile.context import Context, PlaceReads
from narrows.spark.read.reader import partial_spec
from narrows.spark.sql.own_session import OwnSession
from narrows.spark.streaming.entry_tasks import EntryJobs
from narrows.spark.streaming.merged_groups import finish_of
from narrows.spark.streaming.window_steps import SparkJobs, WindowSteps
from narrows.spark.streaming.window_tasks import folding
from narrows.spark.windows.input_end import watermark_delay
from narrows.spark.write.sink import RowsWritten
from narrows.worker.newest_time import newest_time
from narrows.worker.windows.keeper import WindowKeeper
from narrows.worker.windows.merge import MergingTask
from narrows.worker.windows.spec import WindowSpec


def window_steps(
    context: Context,
    pipeline: str,
    plan: Plan,
    place: PlaceReads,
    write: WriteSpec,
    written: RowsWritten,
) -> WindowSteps:
    """The steps of a pipeline; `place` says where what its readers need is kept."""
    groups = window_groups(rows_of(plan.physical))
    assert groups is not None, "the plan says so"
    reader, state = groups.partial.reader, context.state
    spec = partial_spec(groups.partial)
    assert spec.partial is not None
    newest = state.newest(pipeline, reader.source.name)
    read = replace(place(reader, spec), partial=None, newest=str(newest.absolute()))
    folder = str(state.windows(pipeline).absolute())
    windows = WindowSpec(read, spec.partial, groups.cut, folder)
    own = OwnSession(context.spark)
    finish = finish_of(own.spark, plan, groups)
    keeper = WindowKeeper(
        windows,
        groups.window,
        write,
        watermark_delay(reader.source, groups.window),
        partial(newest_time, state.all_newest(pipeline)),
        SparkJobs(own.spark, windows, MergingTask, write, finish, context.parallelism),
    )
    return WindowSteps(own, EntryJobs(own, folding(windows), read.partitions), keeper, written)
