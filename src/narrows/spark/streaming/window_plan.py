"""A plan whose tasks keep its windows: what they must know, and what becomes of windows that have
closed, by the tasks that merge them, or by Spark."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from pyspark.sql import DataFrame, SparkSession

from narrows.connectors.target import WriteSpec
from narrows.demand import ALL
from narrows.errors import InternalError
from narrows.explain.plan import Plan
from narrows.expressions.nodes import ColumnId
from narrows.logical.conjuncts import is_deterministic
from narrows.logical.nodes import DecodedSource, Filter, Node, Project
from narrows.physical.execution import rows_of
from narrows.physical.nodes import PhysicalProject
from narrows.physical.window_groups import (
    COLUMNS,
    Finished,
    WindowGroups,
    finished_by_tasks,
    window_groups,
)
from narrows.physical.worker_predicate import worker_predicate, worker_value
from narrows.projection.columns import DecodeProjection
from narrows.schema import Field, Struct
from narrows.spark.compile.context import Context, PlaceReads
from narrows.spark.compile.plan import compile_plan
from narrows.spark.read.reader import partial_spec
from narrows.spark.sql.frame import Frame, relation_columns, select_list
from narrows.spark.sql.own_session import OwnSession
from narrows.spark.sql.rows import SparkRows, Views, select
from narrows.spark.sql.sql_text import Typed, quote
from narrows.spark.streaming.entry_tasks import EntryJobs
from narrows.spark.streaming.window_steps import SparkFinish, SparkJobs, WindowSteps
from narrows.spark.streaming.window_tasks import folding
from narrows.spark.windows.input_end import watermark_delay
from narrows.spark.write.sink import RowsWritten
from narrows.spark.write.sink_frame import sink_frame
from narrows.worker.newest_time import newest_time
from narrows.worker.read_spec import ComputedColumn, ReadSpec
from narrows.worker.windows.keeper import WindowKeeper
from narrows.worker.windows.spec import Finish, WindowSpec


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
    finish = _finish(own.spark, plan, groups)
    keeper = WindowKeeper(
        windows,
        groups.window,
        write,
        watermark_delay(reader.source, groups.window),
        partial(newest_time, state.all_newest(pipeline)),
        SparkJobs(own.spark, windows, write, finish, context.parallelism),
    )
    return WindowSteps(own, EntryJobs(own, folding(windows), read.partitions), keeper, written)


def _finish(spark: SparkSession, plan: Plan, groups: WindowGroups) -> Finish | SparkFinish:
    """How the plan says that it is done."""
    rows = rows_of(plan.physical)
    if isinstance(rows, PhysicalProject) and rows.in_reader:
        # The rule has decided already what is left to Spark.
        made = finished_by_tasks(groups, ansi=False)
        assert made is not None, "the plan says so"
        return _by_tasks(groups, made)
    return _by_spark(spark, plan, groups)


def _by_tasks(groups: WindowGroups, made: Finished) -> Finish:
    schema = Struct(tuple(Field(name, dtype) for name, dtype in groups.columns))
    projection = DecodeProjection(schema, ALL)
    columns = [
        ComputedColumn(f"o{place}", *worker_value(expr, COLUMNS, projection))
        for place, (_, expr) in enumerate(made.fields)
    ]
    test = worker_predicate(made.tests, COLUMNS, projection)
    return Finish(tuple(columns), () if test is None else (test,))


def _by_spark(spark: SparkSession, plan: Plan, groups: WindowGroups) -> SparkFinish:
    rows, relation = rows_of(plan.physical), groups.node.relation.id

    def finish(closed: DataFrame) -> DataFrame:
        columns = {
            ColumnId(COLUMNS, place): Typed(quote(name), dtype)
            for place, (name, dtype) in enumerate(groups.columns)
        }
        views = Views(spark)
        try:
            frame = Frame(SparkRows(views, closed), {}, columns)
            listed = select_list(frame.sql, groups.outputs, relation)
            made = frame.rows.then(select(listed, frame.text))
            given = Frame(made, {}, relation_columns(groups.outputs, relation))
            given = given.with_rows(given.data)
        finally:
            views.close()
        return sink_frame(plan, compile_plan(rows, spark, _none, given={groups.node: given}))

    return SparkFinish(groups.columns, finish, again=_row_by_row(rows, groups.node))


def _row_by_row(rows: Node, window: Node) -> bool:
    """Is each row made of one window, and always in the same way? Then Spark shuffles nothing,
    which it would keep, and fixes no times and lots."""
    above, node = list[Node](), rows
    while node is not window and isinstance(node, (Filter, Project)):
        above.append(node)
        node = node.child
    return node is window and all(is_deterministic(e) for each in above for e in each.expressions)


def _none(node: DecodedSource, spec: ReadSpec) -> DataFrame:
    raise InternalError(f"nothing is read above windows, and `{node.source.name}` is")
