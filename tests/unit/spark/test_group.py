"""Members of a group come and go while a job runs; no Spark does."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from narrows.connectors.target import WriteSpec
from narrows.demand import ALL
from narrows.shared.log import EMPTY, SharedEntry, SharedLog
from narrows.spark.shared.group import Group
from narrows.spark.shared.group_member import Member
from narrows.worker.write import Receipts, receipts_to_text

PATIENCE = 120.0


class FakeJob:
    """A data frame whose job ends when the test says so."""

    def __init__(self, member: str) -> None:
        self.member = member
        self.begun, self.may_end = threading.Event(), threading.Event()

    def select(self, columns: str) -> FakeJob:
        return self

    def collect(self) -> list[dict[str, Any]]:
        self.begun.set()
        assert self.may_end.wait(PATIENCE)
        written = receipts_to_text(Receipts(3, []))
        return [{"member": self.member, "part": 0, "written": written, "seconds": 0.1}]


class Bench:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = SharedLog(folder)
        self.log.publish(SharedEntry(0, 1, ALL, ()))
        self.advanced: list[dict[str, int]] = []
        self.group = Group(cast("Any", None), self.log, self._advance, parallelism=2)

    def _advance(self, positions: dict[str, int]) -> None:
        self.advanced.append(positions)

    def member(self, job: FakeJob) -> Member:
        result = cast("Any", lambda partitions: job)
        file = self.folder / f"{job.member}.json"
        return Member(job.member, WriteSpec(()), result, file, EMPTY)


def _until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_who_stops_waits_for_no_job_and_nothing_of_it_is_published(tmp_path: Path) -> None:
    bench, first, second = Bench(tmp_path), FakeJob("p"), FakeJob("p")
    stopped = bench.member(first)
    running = bench.group.start(stopped, None)
    assert first.begun.wait(PATIENCE)
    running.stop()  # it would wait for ever for the end of the job
    assert not running.isActive
    assert running.exception() is None

    # It goes on under the same name while the job still runs: with the same entries, once.
    again = bench.member(second)
    following = bench.group.start(again, None)
    first.may_end.set()
    assert second.begun.wait(PATIENCE)
    assert (stopped.position, bench.advanced) == (EMPTY, [{}])
    second.may_end.set()
    _until(lambda: again.position == 0)
    assert [each for each in bench.advanced if each] == [{"p": 0}]
    assert (stopped.published.rows, again.published.rows) == (0, 3)
    following.stop()


def test_a_job_that_fails_does_not_fail_who_began_later_under_the_same_name(tmp_path: Path) -> None:
    bench, first, second = Bench(tmp_path), FakeJob("p"), FakeJob("p")
    first.collect = lambda: _fails(first)  # type: ignore[method-assign]
    running = bench.group.start(bench.member(first), None)
    assert first.begun.wait(PATIENCE)
    running.stop()
    again = bench.member(second)
    following = bench.group.start(again, None)
    first.may_end.set()
    assert second.begun.wait(PATIENCE)
    second.may_end.set()
    _until(lambda: again.position == 0)
    assert following.isActive
    following.stop()


def test_pipelines_that_spark_computes_are_a_few_to_a_lane(tmp_path: Path) -> None:
    """The first job never ends: who comes later, and is too many for its lane, does not wait."""
    bench, jobs = Bench(tmp_path), [FakeJob(f"p{number}") for number in range(9)]
    members = [bench.member(job) for job in jobs]
    running = [bench.group.start(members[0], None)]
    assert jobs[0].begun.wait(PATIENCE)
    running += [bench.group.start(member, None) for member in members[1:]]
    assert jobs[8].begun.wait(PATIENCE)
    assert not any(job.begun.is_set() for job in jobs[1:8])
    jobs[8].may_end.set()
    _until(lambda: members[8].position == 0)

    # One that begins again waits for the job that is still under way in its name.
    running[0].stop()
    again = FakeJob("p0")
    following = bench.group.start(bench.member(again), None)
    assert not again.begun.is_set()
    jobs[0].may_end.set()
    for query in (*running[1:], following):
        query.stop()
    again.may_end.set()
    for job in jobs[1:8]:
        job.may_end.set()


def _fails(job: FakeJob) -> list[dict[str, Any]]:
    job.begun.set()
    assert job.may_end.wait(PATIENCE)
    raise RuntimeError("what it read is gone")
