"""Running pipelines: what was started together, how it is going, and how to stop it."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

from narrows.catalog.objects import Sink
from narrows.connectors.base import find_connector
from narrows.connectors.letters import PublishedLetters
from narrows.errors import Code, fail
from narrows.files.small import damaged, disk_errors
from narrows.logical.walk import sources_of
from narrows.planner.catalog import Catalog
from narrows.spark.compile.context import Context
from narrows.spark.run.pipeline_run import FAILED, RUNNING, PipelineRun
from narrows.spark.running.failures import Attempts, Restart, reason_of
from narrows.spark.running.running import Phase
from narrows.spark.running.supervisor import Supervisor
from narrows.spark.shared.pipeline import shared_phases
from narrows.spark.shared.reads import SharedReads
from narrows.spark.shared.streams import READY_SECONDS, SharedStreams, pause
from narrows.spark.streaming.pipeline import Pace, PipelineQuery
from narrows.spark.windows.windows import windows_of
from narrows.state.fitting import fitting_plan
from narrows.state.folder import StateFolder
from narrows.worker.count_files import total_counts
from narrows.worker.counts import ReadCounts


class Run:
    """Pipelines that were started together."""

    def __init__(
        self,
        context: Context,
        streams: SharedStreams,
        supervisor: Supervisor,
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
        with disk_errors(context.state.path):
            planned = [_planned(context, catalog, name, pace) for name in pipelines]
            # Everything is compiled before anything starts: a problem in one starts none.
            prepared = [_prepared(streams, pipeline, restart) for pipeline in planned]
            shared = [run.reads for run in prepared if run.reads is not None]
            _reserve(planned, shared)
            if shared:
                streams.start(
                    shared,
                    once=once,
                    trigger=trigger,
                    start_at=start_at,
                    timeout=ready_timeout,
                )
            try:
                for pipeline, run in zip(planned, prepared, strict=True):
                    with _spark_errors(pipeline):
                        run.begin()
                    self.pipelines.append(run)
            except BaseException:
                self.stop()
                for reads in shared:
                    reads.release()
                raise
        supervisor.add(*self.pipelines)

    @property
    def status(self) -> dict[str, str]:
        return {pipeline.name: pipeline.status for pipeline in self.pipelines}

    def has_any_of(self, names: Collection[str]) -> bool:
        return not set(names).isdisjoint(self.status)

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
                "last_error": pipeline.last_error,
                "late": pipeline.late_rows,
                "read": {source: vars(counts) for source, counts in pipeline.counts().items()},
                "lag": pipeline.lag(),
                "shared": pipeline.shared(),
                "refused": pipeline.refused(),
            }
            for pipeline in self.pipelines
        }

    def stop(self, *names: str) -> None:
        """Stops these pipelines, or all of them. What they have done stays done."""
        wanted = {name.casefold() for name in names}
        stopping = [p for p in self.pipelines if not wanted or p.name.casefold() in wanted]
        pause(pipeline.reads for pipeline in stopping if pipeline.reads is not None)
        for pipeline in stopping:
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


def _planned(context: Context, catalog: Catalog, name: str, pace: Pace) -> PipelineQuery:
    declared = catalog.pipeline(name)
    plan = fitting_plan(context.state, catalog, declared.name, pruning=context.pruning)
    context.state.claim(declared.name, plan.physical)
    closes = pace.closes and bool(windows_of(plan.physical))
    pace = replace(pace, closes=closes)
    return PipelineQuery(context, declared.name, declared.sinks, plan, pace, tasks=declared.tasks)


def _reserve(pipelines: Sequence[PipelineQuery], shared: Sequence[SharedReads]) -> None:
    """Before any of them reads: a topic, say, lets go of what all who have begun have read."""
    for pipeline in pipelines:
        pipeline.reserve()
    for read in (read for reads in shared for read in reads.reads):
        read.stream.reserve()


def _prepared(streams: SharedStreams, pipeline: PipelineQuery, restart: Restart) -> PipelineRun:
    """A pipeline that is ready to begin; which way it runs is in its plan."""
    sources = [node.source for node in sources_of(pipeline.plan.logical)]
    reads: SharedReads | None = None
    phases: list[Phase]
    if any(source.shared for source in sources):
        reads, phases = shared_phases(streams, pipeline)
    else:
        phases = pipeline.phases()
    folders = pipeline.counted_in()
    before: dict[str, ReadCounts] = {}
    for name, folder in folders:
        before.setdefault(name, ReadCounts()).merge(total_counts(folder))
    state = pipeline.context.state
    return PipelineRun(
        pipeline.name,
        pipeline.plan,
        phases,
        folders,
        state.failures(pipeline.name),
        Attempts(restart),
        before,
        reads,
        {
            sink: PublishedLetters(state.dead_letters(sink), pipeline.name)
            for sink in pipeline.sinks
        },
        pipeline.written,
    )


@contextmanager
def _spark_errors(pipeline: PipelineQuery) -> Iterator[None]:
    """What Spark will not start with, in one line: a checkpoint that is damaged, most likely."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise fail(
            Code.PIPELINE_FAILED,
            f"pipeline `{pipeline.name}` cannot be started from its checkpoint"
            f" `{pipeline.checkpoint}`: {reason_of(error)}",
            hint="restore the state folder from a backup, or start the pipeline anew:"
            f" `narrows reset {shlex.quote(pipeline.name)}`",
        ) from error


def rows_of(sink: Sink, state: StateFolder) -> list[dict[str, Any]]:
    """The rows that are kept of a console or memory sink."""
    if sink.takes_rows and not find_connector(sink.connector).can_be_watched(sink.options):
        raise fail(
            Code.NOT_SUPPORTED,
            f"the rows of sink `{sink.name}` are for streams, and go when they are read",
            hint="read them by a pipeline: `CREATE STREAM ... WITH (connector = 'memory', topic ="
            " '...')`; a second sink may keep them: `INTO a, b`",
        )
    return read_rows(state.rows(sink.name))


def read_rows(folder: Path) -> list[dict[str, Any]]:
    """The rows that have been published in a sink's folder, in the order of their batches."""
    rows: list[dict[str, Any]] = []
    for path in sorted(folder.glob("[!.]*.json")) if folder.is_dir() else ():
        try:
            rows.extend(json.loads(line) for line in path.read_bytes().splitlines())
        except (OSError, ValueError) as error:
            hint = "restore it from a backup, or remove it, and its rows with it"
            raise damaged(path, "the file of rows", error, hint) from error
    return rows
