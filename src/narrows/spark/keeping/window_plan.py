"""A plan whose tasks keep its windows, folded or as rows: what they must know."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import NamedTuple

from pyspark.sql import DataFrame

from narrows.connectors.target import WriteSpec
from narrows.explain.plan import Plan
from narrows.logical.nodes import Node
from narrows.physical.execution import rows_of
from narrows.physical.in_reader.worker_predicate import worker_value
from narrows.physical.nodes import PhysicalReader, PhysicalWindowRows
from narrows.physical.stateful_calls import window_call
from narrows.physical.window_groups import window_cut, window_groups
from narrows.physical.window_rows import window_rows
from narrows.schema import TIMESTAMP
from narrows.spark.compile.context import Context, PlaceReads
from narrows.spark.entries.entry_tasks import EntryJobs
from narrows.spark.keeping.made_of_groups import PlanAbove
from narrows.spark.keeping.window_steps import SparkFinish, SparkJobs, WindowSteps
from narrows.spark.keeping.window_tasks import folding
from narrows.spark.read.reader import partial_spec, read_spec
from narrows.spark.read.shipped import shipped_columns
from narrows.spark.sql.frame import Frame, column_name
from narrows.spark.sql.own_session import OwnSession
from narrows.spark.sql.rows import SparkRows, Views
from narrows.spark.sql.sql_text import ShippedSource
from narrows.spark.windows.input_end import watermark_delay
from narrows.spark.write.sink import RowsWritten
from narrows.stateful.windows.window import StreamWindow
from narrows.worker.newest_time import newest_time
from narrows.worker.read_spec import ReadSpec
from narrows.worker.windows.keeper import WindowKeeper
from narrows.worker.windows.kept import Kept, KeptRows
from narrows.worker.windows.merge import MergingTask
from narrows.worker.windows.spec import Finish, WindowSpec


class _Planned(NamedTuple):
    """What the tasks of a plan do, wherever that is kept."""

    reader: PhysicalReader
    read: ReadSpec
    what: Kept
    window: StreamWindow
    finish: Finish | SparkFinish


def window_steps(
    context: Context,
    pipeline: str,
    plan: Plan,
    place: PlaceReads,
    write: WriteSpec,
    written: RowsWritten,
) -> WindowSteps:
    """The steps of a pipeline; `place` says where what its readers need is kept."""
    rows, state = rows_of(plan.physical), context.state
    above, node = PlanAbove(context, plan, place), window_rows(rows)
    made = _folded(rows, above) if node is None else _as_rows(node, above)
    newest = state.newest(pipeline, made.reader.source.name)
    read = replace(place(made.reader, made.read), newest=str(newest.absolute()))
    cut = window_cut(made.window)
    assert cut is not None, "the plan says so"
    windows = WindowSpec(read, made.what, cut, str(state.windows(pipeline).absolute()))
    own = OwnSession(context.spark)
    jobs = SparkJobs(own.spark, windows, MergingTask, write, made.finish, context.parallelism)
    jobs.check()
    keeper = WindowKeeper(
        windows,
        made.window,
        write,
        watermark_delay(made.reader.source, made.window),
        partial(newest_time, state.all_newest(pipeline)),
        jobs,
    )
    return WindowSteps(own, EntryJobs(own, folding(windows), read.partitions), keeper, written)


def _folded(rows: Node, above: PlanAbove) -> _Planned:
    groups = window_groups(rows)
    assert groups is not None, "the plan says so"
    spec = partial_spec(groups.partial)
    assert spec.partial is not None
    read, finish = replace(spec, partial=None), above.of_groups(groups)
    return _Planned(groups.partial.reader, read, spec.partial, groups.window, finish)


def _as_rows(node: PhysicalWindowRows, above: PlanAbove) -> _Planned:
    reader, relation = node.reader, node.relation.id
    spec = read_spec(reader)
    keys = tuple(worker_value(key, reader.relation.id, spec.projection) for key in node.keys)
    bounds = [(column_name(relation, place), TIMESTAMP) for place in range(2)]
    columns = [*bounds, *shipped_columns(spec)]
    finish = above.by_spark(node, columns, partial(_of_rows, node, spec))
    return _Planned(reader, spec, KeptRows(keys), window_call(node.window).evaluator, finish)


def _of_rows(node: PhysicalWindowRows, spec: ReadSpec, views: Views, made: DataFrame) -> Frame:
    """The rows of windows that closed, as a window of Spark's would give them."""
    shipped = {node.reader.relation.id: ShippedSource(spec.projection, spec.names)}
    frame = Frame(SparkRows(views, made), shipped, {}, order=spec.order)
    return frame.with_made(made, node.relation)
