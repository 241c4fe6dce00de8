"""One pipeline that was started: how it is going, and what is done when it ends.

It runs in phases, one after the other: the query that reads its input; before that, in a bounded
run on shared streams, waiting for what is there to be decoded; after that, the query that closes
its windows. A phase that fails is started again, as far as `Attempts` allow.
"""

from __future__ import annotations

import contextlib
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from narrows.connectors.letters import PublishedLetters
from narrows.explain.plan import Plan
from narrows.spark.entries.entry_loop import EntryQuery
from narrows.spark.entries.intake import Intake
from narrows.spark.keeping.closing import ClosingRun
from narrows.spark.run.late_rows import LateRows
from narrows.spark.running.failures import Attempts, Verdict, reason_of
from narrows.spark.running.running import Failed, Phase, Running
from narrows.spark.running.supervisor import Step
from narrows.spark.shared.group_member import MemberQuery
from narrows.spark.shared.reads import SharedReads
from narrows.spark.streaming.feed import FedQuery
from narrows.spark.write.sink import RowsWritten
from narrows.worker.count_files import fold_counts, total_counts
from narrows.worker.counts import ReadCounts

_FOLD_SECONDS = 1.0
_LONG_TRACE = 1 << 20
"""Bytes after which a file of failures is put aside, in place of the one before."""
RUNNING, DONE, FAILED, STOPPED = "running", "done", "failed", "stopped"


@dataclass(eq=False)
class PipelineRun:
    name: str
    plan: Plan
    phases: Sequence[Phase]
    sources: Sequence[tuple[str, Path]]
    """Its sources, and the folders where their readers leave counts."""
    trace: Path
    """Where the whole story of a failure is written."""
    attempts: Attempts = field(default_factory=Attempts)
    before: Mapping[str, ReadCounts] = field(default_factory=dict)
    """What had been read of each source in earlier runs."""
    reads: SharedReads | None = None
    """What it reads of shared streams, which decode for it until it ends."""
    letters: Mapping[str, PublishedLetters] = field(default_factory=dict)
    """What its sinks have set aside."""
    written: RowsWritten = field(default_factory=RowsWritten)
    started: float = field(default_factory=time.monotonic)
    ended: float | None = None

    _phase: int = 0
    _query: Running | None = None
    _previous: Running | None = None
    _status: str = RUNNING
    _stopping: bool = False
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _over: threading.Event = field(default_factory=threading.Event)
    _late: LateRows = field(default_factory=LateRows)
    _folded: float = 0.0

    def begin(self) -> None:
        """Starts its first phase; what that raises is for whoever wanted it to start."""
        self._query = self.phases[0](None)

    @property
    def query(self) -> Running:
        assert self._query is not None, "it has begun"
        return self._query

    @property
    def status(self) -> str:
        return self._status

    @property
    def error(self) -> str | None:
        """Why it failed, in one line."""
        failure = self.query.exception() if self._status == FAILED else None
        return None if failure is None else reason_of(failure)

    @property
    def problem(self) -> str | None:
        """What it has to wait for, though it runs: a source that cannot be asked at the moment."""
        if self._status != RUNNING:
            return None
        query = self._query
        found = [query.problem] if isinstance(query, FedQuery | EntryQuery) else []
        if self.reads is not None:
            found += self.reads.problems
        return next((problem for problem in found if problem is not None), None)

    @property
    def last_error(self) -> str | None:
        """What is wrong, or was the last time that something was."""
        return self.error or self.problem or self.attempts.last_failure

    def counts(self) -> Mapping[str, ReadCounts]:
        """What has been read of each source."""
        counts: dict[str, ReadCounts] = {}
        for source, folder in self.sources:
            counts.setdefault(source, ReadCounts()).merge(total_counts(folder))
        return counts

    def new_counts(self) -> Mapping[str, ReadCounts]:
        """What has been read of each source in this run."""
        return {
            source: counts.since(self.before.get(source, ReadCounts()))
            for source, counts in self.counts().items()
        }

    def refused(self) -> Mapping[str, int]:
        """Rows that its sinks could not take, of all runs: they are dead letters."""
        return {sink: letters.count() for sink, letters in self.letters.items()}

    def lag(self) -> Mapping[str, Mapping[str, Any]]:
        """How far it is behind each source that it is fed with, as far as that can be told."""
        lags = {intake.source: intake.lag()._asdict() for intake in self._intakes}
        return {s: {k: v for k, v in lag.items() if v is not None} for s, lag in lags.items()}

    @property
    def _intakes(self) -> Sequence[Intake]:
        query = self._query
        return query.intakes if isinstance(query, FedQuery | EntryQuery) else ()

    def shared(self) -> Mapping[str, Mapping[str, Any]]:
        """What is to be said of each shared stream that it reads."""
        return {} if self.reads is None else self.reads.progress()

    @property
    def late_rows(self) -> int:
        """Rows that came too late for their window."""
        return self._late.look(self.query) + self.written.late

    def end_soon(self) -> None:
        """What is being read is the last, where no query of Spark's is in the way."""
        with self._lock:
            if self._status == RUNNING and isinstance(self.query, EntryQuery | MemberQuery):
                self._stopping = True
                self.query.leave_soon()

    def finish(self, deadline: float) -> None:
        """Waits for the end of the micro-batch that runs, or until then."""
        finishing = FedQuery | EntryQuery | MemberQuery | ClosingRun
        if self._status == RUNNING and isinstance(self.query, finishing):
            self.query.finish(deadline)

    def stop(self) -> None:
        """Ends it; what it has done stays done."""
        with self._lock:
            self._stopping = self._status == RUNNING
            query = self.query
        if query.isActive:
            query.stop()
        with self._lock:
            if self._stopping and self._status == RUNNING and not query.isActive:
                self._end(STOPPED)

    def await_end(self, seconds: float | None) -> bool:
        return self._over.wait(seconds)

    # --- for the supervisor -----------------------------------------------------------------------

    @property
    def is_over(self) -> bool:
        return self._status != RUNNING

    def look(self) -> Step | None:
        with self._lock:
            if self._status != RUNNING:
                return None
            self._fold()
            problem = None if self.reads is None else self.reads.failure
            if problem is not None and not self._stopping:
                self.fail(problem)
                return None
            return None if self.query.isActive else self._ended()

    def _ended(self) -> Step | None:
        """What comes after a query that runs no more."""
        failure = None if self._stopping else self.query.exception()
        if self._stopping:
            self._end(STOPPED)
        elif failure is not None:
            match self.attempts.after(failure):
                case Verdict.AGAIN:
                    return self._start_again
                case Verdict.GIVE_UP:
                    self._end(FAILED, failure)
        elif self._phase + 1 < len(self.phases):
            return self._go_on
        else:
            self._end(DONE)
        return None

    def fail(self, error: BaseException) -> None:
        with self._lock:
            if self._status == RUNNING:
                with contextlib.suppress(Exception):  # the first reason is the one to tell
                    self.query.stop()
                self._query = Failed(self.query, error)
                self._end(FAILED, error)

    def _go_on(self) -> None:
        with self._lock:
            if self._stopping:
                return
            self._late.look(self.query)
            self._phase, self._previous = self._phase + 1, self.query
            self._start()

    def _start_again(self) -> None:
        with self._lock:
            if self._stopping:
                return
            self.query.stop()  # whoever feeds it must have ended before another begins
            self._start()

    def _start(self) -> None:
        """Starts the phase that it is in; one that cannot be started has failed."""
        try:
            following = self.phases[self._phase](self._previous)
        except Exception as error:
            self._query = Failed(self.query, error)
            return
        if following is None:
            self._end(DONE)
        else:
            self._query = following

    def _fold(self) -> None:
        """Keeps what was counted from growing."""
        if time.monotonic() - self._folded > _FOLD_SECONDS:
            self._folded = time.monotonic()
            for _, folder in self.sources:
                fold_counts(folder)

    def _end(self, status: str, failure: BaseException | None = None) -> None:
        self._late.look(self.query)
        try:
            if self.reads is not None:
                self.reads.release(failed=failure is not None)
        finally:
            self._status = status
            self.ended = time.monotonic()
            if failure is not None:
                self._write_trace(failure)
            self._over.set()

    def _write_trace(self, failure: BaseException) -> None:
        try:
            self.trace.parent.mkdir(parents=True, exist_ok=True)
            text = "".join(traceback.format_exception(failure))
            if self.trace.exists() and self.trace.stat().st_size > _LONG_TRACE:
                self.trace.replace(self.trace.with_suffix(".old.log"))
            at = time.strftime("%Y-%m-%d %H:%M:%S")
            with self.trace.open("a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(f"{at} pipeline {self.name!r} failed\n{text}\n")
        except OSError:
            pass  # a full disk, maybe: the reason is told all the same
