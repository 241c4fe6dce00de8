"""A job for each entry: what is asked of Spark, and how it is stopped."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, cast

import pytest
from pyspark.sql import DataFrame

from narrows.errors import InternalError
from narrows.spark.entries.entry_tasks import EntryJob, PlannedFor, WritingJobs
from narrows.worker.write import Receipts, receipts_to_text
from support.waiting import DEADLINE


class FakeSpark:
    """A session whose jobs are functions."""

    def __init__(self) -> None:
        self.conf = self
        self.getAll = {"spark.sql.ansi.enabled": "false", "spark.master": "local"}
        self.settings: dict[str, str] = {}
        self.made: list[int] = []
        self.interrupts = 0
        self.interrupted = threading.Event()

    def newSession(self) -> FakeSpark:  # noqa: N802
        return self

    def get(self, key: str, default: str | None) -> str | None:
        return self.settings.get(key, default)

    def set(self, key: str, value: str) -> None:
        self.settings[key] = value

    def isModifiable(self, key: str) -> bool:  # noqa: N802
        return key != "spark.master"

    def interruptAll(self) -> None:  # noqa: N802
        """The first time it comes too soon: the job is not known yet."""
        self.interrupts += 1
        if self.interrupts > 1:
            self.interrupted.set()

    @property
    def entry(self) -> int:
        return int(self.settings["spark.narrows.entry"])

    def jobs(
        self, run: Callable[[int], list[dict[str, Any]]], planned_for: PlannedFor = lambda _: 0
    ) -> WritingJobs:
        class Frame:
            def __init__(self, tasks: int) -> None:
                self._tasks = tasks

            def collect(self) -> list[dict[str, Any]]:
                return run(self._tasks)

        def make(session: object, tasks: int, planned_for: object) -> Any:
            self.made.append(tasks)
            return EntryJob(cast("DataFrame", Frame(tasks)))

        given: Any = self
        return WritingJobs(given, make, 4, planned_for)


def _told(batch: int, tasks: int) -> list[dict[str, Any]]:
    return [{"written": receipts_to_text(Receipts(n, [])), "batch": batch} for n in range(tasks)]


def test_a_job_is_made_once_for_each_number_of_tasks() -> None:
    spark = FakeSpark()
    jobs = spark.jobs(lambda tasks: _told(spark.entry, tasks))
    assert len(jobs) == 4
    for number, tasks in enumerate([1, 3, 1, 3, 2]):
        assert [each.rows for each in jobs.copy(number, None, tasks)] == list(range(tasks))
    assert spark.made == [1, 3, 2]
    assert spark.settings == {"spark.sql.ansi.enabled": "false", "spark.narrows.entry": "4"}


def test_some_are_made_anew_for_each_entry() -> None:
    spark = FakeSpark()
    jobs = spark.jobs(lambda tasks: _told(spark.entry, tasks), lambda _: None)
    jobs.copy(0, None, 1)
    jobs.copy(1, None, 1)
    assert spark.made == [1, 1, 1], "the first one is to see whether Spark will take it"


def test_a_job_is_made_anew_when_it_was_planned_for_something_else() -> None:
    spark, tables = FakeSpark(), ["as it is"]
    jobs = spark.jobs(lambda tasks: _told(spark.entry, tasks), lambda _: tables[0])
    jobs.copy(0, None, 1)
    jobs.copy(1, None, 1)
    tables[0] = "written anew"
    jobs.copy(2, None, 1)
    jobs.copy(3, None, 1)
    assert spark.made == [1, 1]


def test_what_is_written_of_another_entry_is_not_published() -> None:
    spark = FakeSpark()
    jobs = spark.jobs(lambda tasks: _told(spark.entry - 1, tasks))
    with pytest.raises(InternalError, match="tasks of batch 7"):
        jobs.copy(7, None, 2)


def test_a_job_is_ended_although_it_was_only_about_to_begin() -> None:
    spark, begun = FakeSpark(), threading.Event()

    def run(tasks: int) -> list[dict[str, Any]]:
        begun.set()
        assert spark.interrupted.wait(DEADLINE)
        raise RuntimeError("cancelled")

    jobs = spark.jobs(run)
    raised: list[BaseException] = []

    def copy() -> None:
        try:
            jobs.copy(0, None, 1)
        except RuntimeError as error:
            raised.append(error)

    thread = threading.Thread(target=copy)
    thread.start()
    assert begun.wait(DEADLINE)
    jobs.stop()
    thread.join(DEADLINE)
    assert [str(error) for error in raised] == ["cancelled"]
    with pytest.raises(InterruptedError):
        jobs.copy(0, None, 1)
