"""Who reads and writes the entries of a pipeline that has no streaming query: tasks that last, or a
job of Spark's for each entry.

    LastingEntryTasks    are there already: milliseconds, and a core for each as long as they last
    WritingJobs          tens of milliseconds, and no core while there is nothing to read
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, Protocol

import pyarrow as pa
from pyspark.sql import DataFrame, Row, SparkSession

from narrows.connectors.base import SourceUnavailableError
from narrows.connectors.entry_log import Entry
from narrows.errors import Code, NarrowsError
from narrows.spark.entries.lasting import LastingTasks
from narrows.spark.read.entry_source import entry_to_read, set_entry, set_entry_of_each
from narrows.spark.sql.own_session import OwnSession
from narrows.spark.write.sink import WRITTEN_SCHEMA, receipts_told, tell
from narrows.worker.carried import Carried
from narrows.worker.lasting import EntryWork, message_of, receipts_of
from narrows.worker.write import Receipts


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


class EntryJob(NamedTuple):
    """A job for the entry that is set when the frame is run (`read/entry_source.py`)."""

    told: DataFrame
    """A row for each task."""
    again: bool = True
    """May it be run for other entries, too?"""


MakeJob = Callable[[SparkSession, int, Hashable | None], EntryJob]
"""A job of so many tasks, for this session, and what it is planned for (`PlannedFor`)."""


PlannedFor = Callable[[int], Hashable | None]
"""What a job of so many tasks would be planned for now: one that was is run again. None: a job is
good for one entry."""


def _always(tasks: int) -> Hashable | None:
    return ()


@contextmanager
def waiting_for_tables() -> Iterator[None]:
    """While a job is planned: a table that is not there somebody writes anew, most likely, and the
    entry waits for it."""
    try:
        yield
    except NarrowsError as error:
        if any(problem.code is not Code.UNREADABLE_FILE for problem in error.problems):
            raise
        raise SourceUnavailableError(error.problems[0].message) from error


class EntryJobs:
    """A job for each entry, whatever its tasks do."""

    def __init__(
        self, own: OwnSession, make: MakeJob, most: int, planned_for: PlannedFor = _always
    ) -> None:
        """Of so many tasks at most."""
        self._spark = own.spark
        self._make, self._most = make, most
        self._planned_for = planned_for
        self._jobs: dict[int, tuple[Hashable | None, EntryJob]] = {}
        """By how many tasks they have, with what they were planned for."""
        self._job(1)  # what Spark will not take is said now

    def __len__(self) -> int:
        return self._most

    def run(self, number: int, tasks: int) -> list[Row]:
        """What the tasks of an entry's job tell."""
        set_entry(self._spark, number)
        with waiting_for_tables():
            job = self._job(tasks)
        return job.told.collect()

    def _job(self, tasks: int) -> EntryJob:
        now = self._planned_for(tasks)  # before it is made: what changes meanwhile is seen later
        planned_for, job = self._jobs.get(tasks, (None, None))
        if job is None or not job.again or now is None or now != planned_for:
            job = self._make(self._spark, tasks, now)
            self._jobs[tasks] = now, job
        return job


class WritingJobs:
    """Jobs whose tasks write."""

    def __init__(
        self,
        spark: SparkSession,
        make: MakeJob,
        most: int,
        planned_for: PlannedFor = _always,
        read_with: Callable[[Entry], Sequence[int | None]] = lambda entry: (),
    ) -> None:
        """`read_with` says which entry of each of several sources an entry stands for."""
        self._own = OwnSession(spark)
        self._read_with = read_with
        self._jobs = EntryJobs(self._own, make, most, planned_for)

    def __len__(self) -> int:
        return len(self._jobs)

    def copy(self, number: int, entry: Entry, tasks: int) -> Sequence[Receipts]:
        with self._own.running():
            set_entry_of_each(self._own.spark, self._read_with(entry))
            return receipts_told(self._jobs.run(number, tasks), number)

    def check(self) -> None:
        self._own.check()

    def stop(self) -> None:
        self._own.stop()


def copying(work: EntryWork) -> MakeJob:
    """Jobs whose readers write: no row crosses the JVM."""
    carried = Carried(work)

    def make(spark: SparkSession, tasks: int, planned_for: Hashable | None) -> EntryJob:
        def copy(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            does = carried.value
            number, entry = entry_to_read(does.read)
            for batch in numbers:
                for task in batch.column(0).to_pylist():
                    yield tell(does.copy(number, entry, task, tasks), number)

        return EntryJob(spark.range(0, tasks, 1, tasks).mapInArrow(copy, WRITTEN_SCHEMA))

    return make
