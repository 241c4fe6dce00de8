"""A shared stream with pipelines of low latency, on a Spark that is a few threads: they come and
go, and tasks die."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from narrows.connectors.entry_log import Entry
from narrows.connectors.target import WriteSpec
from narrows.demand import ALL, NOTHING
from narrows.errors import NarrowsError
from narrows.projection.columns import DecodeProjection
from narrows.shared.ingest_task import IngestUnion
from narrows.shared.log import SharedLog
from narrows.shared.registry import ConsumerRegistry
from narrows.shared.source import CONSUMER, FOLDER
from narrows.spark.shared import ingest
from narrows.spark.shared.group import Group
from narrows.spark.shared.group_member import Member, MemberQuery
from narrows.spark.shared.ingest import Ingest
from narrows.worker.read_spec import ReadSpec
from support.copying import Copying
from support.thread_spark import ThreadSpark
from support.waiting import await_that

DEFINITION = "it"


class Stream:
    """What `SharedStream` is, without a session."""

    def __init__(self, folder: Path, spark: ThreadSpark) -> None:
        self.copying = Copying(folder, shared=True)
        self.shared = folder / "state" / "shared"
        self.registry, self.log = ConsumerRegistry(self.shared), SharedLog(self.shared)
        self.registry.begin(DEFINITION)
        given: Any = spark
        self.group = Group(given, self.log, self.registry.advance, parallelism=2, name="s")
        read = self.copying.read
        projection = DecodeProjection(read.projection.schema, NOTHING)
        decoded = ReadSpec(
            read.source,
            read.connector,
            read.format,
            projection,
            names=(),
            options=read.options,
            dead_letters=read.dead_letters,
            entry_log=read.entry_log,
        )
        self.ingest = Ingest(given, decoded, self.shared, on_entry=self.group.wake)

    def member(self, name: str, *, quick: bool = True) -> Member:
        read = self.copying.read
        spec = replace(
            read,
            connector="shared log",
            projection=read.projection.stored,
            options={**read.options, FOLDER: str(self.shared), CONSUMER: name, "timezone": "UTC"},
            entry_log=None,
        )
        place = str(self.copying.folder / name)
        target = replace(self.copying.target, pipeline=name, place=place)
        tasks = self.copying.folder / "state" / f"{name}.plan"
        position = self.registry.register({name: ALL}, "earliest")[name].position
        self.registry.apply()
        return Member(
            name, WriteSpec((target,)), spec, tasks, position, is_quick=quick, is_planned_once=True
        )

    def start(self, name: str, *, quick: bool = True) -> MemberQuery:
        member = self.member(name, quick=quick)
        self.ingest.quicken(quick=quick)
        if not self.ingest.isActive:
            self.ingest.start(0.0)
        return self.group.start(member, None)

    def await_all(self, *names: str) -> None:
        def have_all() -> bool:
            return all(self.copying.found(name) == list(range(self.copying.rows)) for name in names)

        await_that(have_all, f"{', '.join(names)} have every row, once")


@pytest.fixture
def spark() -> ThreadSpark:
    return ThreadSpark()


@pytest.fixture
def stream(tmp_path: Path, spark: ThreadSpark) -> Iterator[Stream]:
    stream = Stream(tmp_path, spark)
    yield stream
    stream.ingest.stop()
    await_that(lambda: not _threads("of shared stream `s`"), "no task is left")


def _threads(name: str) -> list[str]:
    return [thread.name for thread in threading.enumerate() if name in thread.name]


def test_pipelines_of_both_kinds_come_and_go(stream: Stream) -> None:
    stream.copying.put(2)
    plain = stream.start("plain", quick=False)
    stream.await_all("plain")
    assert not _threads("tasks of shared stream")
    first = stream.start("first")
    second = stream.start("second")
    for _ in range(5):
        stream.copying.put(1)
        stream.await_all("plain", "first", "second")
    assert len(_threads("tasks of shared stream")) == 2, "one that decodes, one that writes"
    first.stop()
    stream.copying.put(1)
    stream.await_all("plain", "second")
    second.stop()
    stream.ingest.quicken(quick=False)
    stream.copying.put(1)
    stream.await_all("plain")
    await_that(lambda: not _threads("tasks of shared stream"), "nobody needs them any more")
    plain.stop()


@pytest.mark.parametrize("names", [["first"], ["first", "second"]])
def test_who_loses_its_task_goes_on_by_itself_and_comes_back(
    stream: Stream, spark: ThreadSpark, names: list[str]
) -> None:
    queries = [stream.start(name) for name in names]
    stream.copying.put(2)
    stream.await_all(*names)
    spark.fails.set()
    await_that(lambda: not stream.ingest.isActive, "the ingest has failed")
    await_that(lambda: not _threads("tasks of shared stream"), "tasks have died")
    spark.fails.clear()
    assert "Python worker" in str(stream.ingest.exception())
    stream.copying.put(2)
    stream.ingest.start(0.0)
    stream.await_all(*names)
    await_that(lambda: len(_threads("tasks of shared stream")) == 2, "there are tasks again")
    assert all(query.exception() is None for query in queries)
    for query in queries:
        query.stop()


def test_what_is_much_is_shared_out_to_a_job(
    stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs: list[int] = []
    decode = Ingest._by_job

    def noted(self: Ingest, union: IngestUnion, entry: Entry) -> list[str]:
        jobs.append(union.number)
        return decode(self, union, entry)

    monkeypatch.setattr(Ingest, "_by_job", noted)
    query = stream.start("first")
    stream.copying.put(2)
    stream.await_all("first")
    assert not jobs
    monkeypatch.setattr(ingest, "_ALONE_BYTES", 0)
    stream.copying.put(2)
    stream.await_all("first")
    assert jobs
    monkeypatch.undo()
    stream.copying.put(2)
    stream.await_all("first")
    assert len(_threads("tasks of shared stream")) == 2, "they are there as before"
    query.stop()


def test_without_a_free_core_nobody_is_disturbed(tmp_path: Path) -> None:
    stream = Stream(tmp_path, ThreadSpark("local[2]"))
    stream.copying.put(1)
    plain = stream.start("plain", quick=False)
    with pytest.raises(NarrowsError, match="one must be left"):
        stream.start("first")
    stream.ingest.quicken(quick=False)
    stream.copying.put(1)
    stream.await_all("plain")
    plain.stop()
    stream.ingest.stop()
    assert stream.ingest.exception() is None
