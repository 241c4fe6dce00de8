"""A plan whose tasks keep its windows, folded or as rows: what they must know, and what becomes of
windows that have closed, by the tasks that merge them, or by Spark."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, Protocol

from pyspark.sql import DataFrame

from narrows.connectors.target import WriteSpec
from narrows.demand import ALL
from narrows.explain.plan import Plan
from narrows.expressions.nodes import ColumnId
from narrows.logical.conjuncts import is_deterministic
from narrows.logical.nodes import Filter, Node, Project
from narrows.logical.walk import topological
from narrows.physical.execution import rows_of
from narrows.physical.nodes import PhysicalProject, PhysicalReader, PhysicalWindowRows
from narrows.physical.stateful_calls import window_call
from narrows.physical.window_groups import (
    COLUMNS,
    Finished,
    WindowGroups,
    finished_by_tasks,
    window_cut,
    window_groups,
)
from narrows.physical.window_rows import window_rows
from narrows.physical.worker_predicate import worker_predicate, worker_value
from narrows.projection.columns import DecodeProjection
from narrows.schema import TIMESTAMP, DataType, Field, Struct
from narrows.spark.compile.context import Context, PlaceReads
from narrows.spark.compile.plan import compile_plan
from narrows.spark.read.reader import partial_spec, read_spec
from narrows.spark.read.shipped import shipped_columns
from narrows.spark.sql.frame import Frame, column_name, relation_columns, select_list
from narrows.spark.sql.own_session import OwnSession
from narrows.spark.sql.rows import SparkRows, Views, select
from narrows.spark.sql.sql_text import ShippedSource, Typed, quote
from narrows.spark.streaming.entry_tasks import EntryJobs
from narrows.spark.streaming.window_steps import SparkFinish, SparkJobs, WindowSteps
from narrows.spark.streaming.window_tasks import folding
from narrows.spark.windows.input_end import watermark_delay
from narrows.spark.write.sink import RowsWritten
from narrows.spark.write.sink_frame import sink_frame
from narrows.stateful.windows.window import StreamWindow
from narrows.worker.newest_time import newest_time
from narrows.worker.read_spec import ComputedColumn, ReadSpec
from narrows.worker.windows.keeper import WindowKeeper
from narrows.worker.windows.kept import Kept, KeptRows
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
    closed, node = _Closed(context, plan, place), window_rows(rows)
    made = _folded(rows, closed) if node is None else _as_rows(node, closed)
    newest = state.newest(pipeline, made.reader.source.name)
    read = replace(place(made.reader, made.read), newest=str(newest.absolute()))
    cut = window_cut(made.window)
    assert cut is not None, "the plan says so"
    windows = WindowSpec(read, made.what, cut, str(state.windows(pipeline).absolute()))
    own = OwnSession(context.spark)
    jobs = SparkJobs(own.spark, windows, write, made.finish, context.parallelism)
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


# --- folded ---------------------------------------------------------------------------------------


def _folded(rows: Node, closed: _Closed) -> _Planned:
    groups = window_groups(rows)
    assert groups is not None, "the plan says so"
    spec = partial_spec(groups.partial)
    assert spec.partial is not None
    finish: Finish | SparkFinish
    if isinstance(rows, PhysicalProject) and rows.in_reader:
        # The rule has decided already what is left to Spark.
        made = finished_by_tasks(groups, ansi=False)
        assert made is not None, "the plan says so"
        finish = _by_tasks(groups, made)
    else:
        finish = closed.by_spark(groups.node, groups.columns, partial(_of_groups, groups))
    read = replace(spec, partial=None)
    return _Planned(groups.partial.reader, read, spec.partial, groups.window, finish)


def _by_tasks(groups: WindowGroups, made: Finished) -> Finish:
    schema = Struct(tuple(Field(name, dtype) for name, dtype in groups.columns))
    projection = DecodeProjection(schema, ALL)
    columns = [
        ComputedColumn(f"o{place}", *worker_value(expr, COLUMNS, projection))
        for place, (_, expr) in enumerate(made.fields)
    ]
    test = worker_predicate(made.tests, COLUMNS, projection)
    return Finish(tuple(columns), () if test is None else (test,))


def _of_groups(groups: WindowGroups, views: Views, closed: DataFrame) -> Frame:
    """What the aggregation of windows gives, made of those that closed."""
    relation = groups.node.relation.id
    columns = {
        ColumnId(COLUMNS, place): Typed(quote(name), dtype)
        for place, (name, dtype) in enumerate(groups.columns)
    }
    frame = Frame(SparkRows(views, closed), {}, columns)
    listed = select_list(frame.sql, groups.outputs, relation)
    made = frame.rows.then(select(listed, frame.text))
    return Frame(made, {}, relation_columns(groups.outputs, relation))


# --- as rows --------------------------------------------------------------------------------------


def _as_rows(node: PhysicalWindowRows, closed: _Closed) -> _Planned:
    reader, relation = node.reader, node.relation.id
    spec = read_spec(reader)
    keys = tuple(worker_value(key, reader.relation.id, spec.projection) for key in node.keys)
    bounds = [(column_name(relation, place), TIMESTAMP) for place in range(2)]
    columns = [*bounds, *shipped_columns(spec)]
    finish = closed.by_spark(node, columns, partial(_of_rows, node, spec))
    return _Planned(reader, spec, KeptRows(keys), window_call(node.window).evaluator, finish)


def _of_rows(node: PhysicalWindowRows, spec: ReadSpec, views: Views, closed: DataFrame) -> Frame:
    """The rows of windows that closed, as a window of Spark's would give them."""
    shipped = {node.reader.relation.id: ShippedSource(spec.projection, spec.names)}
    frame = Frame(SparkRows(views, closed), shipped, {}, order=spec.order)
    return frame.with_made(closed, node.relation)


# --- what becomes of windows that closed ----------------------------------------------------------


class _Given(Protocol):
    def __call__(self, views: Views, closed: DataFrame) -> Frame: ...


@dataclass(frozen=True)
class _Closed:
    """A plan over windows that closed: as a table, for each step."""

    context: Context
    plan: Plan
    place: PlaceReads

    def by_spark(
        self, window: Node, columns: Sequence[tuple[str, DataType]], given: _Given
    ) -> SparkFinish:
        """Has Spark compute it; `given` says what the rows are to the plan that it has when
        windows close."""
        spark, rows = self.context.spark, rows_of(self.plan.physical)
        tables = self.context.opener(self.place, streaming=False)

        def finish(closed: DataFrame, in_place: bool) -> DataFrame:
            with closing(Views(spark)) as views:
                frame = given(views, closed)
                frame = frame.with_rows(frame.data)
            made = compile_plan(
                rows, spark, tables, given={window: frame}, in_place=in_place and again
            )
            return sink_frame(self.plan, made)

        above = _above(rows, window)
        # Whatever else it reads may be another when the next windows close.
        alone = all(len(node.children) == 1 for node in above)
        again = alone and all(is_deterministic(e) for node in above for e in node.expressions)
        row_by_row = again and all(isinstance(node, (Filter, Project)) for node in above)
        return SparkFinish(spark, columns, finish, again, row_by_row)


def _above(rows: Node, window: Node) -> list[Node]:
    """What is made of windows that closed, and of what else."""
    below = set(map(id, topological(window)))
    return [node for node in topological(rows) if id(node) not in below]
