"""What becomes of groups that tasks have merged: rows for the sinks, made by the same tasks, or by
Spark."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from narrows.demand import ALL
from narrows.errors import InternalError
from narrows.explain.plan import Plan
from narrows.expressions.nodes import ColumnId
from narrows.logical.conjuncts import is_deterministic
from narrows.logical.nodes import DecodedSource, Filter, Node, Project
from narrows.physical.execution import rows_of
from narrows.physical.kept_groups import COLUMNS, Finished, KeptGroups, finished_by_tasks
from narrows.physical.nodes import PhysicalProject
from narrows.physical.worker_predicate import worker_predicate, worker_value
from narrows.projection.columns import DecodeProjection
from narrows.schema import Field, Struct
from narrows.spark.compile.plan import compile_plan
from narrows.spark.sql.frame import Frame, relation_columns, select_list
from narrows.spark.sql.rows import SparkRows, Views, select
from narrows.spark.sql.sql_text import Typed, quote
from narrows.spark.streaming.window_steps import SparkFinish
from narrows.spark.write.sink_frame import sink_frame
from narrows.worker.read_spec import ComputedColumn, ReadSpec
from narrows.worker.windows.spec import Finish


def finish_of(spark: SparkSession, plan: Plan, groups: KeptGroups) -> Finish | SparkFinish:
    """How the plan says that it is done."""
    rows = rows_of(plan.physical)
    if isinstance(rows, PhysicalProject) and rows.in_reader:
        # The rule has decided already what is left to Spark.
        made = finished_by_tasks(groups, ansi=False)
        assert made is not None, "the plan says so"
        return _by_tasks(groups, made)
    return _by_spark(spark, plan, groups)


def _by_tasks(groups: KeptGroups, made: Finished) -> Finish:
    schema = Struct(tuple(Field(name, dtype) for name, dtype in groups.columns))
    projection = DecodeProjection(schema, ALL)
    columns = [
        ComputedColumn(f"o{place}", *worker_value(expr, COLUMNS, projection))
        for place, (_, expr) in enumerate(made.fields)
    ]
    test = worker_predicate(made.tests, COLUMNS, projection)
    return Finish(tuple(columns), () if test is None else (test,))


def _by_spark(spark: SparkSession, plan: Plan, groups: KeptGroups) -> SparkFinish:
    rows, relation = rows_of(plan.physical), groups.node.relation.id

    def finish(merged: DataFrame) -> DataFrame:
        columns = {
            ColumnId(COLUMNS, place): Typed(quote(name), dtype)
            for place, (name, dtype) in enumerate(groups.columns)
        }
        views = Views(spark)
        try:
            frame = Frame(SparkRows(views, merged), {}, columns)
            listed = select_list(frame.sql, groups.outputs, relation)
            made = frame.rows.then(select(listed, frame.text))
            given = Frame(made, {}, relation_columns(groups.outputs, relation))
            given = given.with_rows(given.data)
        finally:
            views.close()
        return sink_frame(plan, compile_plan(rows, spark, _none, given={groups.node: given}))

    return SparkFinish(groups.columns, finish, again=_row_by_row(rows, groups.node))


def _row_by_row(rows: Node, groups: Node) -> bool:
    """Is each row made of one group, and always in the same way? Then Spark shuffles nothing,
    which it would keep, and fixes no times and lots."""
    above, node = list[Node](), rows
    while node is not groups and isinstance(node, (Filter, Project)):
        above.append(node)
        node = node.child
    return node is groups and all(is_deterministic(e) for each in above for e in each.expressions)


def _none(node: DecodedSource, spec: ReadSpec) -> DataFrame:
    raise InternalError(f"nothing is read above groups, and `{node.source.name}` is")
