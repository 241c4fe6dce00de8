"""Windows on Spark: where a stream's time comes from, and how windows are cut.

How a kind of window is cut it says itself, and there is one path for each way. Where one of Spark's
own functions does it, a window and its aggregation are one operator (`aggregate_windows`), or the
window collects its rows and gives them when it closes (`cut_windows`). Windows that the rows
themselves cut are in `row_windows.py`.
"""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import Column as SparkColumn
from pyspark.sql import functions as F  # noqa: N812

from narrows.catalog.objects import Source
from narrows.expressions.nodes import ColumnId, Expr
from narrows.logical.nodes import DecodedSource, Join, JoinKind, Node, Window
from narrows.logical.row_order import goes_by_order
from narrows.logical.streaming.supported import is_stream
from narrows.logical.walk import topological
from narrows.physical.nodes import PhysicalStreamingAggregation
from narrows.physical.stateful_calls import window_call
from narrows.plugins.options import parse_duration
from narrows.projection.columns import Aspect
from narrows.spark.sql.frame import Frame, column_name
from narrows.spark.sql.parsed import parsed_column
from narrows.spark.sql.sql_text import Typed, quote
from narrows.spark.windows.clock import ClockSpec
from narrows.spark.windows.event_time import RunTime, clock_mark, stamped, watermarked, with_clock
from narrows.spark.windows.row_windows import cut_by_rows, fold_by_rows
from narrows.spark.windows.task_memory import TaskMemory
from narrows.stateful.windows.window import RowWindow, SparkWindow, StreamWindow
from narrows.worker.input_end import InputEnd

_CUT, _ROWS, _WHOLE = "cut", "rows", "whole_stream"


def windows_of(plan: Node) -> dict[Node, StreamWindow]:
    """The nodes of a plan that cut a stream."""
    nodes = (n for n in topological(plan) if isinstance(n, (Window, PhysicalStreamingAggregation)))
    return {node: window_call(node.window).evaluator for node in nodes}


def windows_above(plan: Node) -> dict[Node, StreamWindow]:
    """The window that the rows of each node go into."""
    return {
        below: window
        for node, window in windows_of(plan).items()
        for below in topological(node)
        if below is not node
    }


def hidden_below(plan: Node) -> set[Node]:
    """The nodes whose rows must keep their time and place, because somebody above goes by it."""
    windows = windows_of(plan)
    timed = {below for node in windows for below in topological(node) if below is not node}
    return timed | ordered_below(plan)


def ordered_below(plan: Node) -> set[Node]:
    """The nodes whose rows must keep their place."""
    needing = [node for node in topological(plan) if goes_by_order(node)]
    return {below for node in needing for below in topological(node) if below is not node}


def joined_streams(plan: Node) -> set[Node]:
    """The nodes whose rows a join of two streams waits with for a match."""
    joins = (node for node in topological(plan) if isinstance(node, Join))
    two = [join for join in joins if is_stream(join.left) and is_stream(join.right)]
    return {below for join in two for below in topological(join)}


# --- time -----------------------------------------------------------------------------------------


def stamp_name(relation: int) -> str:
    """The column that says when a row of a source happened."""
    return f"time{relation}"


def with_time(
    frame: Frame,
    node: DecodedSource,
    window: StreamWindow | None,
    time: RunTime,
    end: InputEnd | None,
    *,
    joined: bool,
    closes: bool,
) -> Frame:
    """The rows of a source with their time, and in a stream with the watermark that follows it;
    `joined` if it is joined with another stream, `closes` if windows elsewhere in the plan wait for
    this watermark as well."""
    frame = _with_time(frame, node, window, time, None if end is None else end.column, closes)
    if joined and frame.data.isStreaming and node.source.eventtime is not None:
        return _followed(frame, node.source, node.relation.id)
    return frame


def _followed(frame: Frame, source: Source, relation: int) -> Frame:
    """The event time is the column that the watermark follows, wherever an expression names it.
    Only so Spark knows when a row of a join is too old for a match, and has it go."""
    shipped, stamp = frame.sources[relation], stamp_name(relation)
    place = shipped.projection.by_place.get(((str(source.eventtime),), Aspect.VALUE))
    if place is None or source.eventtime_unit is not None or stamp not in frame.data.columns:
        return frame  # a number, for example, is not what the watermark follows
    names = [stamp if at == place else name for at, name in enumerate(shipped.names)]
    return replace(frame, sources={**frame.sources, relation: replace(shipped, names=names)})


def _with_time(
    frame: Frame,
    node: DecodedSource,
    window: StreamWindow | None,
    time: RunTime,
    said: str | None,
    closes: bool,
) -> Frame:
    source, relation = node.source, node.relation.id
    if window is None and (source.eventtime is None or "watermark" not in source.options):
        return frame
    streaming = frame.data.isStreaming
    stamp = stamp_name(relation)
    if window is None:
        if not streaming:
            return frame
        # For joins: nothing above waits for this watermark, so functions may see late rows.
        data = stamped(frame.data, source, frame.sources[relation], stamp, time)
        delay = source.watermark
        if closes:
            return frame.with_rows(with_clock(data, stamp, delay, _clock(None, delay, time), None))
        return frame.with_rows(watermarked(data, stamp, delay))
    data = stamped(frame.data, source, frame.sources[relation], stamp, time)
    if not streaming:
        return replace(frame.with_rows(data), stamp=stamp)
    if window.goes_by_time:
        period = None if source.eventtime is not None else window.period
        delay = source.watermark if source.eventtime is not None else "0 seconds"
        data = with_clock(data, stamp, delay, _clock(period, delay, time), said)
        return replace(frame.with_rows(data), stamp=stamp, clock=stamp)
    # Rows cut these windows, so the only time that matters is the end of the input. All rows have
    # the time right behind the watermark and leave it where it is; the clock moves it, at the end.
    clock, delay = f"clock{relation}", "1 millisecond"
    data = data.withColumn(clock, F.timestamp_millis(F.lit(time.watermark + 1)))
    data = with_clock(data, clock, delay, _clock(None, delay, time), said)
    return replace(frame.with_rows(data), stamp=stamp, clock=clock)


def _clock(period: int | None, delay: str, time: RunTime) -> ClockSpec:
    """A clock that, at the end, says a time so late that the watermark moves to where it has to."""
    return ClockSpec(time.clock, parse_duration(delay) or 0, period, time.closes)


# --- order ----------------------------------------------------------------------------------------


def ordered_pairs(joined: Frame, left: Frame, right: Frame, node: Join) -> Frame:
    """The place of a joined row: that of its left row, then that of its right row. Rows of two
    streams have none, and nobody above goes by it: see `logical/row_order.py`."""
    if left.order is None or right.order is None:
        return joined
    if left.data.isStreaming and right.data.isStreaming:
        return joined
    if node.kind in (JoinKind.SEMI, JoinKind.ANTI):
        return replace(joined, order=left.order)
    first, second = (right, left) if right.data.isStreaming else (left, right)
    name = f"{first.order}_{second.order}"
    both = F.struct(F.col(str(first.order)).alias("first"), F.col(str(second.order)).alias("then"))
    return replace(joined.with_rows(joined.data.withColumn(name, both)), order=name)


# --- windows --------------------------------------------------------------------------------------


def aggregate_windows(
    frame: Frame,
    node: PhysicalStreamingAggregation,
    time: RunTime,
    memory: TaskMemory | None,
) -> Frame:
    """A window and its aggregation in one; with a memory, by tasks that keep what is open there."""
    (window, args), relation = window_call(node.window), node.relation.id
    if isinstance(window, RowWindow):
        return fold_by_rows(frame, node, window, args, time, memory)
    assert isinstance(window, SparkWindow)
    named = [
        (expr, column_name(relation, ordinal))
        for ordinal, (_, expr) in enumerate((*node.keys, *node.calls))
    ]
    keys, calls = named[: len(node.keys)], named[len(node.keys) :]
    bounds = {name: node.bound(expr) for expr, name in keys}
    group = [_key(frame, expr, name) for expr, name in keys if bounds[name] is None]
    folded = [parsed_column(frame.sql.text(expr)).alias(name) for expr, name in calls]
    folded = folded or [F.count(F.lit(1)).alias(_ROWS)]  # groups that nobody asks anything of
    data = frame.data.groupBy(*_grouping(frame, window, group)).agg(*folded)
    for name, bound in bounds.items():
        if bound is not None:
            data = data.withColumn(name, F.col(f"{_CUT}.{('start', 'end')[bound]}"))
    columns = {
        ColumnId(relation, ordinal): Typed(quote(name), expr.dtype)
        for ordinal, (expr, name) in enumerate(named)
    }
    return Frame(frame.rows.then(data), {}, columns)


def cut_windows(frame: Frame, node: Window, time: RunTime, memory: TaskMemory | None) -> Frame:
    """A window that keeps its rows, and gives them with its bounds when it closes; with a memory,
    by tasks that keep them there."""
    window, args = window_call(node.window)
    if isinstance(window, RowWindow):
        return cut_by_rows(frame, node, window, args, time, memory)
    assert isinstance(window, SparkWindow)
    kept = [name for name in frame.data.columns if name != clock_mark()]
    group = [_key(frame, expr, f"key{place}") for place, expr in enumerate(node.keys)]
    rows = F.collect_list(F.struct(*kept)).alias(_ROWS)
    collected = frame.data.groupBy(*_grouping(frame, window, group)).agg(rows)
    names = [column_name(node.relation.id, ordinal) for ordinal in range(2)]
    start, end = F.col(f"{_CUT}.start").alias(names[0]), F.col(f"{_CUT}.end").alias(names[1])
    data = collected.select(start, end, F.inline(_ROWS))
    return replace(frame.with_made(data, node.relation), clock=None)


def _grouping(frame: Frame, window: SparkWindow, keys: list[SparkColumn]) -> list[SparkColumn]:
    if window.needs_key and not keys and frame.data.isStreaming:
        # Spark has no such windows of a whole stream, so there is a key: false in every row, which
        # no optimizer knows.
        keys = [parsed_column("spark_partition_id() < 0").alias(_WHOLE)]
    return [parsed_column(window.spark_call(quote(str(frame.stamp)))).alias(_CUT), *keys]


def _key(frame: Frame, expr: Expr, name: str) -> SparkColumn:
    return parsed_column(frame.sql.text(expr)).alias(name)
