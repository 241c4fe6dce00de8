"""Running pipelines: what was started together, how it is going, and how to stop it."""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException

from narrows.errors import Code, fail
from narrows.explain.plan import Plan
from narrows.logical.walk import sources_of
from narrows.physical.execution import Mode, execution_of
from narrows.planner.catalog import Catalog
from narrows.spark.compile.context import Context
from narrows.spark.run.late_rows import LateRows
from narrows.spark.shared.pipeline import shared_query
from narrows.spark.shared.query import SharedQuery
from narrows.spark.shared.streams import READY_SECONDS, SharedStreams
from narrows.spark.streaming.failures import ATTEMPTS, reason_of, was_too_slow
from narrows.spark.streaming.feed import FedQuery, Query
from narrows.spark.streaming.pipeline import Pace, PipelineQuery
from narrows.spark.windows.windows import windows_of
from narrows.worker.counts import ReadCounts, total_counts

RUNNING, DONE, FAILED, STOPPED = "running", "done", "failed", "stopped"


@dataclass
class PipelineRun:
    """One pipeline that was started."""

    name: str
    plan: Plan
    query: Query | SharedQuery
    sources: Sequence[tuple[str, Path]]
    """Its sources, and the folders where their readers leave counts."""
    then: Callable[[Query], Query | None] | None = None
    """What comes after the query when it has ended well: at the end of the input windows close."""
    restart: Callable[[], Query] | None = None
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

    def lag(self) -> Mapping[str, Mapping[str, int]]:
        """How far it is behind each source that it is fed with, as far as that can be told."""
        feeds = self.query.feeds if isinstance(self.query, FedQuery) else ()
        lags = {feed.source: feed.lag()._asdict() for feed in feeds}
        return {s: {k: v for k, v in lag.items() if v is not None} for s, lag in lags.items()}

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
        self.query.stop()  # whoever feeds it must have ended before another begins
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
        context: Context,
        streams: SharedStreams,
        catalog: Catalog,
        pipelines: Sequence[str],
        *,
        once: bool,
        trigger: str,
        start_at: str | None = None,
        ready_timeout: float = READY_SECONDS,
        close_windows: bool = True,
    ) -> None:
        self.pipelines: list[PipelineRun] = []
        pace = Pace(once, trigger, once and close_windows)
        planned = [_planned(context, catalog, name, pace) for name in pipelines]
        # Everything is compiled before anything starts: a problem in one starts none.
        prepared = [(pipeline, _prepare(streams, pipeline)) for pipeline in planned]
        try:
            shared = [query for _, query in prepared if isinstance(query, SharedQuery)]
            if shared:
                streams.start(
                    shared, once=once, trigger=trigger, start_at=start_at, timeout=ready_timeout
                )
            for pipeline, query in prepared:
                self.pipelines.append(_run_of(pipeline, query))
        except BaseException:
            self.stop()
            for query in (query for _, query in prepared if isinstance(query, SharedQuery)):
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
                "lag": pipeline.lag(),
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


def _planned(context: Context, catalog: Catalog, name: str, pace: Pace) -> PipelineQuery:
    declared = catalog.pipeline(name)
    plan = catalog.plan_pipeline(declared.name, pruning=context.pruning)
    context.state.claim(declared.name, plan.physical)
    closes = pace.closes and bool(windows_of(plan.physical))
    pace = replace(pace, closes=closes)
    return PipelineQuery(context, declared.name, declared.sinks, plan, pace)


def _prepare(streams: SharedStreams, pipeline: PipelineQuery) -> SharedQuery | Callable[[], Query]:
    """What starts a pipeline; which way it runs is in its plan."""
    sources = [node.source for node in sources_of(pipeline.plan.logical)]
    if any(source.shared for source in sources):
        return shared_query(streams, pipeline)
    if execution_of(pipeline.plan.physical).mode is Mode.COPY:
        return pipeline.start_copying
    stream = pipeline.compile()
    return lambda: pipeline.start(stream)


def _run_of(pipeline: PipelineQuery, query: SharedQuery | Callable[[], Query]) -> PipelineRun:
    names = dict.fromkeys(
        node.source.name for node in sources_of(pipeline.plan.logical) if not node.source.shared
    )
    state = pipeline.context.state
    folders = [(name, state.statistics(pipeline.name, name)) for name in names]
    if isinstance(query, SharedQuery):  # it goes on by itself
        return PipelineRun(pipeline.name, pipeline.plan, query, folders)
    then = pipeline.closing_step()
    return PipelineRun(pipeline.name, pipeline.plan, query(), folders, then, query)


def read_rows(folder: Path) -> list[dict[str, Any]]:
    """The rows that have been published in a sink's folder, in the order of their batches."""
    rows: list[dict[str, Any]] = []
    for path in sorted(folder.glob("[!.]*.json")) if folder.is_dir() else ():
        with path.open(encoding="utf-8") as lines:
            rows.extend(json.loads(line) for line in lines)
    return rows
