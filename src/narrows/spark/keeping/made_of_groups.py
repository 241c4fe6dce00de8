"""What becomes of groups that tasks have merged, and of rows of windows that closed: rows for the
sinks, made by the same tasks, or by Spark."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from pyspark.sql import DataFrame

from narrows.demand import ALL
from narrows.explain.plan import Plan
from narrows.expressions.nodes import ColumnId
from narrows.logical.conjuncts import is_deterministic
from narrows.logical.nodes import Filter, Node, Project
from narrows.logical.walk import topological
from narrows.physical.execution import rows_of
from narrows.physical.in_reader.worker_predicate import worker_predicate, worker_value
from narrows.physical.kept_groups import COLUMNS, Finished, KeptGroups, finished_by_tasks
from narrows.physical.nodes import PhysicalProject
from narrows.projection.columns import DecodeProjection
from narrows.schema import DataType, Field, Struct
from narrows.spark.compile.context import Context, PlaceReads
from narrows.spark.compile.plan import compile_plan
from narrows.spark.keeping.window_steps import SparkFinish
from narrows.spark.sql.frame import Frame, relation_columns, select_list
from narrows.spark.sql.rows import SparkRows, Views, select
from narrows.spark.sql.sql_text import Typed, quote
from narrows.spark.write.sink_frame import sink_frame
from narrows.worker.read_spec import ComputedColumn
from narrows.worker.windows.spec import Finish


class Given(Protocol):
    def __call__(self, views: Views, made: DataFrame) -> Frame:
        """What the rows that tasks give are to the plan."""


@dataclass(frozen=True)
class PlanAbove:
    """A plan over what tasks keep: of what they give in each step, as a table."""

    context: Context
    plan: Plan
    place: PlaceReads

    def of_groups(self, groups: KeptGroups) -> Finish | SparkFinish:
        """How the plan says that rows are made of groups."""
        rows = rows_of(self.plan.physical)
        if isinstance(rows, PhysicalProject) and rows.in_reader:
            # The rule has decided already what is left to Spark.
            made = finished_by_tasks(groups, ansi=False)
            assert made is not None, "the plan says so"
            return _by_tasks(groups, made)
        return self.by_spark(groups.node, groups.columns, partial(_of_groups, groups))

    def by_spark(
        self, kept: Node, columns: Sequence[tuple[str, DataType]], given: Given
    ) -> SparkFinish:
        """Has Spark compute it, of what a node keeps and tasks give in such columns."""
        spark, rows = self.context.spark, rows_of(self.plan.physical)
        tables = self.context.opener(self.place, streaming=False)

        def finish(closed: DataFrame, in_place: bool) -> DataFrame:
            with closing(Views(spark)) as views:
                frame = given(views, closed)
                frame = frame.with_rows(frame.data)
            made = compile_plan(
                rows, spark, tables, given={kept: frame}, in_place=in_place and again
            )
            return sink_frame(self.plan, made)

        above = _above(rows, kept)
        # Whatever else it reads may be another in the next step.
        alone = all(len(node.children) == 1 for node in above)
        again = alone and all(is_deterministic(e) for node in above for e in node.expressions)
        row_by_row = again and all(isinstance(node, (Filter, Project)) for node in above)
        return SparkFinish(spark, columns, finish, again, row_by_row)


def _above(rows: Node, kept: Node) -> list[Node]:
    """What is made of what a node keeps, and of what else."""
    below = set(map(id, topological(kept)))
    return [node for node in topological(rows) if id(node) not in below]


def _by_tasks(groups: KeptGroups, made: Finished) -> Finish:
    schema = Struct(tuple(Field(name, dtype) for name, dtype in groups.columns))
    projection = DecodeProjection(schema, ALL)
    columns = [
        ComputedColumn(f"o{place}", *worker_value(expr, COLUMNS, projection))
        for place, (_, expr) in enumerate(made.fields)
    ]
    test = worker_predicate(made.tests, COLUMNS, projection)
    return Finish(tuple(columns), () if test is None else (test,))


def _of_groups(groups: KeptGroups, views: Views, made: DataFrame) -> Frame:
    """What the aggregation gives, of merged groups."""
    relation = groups.node.relation.id
    columns = {
        ColumnId(COLUMNS, place): Typed(quote(name), dtype)
        for place, (name, dtype) in enumerate(groups.columns)
    }
    frame = Frame(SparkRows(views, made), {}, columns)
    listed = select_list(frame.sql, groups.outputs, relation)
    given = frame.rows.then(select(listed, frame.text))
    return Frame(given, {}, relation_columns(groups.outputs, relation))
