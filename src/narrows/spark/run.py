"""Running pipelines: what was started together, how it is going, and how to stop it."""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from narrows.catalog.objects import Pipeline
from narrows.catalog.options import parse_duration
from narrows.errors import Code, fail
from narrows.logical.nodes import Aggregation, DataSink, Distinct, Node
from narrows.logical.walk import sources_of, topological
from narrows.physical.lower import TAKES_ROWS
from narrows.physical.nodes import (
    PhysicalBatch,
    PhysicalReader,
    PhysicalStreamingAggregation,
)
from narrows.planner import Plan
from narrows.spark.clock import say_end
from narrows.spark.closed_windows import Streamed, streamed, write_closed
from narrows.spark.closing import ClosedMark, checkpoint_watermark, closing_run, run_time
from narrows.spark.compile import OpenSource, read_spec
from narrows.spark.copying import NarrowsCopy
from narrows.spark.event_time import RunTime
from narrows.spark.failures import ATTEMPTS, reason_of, was_too_slow
from narrows.spark.late_rows import LateRows
from narrows.spark.shared_pipeline import reads_shared, shared_query
from narrows.spark.shared_query import SharedQuery
from narrows.spark.shared_streams import READY_SECONDS
from narrows.spark.sink import NarrowsSink
from narrows.spark.state_store import state_store
from narrows.spark.statistics import ReadCounts, total_counts
from narrows.spark.windows import windows_of
from narrows.spark.write_spec import (
    SinkTarget,
    WriteSpec,
    parts_of,
    reads_only,
    rows_of,
    sink_frame,
)

if TYPE_CHECKING:
    from narrows.spark.session import Session

RUNNING, DONE, FAILED, STOPPED = "running", "done", "failed", "stopped"


@dataclass
class PipelineRun:
    """One pipeline that was started."""

    name: str
    plan: Plan
    query: StreamingQuery | SharedQuery
    sources: Sequence[tuple[str, Path]]
    """Its sources, and the folders where their readers leave counts."""
    then: Callable[[StreamingQuery], StreamingQuery | None] | None = None
    """What comes after the query when it has ended well: at the end of the input windows close."""
    restart: Callable[[], StreamingQuery] | None = None
    """Starts the query again, from its checkpoint."""
    started: float = field(default_factory=time.monotonic)
    ended: float | None = None
    stopped: bool = False

    _attempts: int = 1
    _going_on: threading.Lock = field(default_factory=threading.Lock)
    _late: LateRows = field(default_factory=LateRows)

    @property
    def status(self) -> str:
        if self.query.isActive or self.goes_on():
            return RUNNING
        if self.ended is None:
            self.ended = time.monotonic()
        if self.query.exception() is not None:
            return FAILED
        return STOPPED if self.stopped else DONE

    @property
    def error(self) -> str | None:
        """Why it failed, in one line."""
        failure = self.query.exception()
        return None if failure is None else reason_of(str(failure))

    def counts(self) -> Mapping[str, ReadCounts]:
        """What has been read of each source."""
        return {source: total_counts(folder) for source, folder in self.sources}

    def shared(self) -> Mapping[str, Mapping[str, Any]]:
        """What is to be said of each shared stream that it reads."""
        return self.query.progress() if isinstance(self.query, SharedQuery) else {}

    @property
    def late_rows(self) -> int:
        """Rows that came too late for their window."""
        return self._late.look(self.query)

    def goes_on(self) -> bool:
        """Starts what comes after a query that has ended; false when that was all."""
        with self._going_on:  # whoever waits and whoever watches may both come here
            return self.query.isActive or self._begins_again() or self._continues()

    def _begins_again(self) -> bool:
        if self.restart is None or self.stopped or not was_too_slow(self.query.exception()):
            return False
        if self._attempts == ATTEMPTS:
            return False
        self._attempts += 1
        self.query = self.restart()
        return True

    def _continues(self) -> bool:
        if self.then is None or self.stopped or self.query.exception():
            return False
        self._late.look(self.query)
        start, self.then = self.then, None
        assert not isinstance(self.query, SharedQuery), "it goes on by itself"
        following = start(self.query)
        if following is None:
            return False
        self.query = following
        return True

    def stop(self) -> None:
        self.then = None
        if self.query.isActive:
            self.stopped = True
            self.query.stop()


class Run:
    """Pipelines that were started together."""

    def __init__(
        self,
        session: Session,
        pipelines: Sequence[str],
        *,
        once: bool,
        trigger: str,
        start_at: str | None = None,
        ready_timeout: float = READY_SECONDS,
        close_windows: bool = True,
    ) -> None:
        self.pipelines: list[PipelineRun] = []
        prepared = [
            _prepare(
                session,
                session.catalog.pipeline(name),
                once=once,
                trigger=trigger,
                close_windows=close_windows,
            )
            for name in pipelines
        ]
        try:
            shared = [query for _, _, query in prepared if isinstance(query, SharedQuery)]
            if shared:
                session.shared.start(
                    shared, once=once, trigger=trigger, start_at=start_at, timeout=ready_timeout
                )
            for pipeline, plan, query in prepared:
                closes = once and close_windows and not isinstance(query, SharedQuery)
                then = _closing(session, pipeline, plan) if closes else None
                running = query if isinstance(query, SharedQuery) else query()
                names = dict.fromkeys(
                    node.source.name for node in sources_of(plan.logical) if not node.source.shared
                )
                folders = [(n, session.state.statistics(pipeline.name, n)) for n in names]
                restart = None if isinstance(query, SharedQuery) else query
                self.pipelines.append(
                    PipelineRun(pipeline.name, plan, running, folders, then, restart)
                )
        except BaseException:
            self.stop()
            for query in (query for _, _, query in prepared if isinstance(query, SharedQuery)):
                query.stop()
            raise

    @property
    def status(self) -> dict[str, str]:
        return {pipeline.name: pipeline.status for pipeline in self.pipelines}

    @property
    def is_running(self) -> bool:
        return RUNNING in self.status.values()

    @property
    def progress(self) -> dict[str, dict[str, Any]]:
        """For each pipeline: its status, what it has read and, if it failed, why."""
        return {
            pipeline.name: {
                "status": pipeline.status,
                "error": pipeline.error,
                "late": pipeline.late_rows,
                "read": {source: vars(counts) for source, counts in pipeline.counts().items()},
                "shared": pipeline.shared(),
            }
            for pipeline in self.pipelines
        }

    def stop(self, *names: str) -> None:
        """Stops these pipelines, or all of them. What they have done stays done."""
        wanted = {name.casefold() for name in names}
        for pipeline in self.pipelines:
            if not wanted or pipeline.name.casefold() in wanted:
                pipeline.stop()

    def await_done(self, timeout: float | None = None) -> Run:
        """Waits until all pipelines have ended; raises when one failed or the time is over."""
        deadline = None if timeout is None else time.monotonic() + timeout
        for pipeline in self.pipelines:
            while True:
                left = None if deadline is None else max(1, math.ceil(deadline - time.monotonic()))
                try:
                    ended = pipeline.query.awaitTermination(left)
                except PySparkException:
                    ended = True  # reported below, in our words
                if ended is False:
                    raise TimeoutError(f"pipeline `{pipeline.name}` is still running")
                if not pipeline.goes_on():
                    break
        self.raise_if_failed()
        return self

    def raise_if_failed(self) -> None:
        failed = [p for p in self.pipelines if p.status == FAILED]
        if failed:
            reasons = "; ".join(f"`{p.name}`: {p.error}" for p in failed)
            raise fail(Code.PIPELINE_FAILED, f"pipeline {reasons}")


def _prepare(
    session: Session, pipeline: Pipeline, *, once: bool, trigger: str, close_windows: bool
) -> tuple[Pipeline, Plan, SharedQuery | Callable[[], StreamingQuery]]:
    """Plans and compiles a pipeline; nothing runs yet, so a problem in one starts none."""
    plan = session.catalog.plan_pipeline(pipeline.name, pruning=session.pruning)
    session.state.claim(pipeline.name, plan.physical)

    def start(stream: Streamed) -> StreamingQuery:
        return _start(session, pipeline, plan, stream, once=once, trigger=trigger)

    if reads_shared(plan):
        query = shared_query(
            session,
            pipeline.name,
            plan,
            for_sinks=partial(sink_frame, plan),
            write=write_spec(session, pipeline, plan),
            streamed=partial(_streamed, session, pipeline, plan),
            start=start,
            closing=partial(_closing, session, pipeline, plan) if once and close_windows else None,
        )
        return pipeline, plan, query
    reader = reads_only(plan)
    if reader is not None and not reader.source.bounded and reader.source.connector == "file":
        return (
            pipeline,
            plan,
            partial(_start_copying, session, pipeline, plan, reader, once, trigger),
        )
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
        session.opener(root, name, streaming=True, frozen=frozen, open_shared=open_shared),
        session.opener(root, name, streaming=False),
        closing or run_time(state.checkpoint(name), state.clock(name)),
    )


def _closing(
    session: Session, pipeline: Pipeline, plan: Plan, open_shared: OpenSource | None = None
) -> Callable[[StreamingQuery], StreamingQuery | None] | None:
    """What a bounded run does at the end of its input; None when it has no windows."""
    root = rows_of(plan.physical)
    if not windows_of(root):
        return None
    checkpoint, clock = session.state.checkpoint(pipeline.name), session.state.clock(pipeline.name)
    mark = ClosedMark(session.state.closed_mark(pipeline.name), checkpoint)

    def close(ended: StreamingQuery) -> StreamingQuery | None:
        nothing_came = not any(report["numInputRows"] for report in ended.recentProgress)
        if nothing_came and (mark.holds or not checkpoint_watermark(checkpoint)):
            mark.keep()
            return None
        last = closing_run(root, checkpoint, clock)
        assert last.closes is not None
        mark.set(last.closes)
        say_end(clock, last.closes)
        stream = _streamed(session, pipeline, plan, open_shared, closing=last)
        return _start(session, pipeline, plan, stream, once=True, trigger="")

    return close


def _start(
    session: Session,
    pipeline: Pipeline,
    plan: Plan,
    stream: Streamed,
    *,
    once: bool,
    trigger: str,
) -> StreamingQuery:
    spec, finish = write_spec(session, pipeline, plan), stream.finish
    mode = _output_mode(plan.physical) if finish is None else "append"
    if finish is None and mode == "append":
        frame = sink_frame(plan, stream.frame)
        writer = frame.writeStream.format(NarrowsSink.name()).option("spec", spec.to_option())
    else:
        # What changed since the last batch is no append, which is all that a data source takes.
        write = write_closed(lambda rows: sink_frame(plan, finish(rows) if finish else rows), spec)
        writer = stream.frame.writeStream.foreachBatch(write)
    return _begin(session, pipeline, plan, writer.outputMode(mode), once, trigger)


def _start_copying(
    session: Session,
    pipeline: Pipeline,
    plan: Plan,
    reader: PhysicalReader,
    once: bool,
    trigger: str,
) -> StreamingQuery:
    """A pipeline that computes nothing: its readers write, see `copying`."""
    read = session.placed_for(reader, read_spec(reader), pipeline.name)
    write = write_spec(session, pipeline, plan).to_option()
    rows = session.spark.readStream.format(NarrowsCopy.name())
    frame = rows.option("spec", read.to_option()).option("write", write).load()
    writer = frame.writeStream.format(NarrowsCopy.name()).option("write", write)
    return _begin(session, pipeline, plan, writer, once, trigger)


def _begin(
    session: Session,
    pipeline: Pipeline,
    plan: Plan,
    writer: DataStreamWriter,
    once: bool,
    trigger: str,
) -> StreamingQuery:
    checkpoint = str(session.state.checkpoint(pipeline.name).absolute())
    writer = writer.queryName(pipeline.name).option("checkpointLocation", checkpoint)
    every = _gathering_time(plan.physical) or trigger
    writer = writer.trigger(availableNow=True) if once else writer.trigger(processingTime=every)
    with state_store(session.spark, plan.physical):
        return writer.start()


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
    """An aggregate without window never ends, so what changed is written after every batch."""
    endless = any(
        isinstance(node, (Aggregation, Distinct))
        and not isinstance(node, PhysicalStreamingAggregation)
        for node in topological(plan)
    )
    return "update" if endless else "append"


def read_rows(folder: Path) -> list[dict[str, Any]]:
    """The rows that have been published in a sink's folder, in the order of their batches."""
    rows: list[dict[str, Any]] = []
    for path in sorted(folder.glob("[!.]*.json")) if folder.is_dir() else ():
        with path.open(encoding="utf-8") as lines:
            rows.extend(json.loads(line) for line in lines)
    return rows
