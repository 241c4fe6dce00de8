"""The ingest of a shared stream that is a data frame of the user's.

Spark reads the payloads and keeps how far it has come, so this is a streaming query. A micro-batch
of it is an entry of the shared log, under the same number: one that is run again after a crash
finds its entry there, and does nothing.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.listener import StreamingQueryProgress
from pyspark.sql.streaming.query import StreamingQuery

from narrows.files.names import file_name
from narrows.shared.ingest_task import IngestUnion, entry_of, ingest_rows
from narrows.shared.log import SharedLog
from narrows.shared.registry import ConsumerRegistry
from narrows.spark.read.payload_frame import PayloadFrame, task_of_frame
from narrows.spark.running.running import Batch, batches_of
from narrows.spark.shared.ingest import Goal
from narrows.worker.carried import Carried
from narrows.worker.counts import ReadCounts
from narrows.worker.messages import decode_messages
from narrows.worker.read_spec import ReadSpec

_MESSAGE = "message"
_LOOK_SECONDS = 0.1


class FrameIngest:
    problem = None
    """Spark asks its sources itself, and fails if it cannot."""

    def __init__(self, payloads: PayloadFrame, spec: ReadSpec, folder: Path) -> None:
        self._payloads = payloads
        self._spec = spec
        self._static = Carried((spec, str(folder)))
        self._folder = folder
        self._shared = SharedLog(folder)
        self._registry = ConsumerRegistry(folder)
        self._query: StreamingQuery | None = None
        self._goals: list[Goal] = []
        self._decoding = threading.Lock()
        """Held while an entry is under way, whose union must not change."""

    @property
    def isActive(self) -> bool:  # noqa: N802
        return self._query is not None and self._query.isActive

    @property
    def recentProgress(self) -> Sequence[StreamingQueryProgress]:  # noqa: N802
        return [] if self._query is None else self._query.recentProgress

    @property
    def batches(self) -> Sequence[Batch]:
        return batches_of(self.recentProgress)

    def exception(self) -> BaseException | None:
        return None if self._query is None else self._query.exception()

    @property
    def has_goals(self) -> bool:
        """Is something to be decoded that somebody waits for?"""
        self._goals = [goal for goal in self._goals if goal.upto is None]
        return bool(self._goals)

    def reserve(self) -> None:
        """Spark reads it, and knows what it has not read."""

    def start(self, every: float | None) -> None:
        """Decodes what comes, or (None) what is there."""
        self.poll()
        writer = (
            self._payloads.messages()
            .writeStream.foreachBatch(self._decode)
            .queryName(f"{file_name(self._spec.source)} (ingest)")
            .option("checkpointLocation", str(self._folder / "checkpoint"))
        )
        if every is None:
            self._query = writer.trigger(availableNow=True).start()
        else:
            self._query = writer.trigger(processingTime=f"{every} seconds").start()
        for goal in self._goals:
            self._await(goal, self._query, bounded=every is None)

    def poll(self) -> None:
        """Takes the union of now, for those who have just registered, unless an entry is under way:
        then it is taken with the next."""
        if self._decoding.acquire(blocking=False):
            try:
                self._registry.apply()
            finally:
                self._decoding.release()

    def add_goal(self) -> Goal:
        """What is there now: nobody can tell but Spark, which says when it has read it."""
        goal = Goal(None)
        self._goals.append(goal)  # a query that fails takes it to the one that follows
        if self._query is not None and self._query.isActive:
            self._await(goal, self._query, bounded=False)
        return goal

    def _await(self, goal: Goal, query: StreamingQuery, *, bounded: bool) -> None:
        if bounded:
            self._in_thread(self._await_spark, goal, query.awaitTermination)
        else:
            self._in_thread(self._await_spark, goal, query.processAllAvailable)
            self._in_thread(self._await_batch, goal, query)

    def _in_thread(self, wait: Callable[..., None], *arguments: object) -> None:
        name = f"goal of {self._spec.source}"
        threading.Thread(target=wait, args=arguments, name=name, daemon=True).start()

    def _await_spark(self, goal: Goal, read_all: Callable[[], object]) -> None:
        with contextlib.suppress(PySparkException):  # its failure is told elsewhere
            read_all()
            goal.upto = self._shared.last()

    def _await_batch(self, goal: Goal, query: StreamingQuery) -> None:
        """Waits for a micro-batch that began later, and read all that its sources had by then.

        Spark only tells when there is nothing new at all, and of a busy stream that is never so.
        """
        begun, pause = datetime.now(UTC), threading.Event()
        while goal.upto is None and query.isActive:
            if _has_read_all(query.lastProgress, begun):
                goal.upto = self._shared.last()
            pause.wait(_LOOK_SECONDS)

    def reached(self, goal: Goal) -> bool:
        return goal.upto is not None and self._shared.last() >= goal.upto

    def stop(self) -> None:
        if self._query is not None:
            self._query.stop()
            self._query = None

    def _decode(self, messages: DataFrame, number: int) -> None:
        if not self._shared.has(number):
            with self._decoding:
                self._decode_new(messages, number)

    def _decode_new(self, messages: DataFrame, number: int) -> None:
        applied = self._registry.apply(number)
        union = IngestUnion(number, applied.version, applied.demand)
        static, dynamic = self._static, Carried(union)

        def decode(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            spec, folder = static.value
            task = task_of_frame()

            def rows(read: ReadSpec, counts: ReadCounts) -> Iterator[pa.RecordBatch]:
                return decode_messages(read, batches, task, counts)

            message = ingest_rows(spec, folder, dynamic.value, task, rows)
            yield pa.RecordBatch.from_arrays([pa.array([message])], names=[_MESSAGE])

        rows = messages.mapInArrow(decode, f"{_MESSAGE} STRING").collect()
        self._shared.publish(entry_of(union, [row[_MESSAGE] for row in rows]))


def _has_read_all(progress: StreamingQueryProgress | None, after: datetime) -> bool:
    """Has a micro-batch begun after that moment, and read all that its sources had? Some do not say
    what they have."""
    if progress is None or datetime.fromisoformat(progress.timestamp) <= after:
        return False
    return all(source.endOffset == source.latestOffset for source in progress.sources)
