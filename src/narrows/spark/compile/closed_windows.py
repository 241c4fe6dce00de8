"""Aggregations over windows that keep their rows.

A window gives all its rows in the micro-batch in which it closes, and never again. So what stands
above it need not be kept between batches: every batch is a small table, and any aggregate that
Spark has will do, DISTINCT included.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from narrows.errors import Code, fail
from narrows.expressions.nodes import Call
from narrows.expressions.text import expression_text
from narrows.logical.nodes import Aggregation, Distinct, Node, Window
from narrows.logical.streaming import is_stream
from narrows.logical.walk import topological
from narrows.spark.compile.plan import OpenSource, compile_node, compile_plan
from narrows.spark.windows.event_time import RunTime


def kept_window(plan: Node) -> Window | None:
    """The window whose rows an aggregation above it folds when it closes."""
    for node in topological(plan):
        if isinstance(node, Aggregation) and node.folds:
            for below in topological(node):
                if isinstance(below, Window):
                    return below
    return None


@dataclass(frozen=True)
class Streamed:
    """What Spark runs as a stream and, where that is not all, what becomes of each micro-batch."""

    frame: DataFrame
    finish: Callable[[DataFrame], DataFrame] | None = None


def streamed(
    plan: Node, spark: SparkSession, stream: OpenSource, table: OpenSource, time: RunTime
) -> Streamed:
    """A plan in two parts, where there is a window that keeps its rows."""
    _refuse_endless_distinct(plan)
    window = kept_window(plan)
    if window is None:
        return Streamed(compile_plan(plan, spark, stream, time))
    _refuse_distinct_above(plan)
    kept = compile_node(plan, window, spark, stream, time)

    def finish(closed: DataFrame) -> DataFrame:
        return compile_plan(plan, spark, table, given={window: kept.with_rows(closed)})

    return Streamed(kept.data, finish)


def _refuse_endless_distinct(plan: Node) -> None:
    for node in topological(plan):
        if not isinstance(node, Aggregation) or not is_stream(node) or kept_window(node):
            continue
        for _, call in node.calls:
            if isinstance(call, Call) and call.distinct:
                raise fail(
                    Code.NOT_SUPPORTED,
                    f"`{expression_text(call)}` over a stream without end would keep all its rows",
                    call.span,
                    "give it a window: `GROUP BY tumblingwindow('mi', 1)`",
                )


def _refuse_distinct_above(plan: Node) -> None:
    for node in topological(plan):
        if isinstance(node, Distinct) and is_stream(node):  # the planner refuses ORDER BY and LIMIT
            raise fail(
                Code.NOT_SUPPORTED,
                "DISTINCT over all windows of a stream would never see the last one",
            )
