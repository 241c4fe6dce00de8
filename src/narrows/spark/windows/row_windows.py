"""Windows that rows cut, on Spark: `transformWithState` in a stream, groups of Arrow otherwise.

What they do stands in `narrows.stateful.windows`. Here rows are brought to them, key by key and in
the order of the source, and what is open is kept in Spark's state store between micro-batches. A
window keeps its rows (`cut_by_rows`) or what aggregates hold of them (`fold_by_rows`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import LongType, StructType

from narrows.errors import InternalError
from narrows.expressions.nodes import ColumnId, Expr
from narrows.logical.nodes import Node, Window
from narrows.physical.nodes import PhysicalStreamingAggregation
from narrows.schema import DataType
from narrows.spark.sql.frame import Frame, column_name
from narrows.spark.sql.grouping import group_columns
from narrows.spark.sql.parsed import parsed_column
from narrows.spark.sql.sql_text import Typed, quote
from narrows.spark.windows import all_rows
from narrows.spark.windows.event_time import RunTime, clock_mark
from narrows.spark.windows.folded_rows import folded_rows
from narrows.spark.windows.task_memory import TaskMemory
from narrows.spark.windows.window_processor import WindowProcessor
from narrows.stateful.windows.window import Cutter, RowWindow
from narrows.worker.remembered.windows import BOUNDS, TIME, RowShape, RowWindows


@dataclass(frozen=True)
class _Cutting:
    """A window, and the rows that it cuts: `kept` of their columns go into it. With a memory, tasks
    keep there what the node's windows hold."""

    frame: Frame
    window: RowWindow
    args: Sequence[Expr]
    partition: Sequence[Expr]
    time: RunTime
    node: Node
    memory: TaskMemory | None = None

    def run(
        self,
        cutter: Cutter,
        columns: Sequence[SparkColumn | str],
        kept: Sequence[str],
        schema: StructType,
        made: Mapping[str, DataType] | None = None,
    ) -> DataFrame:
        """What the window gives, with its bounds: rows of such a schema."""
        frame = self.frame
        if frame.order is None or frame.stamp is None:
            raise InternalError("a window that rows cut needs their order and their time")
        args = tuple(f"arg{place}" for place in range(len(self.args)))
        shape = RowShape(tuple(kept), frame.order, args, tuple(schema.names))
        for bound in BOUNDS:
            schema = schema.add(bound, LongType())
        looked_at = zip(args, self.args, strict=True)
        keys, grouped = group_columns(frame, self.partition)
        prepared = grouped.select(
            *keys,
            *columns,
            F.unix_micros(frame.stamp).alias(TIME),
            *(parsed_column(frame.sql.text(expr)).alias(name) for name, expr in looked_at),
        )
        if self.memory is not None:
            given = StructType(schema.fields[: -len(BOUNDS)])
            types = tuple(field.type for field in to_arrow_schema(given, timezone="UTC"))
            windows = RowWindows(cutter, shape, types, self.window.goes_by_time)
            return self.memory.remembered(prepared, keys, windows, schema, self.node)
        rows = prepared.groupBy(*keys)
        if not frame.data.isStreaming:
            return rows.applyInArrow(all_rows.cut(cutter, shape, made), schema)
        goes_by_time = self.window.goes_by_time
        ends = None if goes_by_time else self.window.closing_time(self.time.watermark)
        processor = WindowProcessor(cutter, shape, ends)
        return rows.transformWithState(processor, schema, "Append", "EventTime")


def cut_by_rows(
    frame: Frame,
    node: Window,
    window: RowWindow,
    args: Sequence[Expr],
    time: RunTime,
    memory: TaskMemory | None,
) -> Frame:
    """The rows with the bounds of their windows, when these close."""
    kept = [n for n in frame.data.columns if n not in (clock_mark(), frame.clock)]
    schema = StructType([frame.data.schema[name] for name in kept])
    cutting = _Cutting(frame, window, args, node.cut_apart_by, time, node, memory)
    cut = cutting.run(window, frame.data.columns, kept, schema)
    names = [column_name(node.relation.id, ordinal) for ordinal in range(3)]
    bounds = [bound.alias(name) for bound, name in zip(_bounds(), names, strict=True)]
    data = cut.select(*kept, *bounds)
    return replace(frame.with_made(data, node.relation), clock=None)


def _bounds() -> list[SparkColumn]:
    start, end, number = BOUNDS
    return [F.timestamp_micros(start), F.timestamp_micros(end), F.col(number)]


# --- aggregates -----------------------------------------------------------------------------------


def fold_by_rows(
    frame: Frame,
    node: PhysicalStreamingAggregation,
    window: RowWindow,
    args: Sequence[Expr],
    time: RunTime,
    memory: TaskMemory | None,
) -> Frame:
    """The groups of windows, when these close: keys, bounds and aggregates."""
    calls = [expr for _, expr in node.calls]
    rows = folded_rows(frame, node.group, calls)
    hidden = dict.fromkeys((frame.order, frame.clock))
    columns: list[SparkColumn | str] = [name for name in hidden if name is not None]
    columns += rows.columns
    cutting = _Cutting(frame, window, args, node.cut_apart_by, time, node, memory)
    cutter = window.folding(rows.folding)
    cut = cutting.run(cutter, columns, rows.taken, rows.schema, rows.made)
    return _made_frame(frame, node, cut, rows.results)


def _made_frame(
    frame: Frame,
    node: PhysicalStreamingAggregation,
    cut: DataFrame,
    results: Sequence[SparkColumn],
) -> Frame:
    relation, bounds, left = node.relation.id, _bounds(), iter(results)
    named = [expr for _, expr in (*node.keys, *node.calls)]
    columns = []
    for ordinal, expr in enumerate(named):
        bound = node.bound(expr)
        value = next(left) if bound is None else bounds[bound]
        columns.append(value.alias(column_name(relation, ordinal)))
    typed = {
        ColumnId(relation, ordinal): Typed(quote(column_name(relation, ordinal)), expr.dtype)
        for ordinal, expr in enumerate(named)
    }
    return Frame(frame.rows.then(cut.select(*columns)), {}, typed)
