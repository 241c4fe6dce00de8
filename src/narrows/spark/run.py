"""Running pipelines: what was started together, how it is going, and how to stop it."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.query import StreamingQuery

from narrows.catalog.objects import Pipeline, Sink
from narrows.errors import Code, fail
from narrows.logical.nodes import Aggregation, DataSink, Distinct, Node, Tail
from narrows.logical.walk import sources_of, topological
from narrows.physical.nodes import PhysicalEncoder, PhysicalStreamingAggregation
from narrows.planner import Plan
from narrows.spark.clock import say_end
from narrows.spark.closed_windows import Streamed, streamed, write_closed
from narrows.spark.closing import ClosedMark, checkpoint_watermark, closing_run, run_time
from narrows.spark.event_time import RunTime
from narrows.spark.late_rows import LateRows
from narrows.spark.sink import LINE, NarrowsSink, SinkTarget, WriteSpec
from narrows.spark.sql_text import quote, string
from narrows.spark.state_store import state_store
from narrows.spark.statistics import ReadCounts, total_counts
from narrows.spark.windows import windows_of

if TYPE_CHECKING:
    from narrows.spark.session import Session

RUNNING, DONE, FAILED, STOPPED = "running", "done", "failed", "stopped"


@dataclass
class PipelineRun:
    """One pipeline that was started."""

    name: str
    plan: Plan
    query: StreamingQuery
    sources: Sequence[tuple[str, Path]]
    """Its sources, and the folders where their readers leave counts."""
    then: Callable[[StreamingQuery], StreamingQuery | None] | None = None
    """What comes after the query when it has ended well: at the end of the input windows close."""
    started: float = field(default_factory=time.monotonic)
    ended: float | None = None
    stopped: bool = False

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

    @property
    def late_rows(self) -> int:
        """Rows that came too late for their window."""
        return self._late.look(self.query)

    def goes_on(self) -> bool:
        """Starts what comes after a query that has ended; false when that was all."""
        if self.then is None or self.stopped or self.query.isActive or self.query.exception():
            return False
        self._late.look(self.query)
        start, self.then = self.then, None
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
        close_windows: bool = True,
    ) -> None:
        self.pipelines: list[PipelineRun] = []
        prepared = [_prepare(session, session.catalog.pipeline(name)) for name in pipelines]
        try:
            for pipeline, plan, stream in prepared:
                then = _closing(session, pipeline, plan) if once and close_windows else None
                query = _start(session, pipeline, plan, stream, once=once, trigger=trigger)
                names = dict.fromkeys(node.source.name for node in sources_of(plan.logical))
                folders = [(n, session.state.statistics(pipeline.name, n)) for n in names]
                self.pipelines.append(PipelineRun(pipeline.name, plan, query, folders, then))
        except BaseException:
            self.stop()
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


def reason_of(failure: str) -> str:
    """The one line of a Spark failure that says what went wrong."""
    lines = [line.strip() for line in failure.splitlines() if line.strip()]
    for line in reversed(lines):
        # A Python worker's traceback ends with the exception itself.
        if "Error: " in line and not line.startswith(("at ", "File ")):
            return line
    return lines[0] if lines else "no reason was given"


def _prepare(session: Session, pipeline: Pipeline) -> tuple[Pipeline, Plan, Streamed]:
    """Plans and compiles a pipeline; nothing runs yet, so a problem in one starts none."""
    plan = session.catalog.plan_pipeline(pipeline.name, pruning=session.pruning)
    session.state.claim(pipeline.name, plan.physical)
    stream = _streamed(session, pipeline, plan)
    if not stream.frame.isStreaming:
        raise fail(
            Code.NOT_SUPPORTED,
            f"pipeline `{pipeline.name}` reads tables only, so it would never see new rows",
            hint="use a query: `session.query(...)` or `narrows query`",
        )
    return pipeline, plan, stream


def _streamed(
    session: Session, pipeline: Pipeline, plan: Plan, closing: RunTime | None = None
) -> Streamed:
    name, state = pipeline.name, session.state
    return streamed(
        without_sinks(plan.physical),
        session.opener(name, streaming=True, frozen=closing is not None),
        session.opener(name, streaming=False),
        closing or run_time(state.checkpoint(name), state.clock(name)),
    )


def _closing(
    session: Session, pipeline: Pipeline, plan: Plan
) -> Callable[[StreamingQuery], StreamingQuery | None] | None:
    """What a bounded run does at the end of its input; None when it has no windows."""
    root = without_sinks(plan.physical)
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
        stream = _streamed(session, pipeline, plan, closing=last)
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
    if finish is None:
        frame = sink_frame(plan, stream.frame)
        writer = frame.writeStream.format(NarrowsSink.name()).option("spec", spec.to_option())
        writer = writer.outputMode(_output_mode(plan.physical))
    else:
        write = write_closed(lambda closed: sink_frame(plan, finish(closed)), spec)
        writer = stream.frame.writeStream.foreachBatch(write).outputMode("append")
    checkpoint = str(session.state.checkpoint(pipeline.name).absolute())
    writer = writer.queryName(pipeline.name).option("checkpointLocation", checkpoint)
    writer = writer.trigger(availableNow=True) if once else writer.trigger(processingTime=trigger)
    with state_store(session.spark, plan.physical):
        return writer.start()


def without_sinks(plan: Node) -> Node:
    """The node whose rows a plan's sinks write."""
    while isinstance(plan, (Tail, DataSink, PhysicalEncoder)):
        plan = plan.children[0]
    return plan


def write_spec(session: Session, pipeline: Pipeline, plan: Plan) -> WriteSpec:
    """Where the rows of a pipeline go."""
    targets = [_target(session, session.catalog.sink(name)) for name in pipeline.sinks]
    return WriteSpec(pipeline.name, tuple(targets))


def sink_frame(plan: Plan, frame: DataFrame) -> DataFrame:
    """The rows of a pipeline, as its sinks take them."""
    return as_lines(frame)


def as_lines(frame: DataFrame) -> DataFrame:
    """Every row as a JSON object in one line, NULLs included."""
    inner = frame.toDF(*[f"o{i}" for i in range(len(frame.columns))])
    fields = [f"{string(name)}, {quote(f'o{i}')}" for i, name in enumerate(frame.columns)]
    row = f"named_struct({', '.join(fields)})"
    return inner.select(F.expr(f"to_json({row}, map('ignoreNullFields', 'false'))").alias(LINE))


def _target(session: Session, sink: Sink) -> SinkTarget:
    if sink.connector == "file":
        return SinkTarget(str(Path(str(sink.options["path"])).absolute()))
    return SinkTarget(str(session.state.rows(sink.name).absolute()))


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
