"""Windows that rows cut, on Spark: `transformWithState` in a stream, groups of Arrow otherwise.

What they do stands in `narrows.stateful.windows`. Here rows are brought to them, key by key and in
the order of the source, and what is open is kept in Spark's state store between micro-batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import LongType, StructType

from narrows.errors import InternalError
from narrows.expressions.function import WindowKind
from narrows.expressions.nodes import Expr
from narrows.logical.nodes import Window
from narrows.physical.window_spec import WindowSpec
from narrows.spark.sql.frame import Frame, column_name
from narrows.spark.sql.grouping import group_columns
from narrows.spark.windows.event_time import RunTime, clock_mark
from narrows.spark.windows.window_processor import (
    BOUNDS,
    TIME,
    RowShape,
    WindowProcessor,
    rows_of_window,
)
from narrows.stateful.windows import (
    CountWindow,
    RowWindow,
    SlidingWindow,
    StateWindow,
    run_to_end,
)

_OPENS, _EMITS = "opens", "emits"


def cut_by_rows(frame: Frame, node: Window, spec: WindowSpec, time: RunTime) -> Frame:
    if frame.order is None or frame.stamp is None:
        raise InternalError("a window that rows cut needs their order and their time")
    shape = RowShape(
        tuple(n for n in frame.data.columns if n not in (clock_mark(), frame.clock)),
        frame.order,
        (_OPENS, _EMITS)[: len(spec.conditions)],
    )
    schema = StructType([frame.data.schema[name] for name in shape.kept])
    for bound in BOUNDS:
        schema = schema.add(bound, LongType())
    looked_at = zip(shape.conditions, spec.conditions, strict=True)
    keys, grouped = group_columns(frame, _partition(node, spec))
    prepared = grouped.select(
        "*",
        F.unix_micros(frame.stamp).alias(TIME),
        *(F.expr(frame.sql.text(expr)).alias(name) for name, expr in looked_at),
    )
    window = _window(spec)
    if frame.data.isStreaming:
        ends = None if spec.goes_by_time else spec.closing_time(time.watermark)
        processor = WindowProcessor(window, shape, ends)
        cut = prepared.groupBy(*keys).transformWithState(processor, schema, "Append", "EventTime")
    else:
        cut = prepared.groupBy(*keys).applyInArrow(_in_one_go(window, shape), schema)
    return _with_bounds(frame, cut, node, shape)


def _partition(node: Window, spec: WindowSpec) -> Sequence[Expr]:
    """Whose windows are cut apart: each key's, but where the window says it itself."""
    own = node.window.partition_by
    if spec.kind is WindowKind.STATE:
        return own
    return list(dict.fromkeys((*node.keys, *own)))


def _window(spec: WindowSpec) -> RowWindow:
    match spec.kind:
        case WindowKind.COUNT:
            return CountWindow(*spec.lengths)
        case WindowKind.STATE:
            return StateWindow()
        case WindowKind.SLIDING:
            return SlidingWindow(*(length * 1_000 for length in spec.lengths))
        case _:
            raise InternalError(f"no rows cut a {spec.kind.value} window")


def _with_bounds(frame: Frame, cut: DataFrame, node: Window, shape: RowShape) -> Frame:
    names = [column_name(node.relation.id, ordinal) for ordinal in range(3)]
    data = cut.select(
        *shape.kept,
        F.timestamp_micros("start").alias(names[0]),
        F.timestamp_micros("end").alias(names[1]),
        F.col("number").alias(names[2]),
    )
    return replace(frame.with_made(data, node.relation), clock=None)


# --- all rows at once -----------------------------------------------------------------------------


def _in_one_go(window: RowWindow, shape: RowShape) -> Any:
    def cut(table: pa.Table) -> pa.Table:
        rows = sorted((shape.window_row(row) for row in table.to_pylist()), key=lambda row: row[1])
        values: list[tuple[Any, ...]] = []
        for closed in run_to_end(window, rows):
            values.extend(rows_of_window(closed))
        schema = pa.schema(
            [
                *(table.schema.field(name) for name in shape.kept),
                *(pa.field(name, pa.int64()) for name in BOUNDS),
            ]
        )
        columns = zip(*values, strict=True) if values else [()] * len(schema)
        arrays = [
            pa.array(list(column), field.type)
            for column, field in zip(columns, schema, strict=True)
        ]
        return pa.Table.from_arrays(arrays, schema=schema)

    return cut
