"""What shall run, and what does.

    start      the session starts the pipeline -> "running" is kept -> answered
    stop       "stopped" is kept -> the session stops the pipeline -> answered

So whatever was answered with success is so after a crash, and what was not answered may be so or
not. A new service starts what shall run, each pipeline by itself. Pipelines that fail later are
restarted by the session; there is no second policy here.
"""

from __future__ import annotations

import logging
import threading
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from narrows.errors import Code, NarrowsError, fail
from narrows.schema import quoted
from narrows.service.spark import BackgroundSession
from narrows.service.store import ServiceStore
from narrows.state.folder import StateFolder

if TYPE_CHECKING:
    from narrows.spark.run.pipeline_run import PipelineRun
    from narrows.spark.running.failures import Restart

LOG = logging.getLogger("narrows.service")
_STARTS = 8
"""Pipelines that are started at the same time, when the service starts."""
_LOOK_SECONDS = 0.1


class Lifecycle:
    """Pipelines by their names, whose case does not matter."""

    def __init__(
        self,
        state: StateFolder,
        store: ServiceStore,
        spark: BackgroundSession,
        *,
        trigger: str,
        restart: Restart,
    ) -> None:
        self.closing = threading.Event()
        self._state, self._store, self._spark = state, store, spark
        self._trigger, self._restart = trigger, restart
        self._by_name: defaultdict[str, threading.RLock] = defaultdict(threading.RLock)
        """Held while a pipeline starts or stops."""
        self._starting: dict[str, int] = defaultdict(int)
        self._problems: dict[str, NarrowsError] = {}
        """Why pipelines that shall run could not be started."""

    def open(self) -> None:
        """Starts what shall run, as soon as Spark is up."""
        wanted = [n for n, desired in self._store.desired.items() if desired == "running"]
        for name in wanted:
            self._starting[name] += 1
        LOG.info("%d pipelines to start", len(wanted))
        self._spark.start(lambda _: self._restore(wanted))

    def _restore(self, names: Sequence[str]) -> None:
        with ThreadPoolExecutor(_STARTS, thread_name_prefix="narrows-restore") as pool:
            list(pool.map(self._restore_one, names))

    def _restore_one(self, name: str) -> None:
        """Tries by the same policy by which the session restarts it later."""
        from narrows.spark.running.failures import Attempts, Verdict

        attempts = Attempts(self._restart)
        try:
            while not self.closing.is_set():
                try:
                    with self._by_name[name]:
                        if self._store.desired.get(name) == "running":
                            self._start(name)
                    return
                except NarrowsError as error:
                    self._problems[name] = error
                    LOG.error("pipeline %s: %s", name, error.problems[0].message)
                    while (verdict := attempts.after(error)) is Verdict.WAIT:
                        if self.closing.wait(_LOOK_SECONDS):
                            return
                    if verdict is Verdict.GIVE_UP:
                        return
        finally:
            self._starting[name] -= 1

    # --- what happens -----------------------------------------------------------------------------

    def start(self, name: str) -> None:
        """Starts a pipeline, and keeps that it shall run. One that runs is left alone."""
        key = name.casefold()
        self._starting[key] += 1
        try:
            with self._by_name[key]:
                self._start(name)
                self._store.desire(name, "running")
        finally:
            self._starting[key] -= 1

    def _start(self, name: str) -> None:
        session = self._spark.get()
        if name.casefold() not in {running.casefold() for running in session.running}:
            self._spark.call(session.start, name, trigger=self._trigger, restart=self._restart)
            LOG.info("pipeline %s started", name)
        self._problems.pop(name.casefold(), None)

    def stop(self, name: str) -> None:
        """Keeps that a pipeline shall not run, and stops it."""
        self._store.desire(name, "stopped")
        with self._by_name[name.casefold()]:
            self._problems.pop(name.casefold(), None)
            session = self._spark.now
            if session is not None:
                self._spark.call(session.stop, name)
                LOG.info("pipeline %s stopped", name)

    def restart(self, name: str) -> None:
        with self._by_name[name.casefold()]:
            self.stop(name)
            self.start(name)

    def reset(self, name: str) -> None:
        """Forgets what a pipeline has done. Its output stays."""
        with self._by_name[name.casefold()]:
            if name.casefold() in self.running():
                hint = f"stop it first: `STOP PIPELINE {quoted(name)}`"
                raise fail(Code.OBJECT_IN_USE, f"pipeline `{name}` is running", hint=hint)
            self._state.reset(name)
            self._problems.pop(name.casefold(), None)

    # --- what is ----------------------------------------------------------------------------------

    def running(self) -> set[str]:
        """What runs, or is about to: nobody may change what it is made of."""
        session = self._spark.now
        found = set() if session is None else {name.casefold() for name in session.running}
        return found | {name for name, starts in list(self._starting.items()) if starts}

    def run_of(self, name: str) -> PipelineRun | None:
        """The last run of a pipeline in this process."""
        wanted = name.casefold()
        return next((run for run in reversed(self._runs()) if run.name.casefold() == wanted), None)

    def active_runs(self) -> list[PipelineRun]:
        return [run for run in self._runs() if run.status == "running"]

    def _runs(self) -> list[PipelineRun]:
        session = self._spark.now
        return [] if session is None else [p for run in session.runs for p in run.pipelines]

    def problem_of(self, name: str) -> NarrowsError | None:
        """Why a pipeline that shall run was not started."""
        return self._problems.get(name.casefold())

    def is_starting(self, name: str) -> bool:
        return self._starting.get(name.casefold(), 0) > 0
