"""Members of a group come and go while a job runs; no Spark does."""

from __future__ import annotations

import json
import pickle
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from narrows.connectors.target import WriteSpec
from narrows.demand import ALL
from narrows.projection.columns import DecodeProjection
from narrows.shared.log import EMPTY, SharedEntry, SharedLog
from narrows.spark.shared import group, lane
from narrows.spark.shared.group import Group
from narrows.spark.shared.group_member import Member
from narrows.sql.parser.types import read_schema
from narrows.worker.read_spec import ReadSpec
from narrows.worker.write import Receipts, receipts_to_text

PATIENCE = 120.0


class FakeJob:
    """A data frame whose job ends when the test says so."""

    def __init__(self, member: str) -> None:
        self.member = member
        self.begun, self.may_end = threading.Event(), threading.Event()
        self.ended = threading.Event()

    def select(self, columns: str) -> FakeJob:
        return self

    def collect(self) -> list[dict[str, Any]]:
        self.begun.set()
        assert self.may_end.wait(PATIENCE)
        self.ended.set()
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
    running = bench.group.start(members[0], None)
    assert jobs[0].begun.wait(PATIENCE)
    for member in members[1:]:
        bench.group.add(member)
    assert jobs[8].begun.wait(PATIENCE)
    assert not any(job.begun.is_set() for job in jobs[1:8])
    jobs[8].may_end.set()
    _until(lambda: members[8].position == 0)
    for job in jobs[:8]:
        job.may_end.set()
    running.stop()
    for member in members[1:]:
        bench.group.remove(member)


def test_who_comes_has_its_first_rows_before_the_others_are_done(tmp_path: Path) -> None:
    bench, first, second = Bench(tmp_path), FakeJob("p"), FakeJob("q")
    running, member = bench.group.start(bench.member(first), None), bench.member(second)
    assert first.begun.wait(PATIENCE)
    following = bench.group.start(member, None)
    assert second.begun.wait(PATIENCE)
    assert bench.group.is_alone(member)
    second.may_end.set()
    _until(lambda: member.position == 0)
    _until(lambda: not bench.group.is_alone(member))
    first.may_end.set()
    running.stop()
    following.stop()


def test_few_begin_alone_however_many_come_at_once(tmp_path: Path) -> None:
    bench, jobs = Bench(tmp_path), [FakeJob(f"p{number}") for number in range(6)]
    members = [bench.member(job) for job in jobs]
    running = [bench.group.start(member, None) for member in members]
    alone = [bench.group.is_alone(member) for member in members]
    assert alone == [False, True, True, False, False, False]
    for job in jobs:
        job.may_end.set()
    for query in running:
        query.stop()


@pytest.mark.parametrize("alone", [False, True])
def test_who_begins_again_waits_for_the_job_in_its_name(tmp_path: Path, *, alone: bool) -> None:
    """Even where it would begin at once: in a lane of its own."""
    bench, other, first, second = Bench(tmp_path), FakeJob("o"), FakeJob("p"), FakeJob("p")
    under_way: list[bool] = []
    collect = second.collect
    second.collect = lambda: under_way.append(not first.ended.is_set()) or collect()  # type: ignore
    running = [bench.group.start(bench.member(other), None)] if alone else []
    stopped = bench.member(first)
    running += [bench.group.start(stopped, None)]
    assert first.begun.wait(PATIENCE)
    assert bench.group.is_alone(stopped) == alone
    running[-1].stop()
    again = bench.member(second)
    running[-1] = bench.group.start(again, None)
    for job in (other, second):
        job.may_end.set()
    if alone:
        _until(lambda: bench.advanced != [])  # the others go on meanwhile
    first.may_end.set()
    _until(lambda: again.position == 0)
    assert under_way[0] is False
    for query in running:
        query.stop()


class FakeTasks:
    """A task that lasts, and that answers when the test says so."""

    def __init__(self, *given: object) -> None:
        self.begun, self.may_end = threading.Event(), threading.Event()

    def __len__(self) -> int:
        return 1

    def do(self, messages: list[bytes]) -> list[bytes]:
        self.begun.set()
        assert self.may_end.wait(PATIENCE)
        names = [copies.value.name for copies in pickle.loads(messages[0])]
        said = {"part": 0, "written": receipts_to_text(Receipts(5, [])), "seconds": 0.1}
        done = json.dumps([{"member": name, **said} for name in names])
        return [json.dumps({"done": done}).encode()]

    def stop(self) -> None:
        pass


@pytest.mark.parametrize("was_quick", [False, True])
def test_who_begins_again_as_another_kind_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, was_quick: bool
) -> None:
    """It waits for the job in its name, in a lane of the other kind, and then goes to its own."""
    tasks = FakeTasks()
    monkeypatch.setattr(group, "LastingTasks", lambda *given: tasks)
    bench, job = Bench(tmp_path), FakeJob("p")
    spec = ReadSpec("s", "file", "json", DecodeProjection(read_schema("a INT"), ALL), names=())
    file = tmp_path / "p.json"
    quick = Member("p", WriteSpec(()), spec, file, EMPTY, is_quick=True, is_planned_once=True)
    computed = bench.member(job)
    before, after = (quick, computed) if was_quick else (computed, quick)
    first, second = (tasks, job) if was_quick else (job, tasks)
    monkeypatch.setattr(lane, "copied", lambda *given, **how: job)
    running = bench.group.start(before, None)
    assert first.begun.wait(PATIENCE)
    running.stop()
    following = bench.group.start(after, None)
    for each in (first, second, job):
        each.may_end.set()
    _until(lambda: after.position == 0)
    assert after.published.rows == 3
    _until(
        lambda: [each.is_quick for each in bench.group._lanes if each.has(after)] == [not was_quick]
    )
    following.stop()


def _fails(job: FakeJob) -> list[dict[str, Any]]:
    job.begun.set()
    assert job.may_end.wait(PATIENCE)
    raise RuntimeError("what it read is gone")
