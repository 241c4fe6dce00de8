"""The ingest of a shared stream: decodes for everybody, entry by entry.

It needs no streaming query. What it has done is in two logs: what was taken (`EntryLog`), and what
of that is decoded (`SharedLog`), under the same number. So an entry is a batch job, and one whose
job a crash cut short is decoded again, while one that is published is left alone.

    new payloads ─► an entry, journaled ─► the union of now ─► a job: segments ─► published

For low latency there is no job: a task that lasts is told of the entry, unless there is so much to
decode that several tasks are done sooner.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from narrows.connectors.base import Available, Share, SourceConnector
from narrows.connectors.entry_log import Entry, EntryLog
from narrows.connectors.opening import open_source
from narrows.shared.ingest_task import (
    IngestUnion,
    IngestWork,
    entry_of,
    ingest_message,
    ingest_share,
)
from narrows.shared.log import EMPTY, SharedLog
from narrows.shared.registry import ConsumerRegistry
from narrows.spark.entries.lasting import LastingTasks
from narrows.spark.running.patience import Patience
from narrows.spark.running.pauses import Pauses
from narrows.worker.carried import Carried
from narrows.worker.lasting import done_of
from narrows.worker.read_spec import ReadSpec

_MESSAGE = "message"
_LOOK_SECONDS = 0.05
_ALONE_BYTES = 16 << 20
"""So many bytes of payload the task that lasts decodes by itself; more are worth a job."""
_FOLDS_EVERY = 1.0
"""Seconds after which less is kept of what was taken, for low latency makes entries by the
hundred."""
_PATIENCE_SECONDS = 60.0


@dataclass
class Goal:
    """What was available at a moment, for whoever wants to read that and no more."""

    available: Available
    upto: int | None = None
    """The entry with which all of it was taken; None while some is not."""


class Ingest:
    """Decodes as long as somebody wants more."""

    recentProgress = ()  # noqa: N815 (no query of Spark's)
    batches = ()

    def __init__(
        self,
        spark: SparkSession,
        spec: ReadSpec,
        folder: Path,
        on_end: Callable[[], None] = lambda: None,
        on_entry: Callable[[], None] = lambda: None,
    ) -> None:
        """`on_end` is called when it has come to its end, `on_entry` when one is published."""
        assert spec.entry_log is not None
        self._on_end, self._on_entry = on_end, on_entry
        self._patience = Patience(spec.source)
        # A session of its own: only so can another thread end its job (`spark.run.apart`).
        self._spark = spark.newSession()
        self._spec = spec
        self._static = Carried((spec, str(folder)))
        self._shared = SharedLog(folder)
        self._registry = ConsumerRegistry(folder)
        self._log = EntryLog(spec.entry_log)
        self._source: SourceConnector = open_source(spec.connector, spec.declared)
        self._goals: list[Goal] = []
        self._every: float | None = None
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None
        self._quick = False
        self._tasks: LastingTasks | None = None
        self._tasks_lock = threading.Lock()
        self._pauses = Pauses()
        """For low latency."""
        self._folded = 0.0

    # --- for the stream ---------------------------------------------------------------------------

    @property
    def isActive(self) -> bool:  # noqa: N802
        return self._thread is not None and self._thread.is_alive()

    def exception(self) -> BaseException | None:
        return self._failure

    @property
    def problem(self) -> str | None:
        """Why its source cannot be asked, or nothing new comes, at the moment; else None."""
        return self._patience.problem or self._source.problem

    @property
    def has_goals(self) -> bool:
        """Is something to be decoded that somebody waits for?"""
        return bool(self._goals)

    def reserve(self) -> None:
        """Sees to it that its source keeps what is there."""
        self._source.reserve()

    def start(self, every: float | None) -> None:
        """Decodes what comes, looking every so many seconds; None: only what goals ask for."""
        if self._log.last() < self._shared.last():
            raise self._log.is_behind(self._shared.last())
        self._every = every
        self._failure = None
        self._stopped.clear()
        self.quicken(quick=self._quick, now=True)
        self._thread = threading.Thread(
            target=self._run, name=f"ingest of {self._spec.source}", daemon=True
        )
        self._thread.start()

    def quicken(self, *, quick: bool, now: bool = False) -> None:
        """For low latency, from now on or from its start on, or no longer. Says so where there is
        no core for it."""
        with self._tasks_lock:
            if quick and self._tasks is None and (now or self.isActive):
                name = f"shared stream `{self._spec.source}`"
                work = IngestWork(*self._static.value)
                self._tasks = LastingTasks(self._spark, name, 1, work)
            self._quick = quick

    def poll(self) -> None:
        """Its thread takes the union of now whenever it looks for something new."""

    def add_goal(self) -> Goal:
        """Sees to it that what is there now is decoded."""
        goal = Goal(self._source.available())
        self._goals.append(goal)
        return goal

    def reached(self, goal: Goal) -> bool:
        return goal.upto is not None and self._shared.last() >= goal.upto

    def stop(self) -> None:
        """Ends it; a job that is under way is given up."""
        self._stopped.set()
        if self._thread is not None:
            self._spark.interruptAll()
            self._drop_tasks()
            self._thread.join(_PATIENCE_SECONDS)
            self._thread = None

    # --- its thread -------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            if self._every is not None:
                self._source.start()
            self._tell_again()
            while not self._stopped.is_set():
                began = time.monotonic()
                self._drop_tasks(always=False)
                # Also when there is nothing to read: whoever has just registered waits for this.
                self._registry.apply()
                number = self._patience.ask(self._next)
                if number is not None:
                    self._decode(number)
                    self._pauses.found()
                elif self._every is None and not self._goals:
                    return
                else:
                    self._stopped.wait(self._pause(began))
        except BaseException as error:
            if not self._stopped.is_set():
                self._failure = error
        finally:
            self._source.stop()
            self._drop_tasks()
            self._on_end()

    def _tell_again(self) -> None:
        """What an ingest before this one published and may not have come to tell the source."""
        if self._shared.last() != EMPTY:
            self._tell(self._log.entry(self._shared.last()))

    def _tell(self, entry: Entry) -> None:
        self._patience.tell(lambda: self._source.committed(entry))

    def _drop_tasks(self, *, always: bool = True) -> None:
        """Ends tasks that last: for they are no longer wanted, or always."""
        with self._tasks_lock:
            if self._quick and not always:
                return
            tasks, self._tasks = self._tasks, None
        if tasks is not None:
            tasks.stop()

    def _pause(self, began: float) -> float:
        tasks = self._tasks
        if tasks is not None:
            tasks.check()
            return self._pauses.after(time.monotonic() - began)
        left = (self._every or 0.0) - (time.monotonic() - began)
        return max(_LOOK_SECONDS, left)

    def _next(self) -> int | None:
        """The entry to decode next: one that a crash left, or a new one; None if nothing is new."""
        if self._log.last() > self._shared.last():
            return self._shared.last() + 1
        while self._goals:
            goal = self._goals[0]
            entry = self._source.admit(self._log, goal.available)
            if entry is not None:
                return self._log.append(entry)
            goal.upto = self._log.last()
            del self._goals[0]
        if self._every is None:
            return None
        entry = self._source.admit(self._log, self._source.available())
        return None if entry is None else self._log.append(entry)

    def _decode(self, number: int) -> None:
        applied = self._registry.apply(number)
        union = IngestUnion(number, applied.version, applied.demand)
        entry = self._log.entry(number)
        tasks = self._tasks
        if tasks is None or self._source.size(entry) > _ALONE_BYTES:
            messages = self._by_job(union, entry)
        else:
            messages = self._by_tasks(tasks, union, entry)
        if self._stopped.is_set():
            return  # somebody may have taken over: the segments are swept
        self._shared.publish(entry_of(union, messages))
        self._on_entry()
        self._tell(entry)
        if tasks is not None and time.monotonic() - self._folded > _FOLDS_EVERY:
            self._log.fold(number, self._source.folded)
            self._folded = time.monotonic()

    def _by_tasks(self, tasks: LastingTasks, union: IngestUnion, entry: Entry) -> list[str]:
        given = [ingest_message(union, entry)] * len(tasks)  # there is one, as soon as it has begun
        return [done_of(answer) for answer in tasks.do(given)]

    def _by_job(self, union: IngestUnion, entry: Entry) -> list[str]:
        """The same by the tasks of a job, each of which has a share."""
        shares = self._source.split(entry, self._spec.partitions) or [Share([], [])]
        static, dynamic = self._static, Carried((union, shares))

        def decode(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            spec, folder = static.value
            wanted, parts = dynamic.value
            for batch in batches:
                for task in batch.column(0).to_pylist():
                    message = ingest_share(spec, folder, wanted, parts[task])
                    yield pa.RecordBatch.from_arrays([pa.array([message])], names=[_MESSAGE])

        tasks = self._spark.range(0, len(shares), 1, len(shares))
        rows = tasks.mapInArrow(decode, f"{_MESSAGE} STRING").collect()
        return [row[_MESSAGE] for row in rows]
