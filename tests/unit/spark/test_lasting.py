"""Tasks that last, and the pipeline above them, on a Spark that is a few threads."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from narrows.errors import Code, NarrowsError
from narrows.spark.entries import lasting
from narrows.spark.entries.entry_loop import EntryLoop, EntryQuery, WritingSteps
from narrows.spark.entries.entry_tasks import LastingEntryTasks
from narrows.spark.entries.intake import Intake
from narrows.spark.entries.slots import Slots
from narrows.spark.running.pauses import Pauses
from narrows.spark.streaming.handover import begin_position
from narrows.spark.write.sink import RowsWritten
from narrows.worker.lasting import EntryWork
from support.copying import Copying
from support.thread_spark import ThreadSpark
from support.waiting import await_that


@pytest.fixture
def copying(tmp_path: Path) -> Copying:
    return Copying(tmp_path)


def _start(spark: ThreadSpark, copying: Copying, tasks: int = 1, **how: bool) -> EntryQuery:
    read = replace(copying.read, partitions=tasks)
    given: Any = spark
    lasts = LastingEntryTasks(given, "p", tasks, EntryWork(read, copying.write))
    position = begin_position(Intake(read), copying.folder / "checkpoint")
    loop = EntryLoop(Intake(read), position, RowsWritten(), WritingSteps(copying.write, lasts))
    return EntryQuery("p", loop, None if how.get("bounded") else Pauses())


@pytest.fixture
def _no_thread_is_left() -> Iterator[None]:
    yield
    left = [thread.name for thread in threading.enumerate() if thread.name.endswith(" of p")]
    assert left == []


@pytest.mark.usefixtures("_no_thread_is_left")
@pytest.mark.parametrize("tasks", [1, 2])
def test_entries_are_written_as_they_come(copying: Copying, tasks: int) -> None:
    spark = ThreadSpark()
    copying.put(3)
    query = _start(spark, copying, tasks)
    await_that(lambda: copying.found() == [0, 1, 2], "what was there is written")
    copying.put(2, large=True)
    await_that(lambda: copying.found() == [0, 1, 2, 3, 4], "and what comes")
    query.stop()
    assert not query.isActive
    assert query.exception() is None
    copying.put(1)
    query = _start(spark, copying, tasks, bounded=True)
    await_that(lambda: not query.isActive, "it ends by itself")
    assert query.exception() is None
    assert copying.found() == list(range(6))
    assert not spark.interrupted.is_set(), "tasks end when they are told nothing more"


@pytest.mark.usefixtures("_no_thread_is_left")
def test_a_job_that_fails_ends_the_pipeline_and_the_next_goes_on(copying: Copying) -> None:
    spark = ThreadSpark()
    copying.put(1)
    query = _start(spark, copying)
    await_that(lambda: copying.found() == [0], "what was there is written")
    spark.fails.set()
    await_that(lambda: not query.isActive, "it notices")
    assert "worker exited" in str(query.exception())
    query.stop()
    spark.fails.clear()
    copying.put(1)
    query = _start(spark, copying)
    await_that(lambda: copying.found() == [0, 1], "it goes on")
    query.stop()


@pytest.mark.usefixtures("_no_thread_is_left")
def test_spark_that_starts_no_task(copying: Copying, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lasting, "_STARTING_SECONDS", 0.0)
    monkeypatch.setattr(lasting, "_ENDING_SECONDS", 0.1)
    copying.put(1)
    query = _start(ThreadSpark(starts=False), copying)
    await_that(lambda: not query.isActive, "it gives up")
    error = query.exception()
    assert isinstance(error, NarrowsError)
    assert error.problems[0].code is Code.NO_FREE_CORE


def test_cores_are_counted() -> None:
    """One of them is for everything else."""
    spark: Any = ThreadSpark("local[3]")
    first, second = Slots(spark, "p", 1), Slots(spark, "q", 1)
    with pytest.raises(NarrowsError, match="of 3, 2 are occupied so already"):
        Slots(spark, "r", 1)
    first.give_back()
    first.give_back()
    third = Slots(spark, "r", 1)
    with pytest.raises(NarrowsError, match="one must be left"):
        Slots(spark, "p", 1)
    second.give_back()
    third.give_back()
    unknown: Any = ThreadSpark("spark://somewhere:7077")
    Slots(unknown, "p", 100).give_back()
