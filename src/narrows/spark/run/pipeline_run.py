"""One pipeline that was started: how it is going, and what is done when it ends."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from narrows.explain.plan import Plan
from narrows.spark.run.late_rows import LateRows
from narrows.spark.shared.query import SharedQuery
from narrows.spark.streaming.failures import Attempts, reason_of
from narrows.spark.streaming.feed import FedQuery, Query
from narrows.spark.streaming.running import Running
from narrows.worker.count_files import fold_counts, total_counts
from narrows.worker.counts import ReadCounts

_FOLD_SECONDS = 1.0
_LONG_TRACE = 1 << 20
"""Bytes after which a file of failures is put aside, in place of the one before."""
RUNNING, DONE, FAILED, STOPPED = "running", "done", "failed", "stopped"


@dataclass
class PipelineRun:
    name: str
    plan: Plan
    query: Running
    sources: Sequence[tuple[str, Path]]
    """Its sources, and the folders where their readers leave counts."""
    trace: Path
    """Where the whole story of a failure is written."""
    then: Callable[[Query], Query | None] | None = None
    """What comes after the query when it has ended well: at the end of the input windows close."""
    restart: Callable[[], Query] | None = None
    """Starts the query again, from its checkpoint."""
    attempts: Attempts = field(default_factory=Attempts)
    before: Mapping[str, ReadCounts] = field(default_factory=dict)
    """What had been read of each source in earlier runs."""
    started: float = field(default_factory=time.monotonic)
    ended: float | None = None

    _status: str = RUNNING
    _stopping: bool = False
    _again_at: float | None = None
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _over: threading.Event = field(default_factory=threading.Event)
    _late: LateRows = field(default_factory=LateRows)
    _folded: float = 0.0

    @property
    def status(self) -> str:
        return self._status

    @property
    def error(self) -> str | None:
        """Why it failed, in one line."""
        failure = self.query.exception() if self._status == FAILED else None
        return None if failure is None else reason_of(failure)

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

    def lag(self) -> Mapping[str, Mapping[str, Any]]:
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

    def stop(self) -> None:
        """Ends it; what it has done stays done."""
        with self._lock:
            self.then = None
            self._stopping = self._status == RUNNING
        if self.query.isActive:
            self.query.stop()
        self.tend()

    def await_end(self, seconds: float | None) -> bool:
        return self._over.wait(seconds)

    # --- for whoever looks after it ---------------------------------------------------------------

    def tend(self) -> bool:
        """Does what is to be done next; false when it has ended."""
        with self._lock:
            if self._status != RUNNING:
                return False
            self._fold()
            if self.query.isActive:
                return True
            failure = self.query.exception()
            if self._stopping:
                return self._end(STOPPED)
            if failure is not None:
                return self._tries_again(failure) or self._end(FAILED, failure)
            return self._continues() or self._end(DONE)

    def _fold(self) -> None:
        """Keeps what was counted from growing."""
        if time.monotonic() - self._folded > _FOLD_SECONDS:
            self._folded = time.monotonic()
            for _, folder in self.sources:
                fold_counts(folder)

    def _tries_again(self, failure: BaseException) -> bool:
        if self.restart is None:
            return False
        if self._again_at is None:
            pause = self.attempts.pause_after(failure)
            if pause is None:
                return False
            self._again_at = time.monotonic() + pause
        if time.monotonic() >= self._again_at:
            self._again_at = None
            self.attempts.begin()
            self.query.stop()  # whoever feeds it must have ended before another begins
            self.query = self.restart()
        return True

    def _continues(self) -> bool:
        self._late.look(self.query)
        start, self.then = self.then, None
        if start is None:
            return False
        assert not isinstance(self.query, SharedQuery), "it goes on by itself"
        following = start(self.query)  # type: ignore[arg-type]
        if following is None:
            return False
        self.query = following
        return True

    def fail(self, error: BaseException) -> None:
        """Something went wrong while looking after it."""
        with self._lock:
            if self._status == RUNNING:
                self.query = Failed(self.query, error)
                self._end(FAILED, error)

    def _end(self, status: str, failure: BaseException | None = None) -> bool:
        self._late.look(self.query)
        self._status = status
        self.ended = time.monotonic()
        if failure is not None:
            self._write_trace(failure)
        self._over.set()
        return False

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


class Failed:
    """A query that could not go on, for a reason that it does not know itself."""

    def __init__(self, query: Running, error: BaseException) -> None:
        self.isActive = False
        self.recentProgress = query.recentProgress
        self._error = error

    def exception(self) -> BaseException | None:
        return self._error

    def awaitTermination(self, timeout: int | None = None) -> bool | None:  # noqa: N802
        return True

    def stop(self) -> None:
        pass
