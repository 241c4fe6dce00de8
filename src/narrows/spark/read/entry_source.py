"""A stream in a job that is run for one entry: a map over a row for each task.

Analyzing and planning such a job costs as much as running it. So it is made once, and the entry is
no part of it: its number is a setting of the session, which Spark hands to the tasks of each job.
Hence a task knows its entry by the job that it is part of, and one that has outlived its job cannot
take a later entry for its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession

from narrows.connectors.entry_log import Entry, EntryLog
from narrows.spark.read.shipped import shipped_schema
from narrows.worker.carried import Carried
from narrows.worker.read import read_entry
from narrows.worker.read_spec import ReadSpec
from narrows.worker.table_keys import read_keys

_ENTRY = "spark.narrows.entry"
_NOTHING = "none"
_READER = "read_entry_rows"
"""What Spark calls the function by which an entry is read."""
Batches = Iterator[pa.RecordBatch]


def set_entry(spark: SparkSession, number: int) -> None:
    """Says which entry the next jobs of a session read."""
    spark.conf.set(_ENTRY, str(number))


def set_entry_of_each(spark: SparkSession, numbers: Sequence[int | None]) -> None:
    """The same for each of several streams, where one that has nothing new has none."""
    for place, number in enumerate(numbers):
        spark.conf.set(f"{_ENTRY}.{place}", _NOTHING if number is None else str(number))


def entry_number() -> int | None:
    """The entry that this task's job is for; None in any other job."""
    return _number(_ENTRY)


def _number(setting: str) -> int | None:
    context = TaskContext.get()
    number = None if context is None else context.getLocalProperty(setting)
    return None if number in (None, _NOTHING) else int(number)


def has_entry(spec: ReadSpec) -> bool:
    """Does the job read anything of this stream?"""
    return spec.place is None or _number(f"{_ENTRY}.{spec.place}") is not None


def entry_to_read(spec: ReadSpec) -> tuple[int, Entry]:
    """The same, with what it says. It may be long, so whoever reads it finds it in the log."""
    number = _number(_ENTRY if spec.place is None else f"{_ENTRY}.{spec.place}")
    assert number is not None
    assert spec.entry_log is not None
    return number, EntryLog(spec.entry_log).entry(number)


def is_read_in_place(physical_plan: str, reader: str = _READER) -> bool:
    """Does nothing stand above the rows of the entry, in the words of Spark, that it would make
    once and keep? False where that is not to be seen. `reader` is the function that reads them."""
    above: list[tuple[int, str]] = []
    seen = False
    for line in physical_plan.splitlines():
        text = line.lstrip(" :+-|")
        depth = len(line) - len(text)
        above = [each for each in above if each[0] < depth]
        if reader in text:
            seen = True
            if any("Exchange" in other for _, other in above):
                return False
        above.append((depth, text))
    return seen


def no_rows(spark: SparkSession, spec: ReadSpec, tasks: int) -> DataFrame:
    """The rows of no entry, read by so many tasks."""

    def read_entry_rows(numbers: Batches) -> Batches:
        for _ in numbers:  # Spark gives up a worker that has not seen its input end
            pass
        yield from ()

    return spark.range(0, tasks, 1, tasks).mapInArrow(read_entry_rows, shipped_schema(spec))


def entry_rows(spark: SparkSession, spec: ReadSpec, tasks: int) -> DataFrame:
    """The rows of the entry that is set when the frame is run, read by so many tasks."""
    carried = Carried(spec)

    def read_entry_rows(numbers: Batches) -> Batches:
        reads = carried.value
        if not has_entry(reads):
            for _ in numbers:  # Spark gives up a worker that has not seen its input end
                pass
            return
        number, entry = entry_to_read(reads)
        keys = read_keys(reads)
        for batch in numbers:
            for task in batch.column(0).to_pylist():
                yield from read_entry(reads, entry, number, task, tasks, keys)

    return spark.range(0, tasks, 1, tasks).mapInArrow(read_entry_rows, shipped_schema(spec))
