"""Who reads and writes the entries of a pipeline that has no streaming query: tasks that last, or a
job of Spark's for each entry.

    LastingEntryTasks    are there already: milliseconds, and a core for each as long as they last
    EntryJobs            tens of milliseconds, and no core while there is nothing to read
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from narrows.connectors.entry_log import Entry
from narrows.spark.read.entry_source import entry_to_read, set_entry
from narrows.spark.sql.own_session import session_like
from narrows.spark.streaming.lasting import LastingTasks
from narrows.spark.write.sink import WRITTEN_SCHEMA, tell, told_receipts
from narrows.worker.carried import Carried
from narrows.worker.lasting import EntryWork, message_of, receipts_of
from narrows.worker.write import Receipts

_LOOKS_AGAIN = 0.1
"""Seconds after which a job that was to end is looked at again: one that was just about to begin
has not been ended."""


class EntryTasks(Protocol):
    """Those that read and write. One thread has them do something; any may stop them."""

    def __len__(self) -> int:
        """How many may have a share of an entry."""

    def copy(self, number: int, entry: Entry, tasks: int) -> Sequence[Receipts]:
        """Has so many of them read and write an entry; what each of them wrote, in their order."""

    def check(self) -> None:
        """Raises what has ended them, if something has."""

    def stop(self) -> None:
        """Ends them; what they are doing is given up."""


class LastingEntryTasks(LastingTasks):
    def __init__(self, spark: SparkSession, name: str, count: int, work: EntryWork) -> None:
        super().__init__(spark, f"pipeline `{name}`", count, work)

    def copy(self, number: int, entry: Entry, tasks: int) -> Sequence[Receipts]:
        messages = [message_of(entry, number, task, tasks) for task in range(tasks)]
        return [receipts_of(answer) for answer in self.do(messages)]


MakeJob = Callable[[SparkSession, int], DataFrame]
"""What so many tasks write of the entry that is set when the frame is run (`read/entry_source.py`):
a row for each. It is to be run in this session."""


class EntryJobs:
    def __init__(
        self, spark: SparkSession, make: MakeJob, most: int, *, planned_once: bool = True
    ) -> None:
        """Of so many tasks at most. Some jobs must be planned anew for each entry."""
        # A session of its own: for the setting, and because only so can another thread end its
        # jobs (`spark.run.apart`).
        self._spark = session_like(spark)
        self._make, self._most = make, most
        self._planned_once = planned_once
        self._jobs = {1: make(self._spark, 1)}  # what Spark will not take is said now
        """By how many tasks they have."""
        self._stopped = False
        self._idle = threading.Event()
        self._idle.set()

    def __len__(self) -> int:
        return self._most

    def copy(self, number: int, entry: Entry, tasks: int) -> Sequence[Receipts]:
        self._idle.clear()
        try:
            if self._stopped:
                raise InterruptedError("it is to end")
            set_entry(self._spark, number)
            if tasks not in self._jobs or not self._planned_once:
                self._jobs[tasks] = self._make(self._spark, tasks)
            return told_receipts(self._jobs[tasks], number)
        finally:
            self._idle.set()

    def check(self) -> None:
        """Spark that is gone has no answer, and an error instead."""
        _ = self._spark.version

    def stop(self) -> None:
        self._stopped = True
        while not self._idle.is_set():
            with contextlib.suppress(Exception):  # then there is no job either
                self._spark.interruptAll()
            self._idle.wait(_LOOKS_AGAIN)


def copying(work: EntryWork) -> MakeJob:
    """Jobs whose readers write: no row crosses the JVM."""
    carried = Carried(work)

    def make(spark: SparkSession, tasks: int) -> DataFrame:
        def copy(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            does = carried.value
            number, entry = entry_to_read(does.read)
            for batch in numbers:
                for task in batch.column(0).to_pylist():
                    yield tell(does.copy(number, entry, task, tasks), number)

        return spark.range(0, tasks, 1, tasks).mapInArrow(copy, WRITTEN_SCHEMA)

    return make
