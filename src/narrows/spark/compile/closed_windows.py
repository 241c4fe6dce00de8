"""Plans of which a part is made anew of each micro-batch: aggregations over windows that keep their
rows, and rows that are sorted batch by batch.

A window gives all its rows in the micro-batch in which it closes, and never again. So what stands
above it need not be kept between batches: every batch is a small table, and any aggregate that
Spark has will do, DISTINCT included. So will ORDER BY.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from narrows.errors import Code, fail
from narrows.expressions.nodes import Call
from narrows.expressions.text import expression_text
from narrows.logical.nodes import Aggregation, Distinct, Node
from narrows.logical.streaming.supported import is_stream
from narrows.logical.walk import topological
from narrows.physical.execution import batch_of_rows, is_folding_window, kept_window
from narrows.spark.compile.plan import OpenSource, compile_node, compile_plan
from narrows.spark.windows.event_time import RunTime


@dataclass(frozen=True)
class Streamed:
    """What Spark runs as a stream and, where that is not all, what becomes of each micro-batch."""

    frame: DataFrame
    output_mode: str
    finish: Callable[[DataFrame], DataFrame] | None = None


def streamed(
    plan: Node, spark: SparkSession, stream: OpenSource, table: OpenSource, time: RunTime
) -> Streamed:
    """A plan in two parts, where one of them is made of each micro-batch."""
    _refuse_endless_distinct(plan)
    if kept_window(plan) is not None or any(map(is_folding_window, topological(plan))):
        _refuse_distinct_above(plan)
    batch = batch_of_rows(plan)
    if batch is None:
        return Streamed(compile_plan(plan, spark, stream, time), _output_mode(plan))
    kept = compile_node(plan, batch, spark, stream, time)

    def finish(rows: DataFrame) -> DataFrame:
        return compile_plan(plan, spark, table, given={batch: kept.with_rows(rows)})

    mode = _output_mode(batch) if kept_window(plan) is None else "append"
    return Streamed(kept.data, mode, finish)


def _output_mode(plan: Node) -> str:
    """An aggregate of a stream without window never ends, so what changed is written after every
    batch."""
    endless = any(node.folds and is_stream(node) for node in topological(plan))
    return "update" if endless else "append"


def _refuse_endless_distinct(plan: Node) -> None:
    for node in topological(plan):
        if not isinstance(node, Aggregation) or not node.folds or not is_stream(node):
            continue
        if kept_window(node) is not None:
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
