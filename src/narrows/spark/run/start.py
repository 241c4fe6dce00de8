"""Starting pipelines: from a plan to a streaming query that runs it, and where its rows go."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter

from narrows.catalog.objects import Pipeline
from narrows.catalog.options import TAKES_ROWS, parse_duration
from narrows.errors import Code, fail
from narrows.explain.plan import Plan
from narrows.files.names import file_name
from narrows.logical.nodes import DataSink, Decoded, Node
from narrows.logical.streaming import is_stream
from narrows.logical.walk import topological
from narrows.physical.nodes import PhysicalBatch, PhysicalReader
from narrows.spark.compile.closed_windows import Streamed, streamed
from narrows.spark.compile.plan import OpenSource
from narrows.spark.read.marker_source import copy_turns
from narrows.spark.read.plain_read import PlainRead
from narrows.spark.read.reader import read_spec
from narrows.spark.shared.pipeline import reads_shared, shared_query
from narrows.spark.shared.query import SharedQuery
from narrows.spark.streaming.feed import FedQuery, Feed, Query
from narrows.spark.streaming.query_settings import query_settings
from narrows.spark.windows.clock import say_end
from narrows.spark.windows.closing import ClosedMark, closing_run, run_time
from narrows.spark.windows.event_time import RunTime
from narrows.spark.windows.windows import windows_of
from narrows.spark.write.sink import publish_written, sweep, written_by_tasks
from narrows.spark.write.sink_frame import copied_from, parts_of, rows_of, sink_frame
from narrows.worker.read_spec import ReadSpec
from narrows.worker.watermark import last_commit
from narrows.worker.write_spec import SinkTarget, WriteSpec

if TYPE_CHECKING:
    from narrows.spark.session import Session


@dataclass(frozen=True)
class Pace:
    """How long a query runs, and how often it looks for something to read."""

    once: bool
    """Only what is there now."""
    trigger: str = ""
    closes: bool = False
    """When the input has ended, all windows that are open close."""


def prepare(
    session: Session, pipeline: Pipeline, *, once: bool, trigger: str, close_windows: bool
) -> tuple[Pipeline, Plan, SharedQuery | Callable[[], Query]]:
    """Plans and compiles a pipeline; nothing runs yet, so a problem in one starts none."""
    plan = session.catalog.plan_pipeline(pipeline.name, pruning=session.pruning)
    session.state.claim(pipeline.name, plan.physical)
    closes = once and close_windows and bool(windows_of(plan.physical))
    pace = Pace(once, trigger, closes)

    def start(stream: Streamed) -> Query:
        checkpoint = session.state.checkpoint(pipeline.name)
        feeds = [Feed(read, checkpoint) for read in _files_read(session, pipeline, plan)]
        return _start(session, pipeline, plan, stream, feeds, pace)

    if reads_shared(plan):
        query = shared_query(
            session,
            pipeline.name,
            plan,
            for_sinks=partial(sink_frame, plan),
            write=write_spec(session, pipeline, plan),
            streamed=partial(_streamed, session, pipeline, plan),
            start=start,
            closing=partial(closing_step, session, pipeline, plan) if closes else None,
        )
        return pipeline, plan, query
    plain = copied_from(plan)
    if plain is not None and plain.node.source.is_file_stream:
        return pipeline, plan, partial(_start_copying, session, pipeline, plan, plain, pace)
    stream = _streamed(session, pipeline, plan)
    if not stream.frame.isStreaming:
        raise fail(
            Code.NOT_SUPPORTED,
            f"pipeline `{pipeline.name}` reads tables only, so it would never see new rows",
            hint="use a query: `session.query(...)` or `narrows query`",
        )
    return pipeline, plan, partial(start, stream)


def _streamed(
    session: Session,
    pipeline: Pipeline,
    plan: Plan,
    open_shared: OpenSource | None = None,
    *,
    closing: RunTime | None = None,
) -> Streamed:
    root, name, state = rows_of(plan.physical), pipeline.name, session.state
    frozen = closing is not None
    return streamed(
        root,
        session.spark,
        session.opener(name, streaming=True, frozen=frozen, open_shared=open_shared),
        session.opener(name, streaming=False),
        closing or run_time(state.checkpoint(name), state.clock(name)),
    )


def closing_step(
    session: Session, pipeline: Pipeline, plan: Plan, open_shared: OpenSource | None = None
) -> Callable[[Query], Query | None] | None:
    """What a bounded run does at the end of its input; None when it has no windows."""
    root = rows_of(plan.physical)
    if not windows_of(root):
        return None
    checkpoint, clock = session.state.checkpoint(pipeline.name), session.state.clock(pipeline.name)
    mark = ClosedMark(session.state.closed_mark(pipeline.name), checkpoint)

    def close(ended: Query) -> Query | None:
        nothing_came = not any(report["numInputRows"] for report in ended.recentProgress)
        closed = mark.holds or last_commit(checkpoint) is None
        if closed if nothing_came else _knows_its_end(plan):
            mark.keep()
            return None
        last = closing_run(root, checkpoint, clock)
        assert last.closes is not None
        mark.set(last.closes)
        say_end(clock, last.closes)
        stream = _streamed(session, pipeline, plan, open_shared, closing=last)
        return _start(session, pipeline, plan, stream, (), Pace(once=True))

    return close


def _knows_its_end(plan: Plan) -> bool:
    """Do the readers of a pipeline say the end of a bounded run, and so close its windows?"""
    nodes = [node for node in topological(plan.physical) if isinstance(node, Decoded)]
    sources = [node.source for node in nodes if not node.source.bounded]
    return len(sources) == 1 and sources[0].is_file_stream


def _files_read(session: Session, pipeline: Pipeline, plan: Plan) -> list[ReadSpec]:
    """The streams of files that a pipeline reads by itself."""
    return [
        session.placed_for(node, read_spec(node), pipeline.name)
        for node in topological(plan.physical)
        if isinstance(node, PhysicalReader) and node.source.is_file_stream
    ]


def _start(
    session: Session,
    pipeline: Pipeline,
    plan: Plan,
    stream: Streamed,
    feeds: Sequence[Feed],
    pace: Pace,
) -> Query:
    spec, finish = write_spec(session, pipeline, plan), stream.finish
    if finish is None:
        told = written_by_tasks(sink_frame(plan, stream.frame), spec)
        writer = _publishing(told, spec, feeds, mode=_output_mode(plan.physical))
    else:

        def told_of(closed: DataFrame) -> DataFrame:
            return written_by_tasks(sink_frame(plan, finish(closed)), spec)

        writer = _publishing(stream.frame, spec, feeds, told_of)
    return _begin(session, pipeline, plan, writer, feeds, pace)


def _start_copying(
    session: Session, pipeline: Pipeline, plan: Plan, plain: PlainRead, pace: Pace
) -> Query:
    """A pipeline that computes nothing: its readers write."""
    read = session.placed_for(plain.node, plain.spec, pipeline.name)
    spec = write_spec(session, pipeline, plan)
    feeds = [Feed(read, session.state.checkpoint(pipeline.name))]
    writer = _publishing(copy_turns(session.spark, read, spec), spec, feeds)
    return _begin(session, pipeline, plan, writer, feeds, pace)


def _publishing(
    rows: DataFrame,
    spec: WriteSpec,
    feeds: Sequence[Feed],
    told_of: Callable[[DataFrame], DataFrame] | None = None,
    mode: str = "append",
) -> DataStreamWriter:
    """Publishes what tasks wrote. That is what the rows tell, or what is made of each batch."""
    sweep(spec)

    def publish(batch: DataFrame, number: int) -> None:
        for feed in feeds:
            feed.check(number)
        publish_written(batch if told_of is None else told_of(batch), spec, number)

    return rows.writeStream.foreachBatch(publish).outputMode(mode)


def _begin(
    session: Session,
    pipeline: Pipeline,
    plan: Plan,
    writer: DataStreamWriter,
    feeds: Sequence[Feed],
    pace: Pace,
) -> Query:
    checkpoint = str(session.state.checkpoint(pipeline.name).absolute())
    writer = writer.queryName(file_name(pipeline.name)).option("checkpointLocation", checkpoint)
    every = _gathering_time(plan.physical) or pace.trigger
    if pace.once:
        writer = writer.trigger(availableNow=True)
        for feed in feeds:
            feed.take_all(ends=pace.closes and _knows_its_end(plan))
    else:
        writer = writer.trigger(processingTime=every)
    closes_later = pace.closes and not _knows_its_end(plan)
    with query_settings(session.spark, plan.physical, closes_later=closes_later):
        query = writer.start()
    return query if pace.once or not feeds else FedQuery(query, feeds, parse_duration(every) or 0)


def write_spec(session: Session, pipeline: Pipeline, plan: Plan) -> WriteSpec:
    """Where the rows of a pipeline go, and how they are encoded."""
    sinks = [node for node in topological(plan.physical) if isinstance(node, DataSink)]
    by_name = {node.sink.name: _target(session, node) for node in sinks}
    return WriteSpec(pipeline.name, tuple(by_name[name] for name in pipeline.sinks))


def _target(session: Session, node: DataSink) -> SinkTarget:
    sink = node.sink
    in_state = sink.connector != "file"
    folder = session.state.rows(sink.name) if in_state else Path(str(sink.options["path"]))
    count = sink.options.get("batch_count")
    return SinkTarget(
        sink=sink.name,
        folder=str(folder.absolute()),
        format="json" if sink.format == TAKES_ROWS else sink.format,
        options=(*sink.options.items(), ("timezone", session.timezone)),
        parts=parts_of(node),
        dead_letters=str(session.state.dead_letters(sink.name).absolute()),
        batch_count=count if isinstance(count, int) else None,
        gathers=any(isinstance(n, PhysicalBatch) for n in topological(node)),
    )


def _gathering_time(plan: Node) -> str | None:
    """The shortest `batch_duration` of the sinks: a micro-batch ends every payload."""
    sinks = [node.sink for node in topological(plan) if isinstance(node, DataSink)]
    given = [str(d) for sink in sinks if (d := sink.options.get("batch_duration")) is not None]
    if not given:
        return None
    return f"{min(parse_duration(text) or 0 for text in given)} milliseconds"


def _output_mode(plan: Node) -> str:
    """An aggregate of a stream without window never ends, so what changed is written after every
    batch."""
    endless = any(node.folds and is_stream(node) for node in topological(plan))
    return "update" if endless else "append"
