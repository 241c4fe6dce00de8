"""Windows that rows cut, on Spark: `transformWithState` in a stream, groups of Arrow otherwise.

What they do stands in `narrows.stateful.windows`. Here rows are brought to them, key by key and in
the order of the source, and what is open is kept in Spark's state store between micro-batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import LongType, StructType

from narrows.errors import InternalError
from narrows.expressions.nodes import Expr
from narrows.logical.nodes import Window
from narrows.spark.sql.frame import Frame, column_name
from narrows.spark.sql.grouping import group_columns
from narrows.spark.sql.parsed import parsed_column
from narrows.spark.windows import all_rows
from narrows.spark.windows.event_time import RunTime, clock_mark
from narrows.spark.windows.window_processor import BOUNDS, TIME, RowShape, WindowProcessor
from narrows.stateful.windows.window import RowWindow


def cut_by_rows(
    frame: Frame, node: Window, window: RowWindow, args: Sequence[Expr], time: RunTime
) -> Frame:
    if frame.order is None or frame.stamp is None:
        raise InternalError("a window that rows cut needs their order and their time")
    shape = RowShape(
        tuple(n for n in frame.data.columns if n not in (clock_mark(), frame.clock)),
        frame.order,
        tuple(f"arg{place}" for place in range(len(args))),
    )
    schema = StructType([frame.data.schema[name] for name in shape.kept])
    for bound in BOUNDS:
        schema = schema.add(bound, LongType())
    looked_at = zip(shape.args, args, strict=True)
    keys, grouped = group_columns(frame, node.cut_apart_by)
    prepared = grouped.select(
        "*",
        F.unix_micros(frame.stamp).alias(TIME),
        *(parsed_column(frame.sql.text(expr)).alias(name) for name, expr in looked_at),
    )
    if frame.data.isStreaming:
        ends = None if window.goes_by_time else window.closing_time(time.watermark)
        processor = WindowProcessor(window, shape, ends)
        cut = prepared.groupBy(*keys).transformWithState(processor, schema, "Append", "EventTime")
    else:
        cut = prepared.groupBy(*keys).applyInArrow(all_rows.cut(window, shape), schema)
    return _with_bounds(frame, cut, node, shape)


def _with_bounds(frame: Frame, cut: DataFrame, node: Window, shape: RowShape) -> Frame:
    names = [column_name(node.relation.id, ordinal) for ordinal in range(3)]
    data = cut.select(
        *shape.kept,
        F.timestamp_micros("start").alias(names[0]),
        F.timestamp_micros("end").alias(names[1]),
        F.col("number").alias(names[2]),
    )
    return replace(frame.with_made(data, node.relation), clock=None)
