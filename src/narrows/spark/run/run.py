"""Running pipelines: what was started together, how it is going, and how to stop it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from narrows.errors import Code, fail
from narrows.logical.walk import sources_of
from narrows.physical.execution import Mode, execution_of
from narrows.planner.catalog import Catalog
from narrows.spark.compile.context import Context
from narrows.spark.run.pipeline_run import FAILED, RUNNING, PipelineRun
from narrows.spark.shared.pipeline import shared_query
from narrows.spark.shared.query import SharedQuery
from narrows.spark.shared.streams import READY_SECONDS, SharedStreams
from narrows.spark.streaming.failures import Attempts, Restart
from narrows.spark.streaming.feed import Query
from narrows.spark.streaming.pipeline import Pace, PipelineQuery
from narrows.spark.windows.windows import windows_of

_LOOK_SECONDS = 0.1


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
        restart: Restart = "transient",
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
                self.pipelines.append(_run_of(pipeline, query, restart))
            threading.Thread(target=self._look_after, name="narrows-run", daemon=True).start()
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
                "restarts": pipeline.attempts.restarts,
                "last_failure": pipeline.attempts.last_failure,
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
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not pipeline.await_end(left):
                raise TimeoutError(f"pipeline `{pipeline.name}` is still running")
        self.raise_if_failed()
        return self

    def raise_if_failed(self) -> None:
        failed = [p for p in self.pipelines if p.status == FAILED]
        if failed:
            reasons = "; ".join(f"`{p.name}`: {p.error}" for p in failed)
            traces = ", ".join(f"`{p.trace}`" for p in failed)
            hint = f"the whole story is in {traces}"
            raise fail(Code.PIPELINE_FAILED, f"pipeline {reasons}", None, hint)

    def _look_after(self) -> None:
        """Restarts what failed, goes on with what comes next; until all have ended."""
        pause = threading.Event()
        going = list(self.pipelines)
        while going:
            for pipeline in list(going):
                try:
                    if not pipeline.tend():
                        going.remove(pipeline)
                except BaseException as error:
                    pipeline.fail(error)
                    going.remove(pipeline)
            pause.wait(_LOOK_SECONDS)


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


def _run_of(
    pipeline: PipelineQuery, query: SharedQuery | Callable[[], Query], restart: Restart
) -> PipelineRun:
    folders = pipeline.counted_in()
    trace = pipeline.context.state.failures(pipeline.name)
    if isinstance(query, SharedQuery):  # it goes on by itself
        return PipelineRun(pipeline.name, pipeline.plan, query, folders, trace)
    then, attempts = pipeline.closing_step(), Attempts(restart)
    return PipelineRun(pipeline.name, pipeline.plan, query(), folders, trace, then, query, attempts)


def read_rows(folder: Path) -> list[dict[str, Any]]:
    """The rows that have been published in a sink's folder, in the order of their batches."""
    rows: list[dict[str, Any]] = []
    for path in sorted(folder.glob("[!.]*.json")) if folder.is_dir() else ():
        with path.open(encoding="utf-8") as lines:
            rows.extend(json.loads(line) for line in lines)
    return rows
