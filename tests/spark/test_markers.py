"""Streams of files, turn by turn: restarts with other settings, failures, what is left behind."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import narrows
from narrows.logical.walk import topological
from narrows.physical.nodes import PhysicalReader
from narrows.spark.read.reader import read_spec
from narrows.spark.streaming.feed import Feed

STATE = "state [of] {all}"
"""A folder whose name Spark would take for a pattern."""
BY_QUERY, BY_READERS = "SELECT last(a) AS a FROM s GROUP BY a", "SELECT a FROM s"
"""A pipeline that has a streaming query, and one that needs none."""


def _connect(spark: SparkSession, folder: Path, select: str) -> narrows.Session:
    session = narrows.connect(spark, state=folder / STATE)
    session.execute(
        f"""
        CREATE STREAM s (a BIGINT) WITH (connector = 'file', path = '{folder}/in');
        CREATE SINK out WITH (connector = 'file', path = '{folder}/out');
        CREATE PIPELINE p INTO out AS {select};
        """
    )
    return session


@pytest.fixture(params=[BY_QUERY, BY_READERS], ids=["query", "readers"])
def select(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def session(spark: SparkSession, tmp_path: Path, select: str) -> Iterator[narrows.Session]:
    (tmp_path / "in").mkdir()
    made = _connect(spark, tmp_path, select)
    yield made
    made.close()


only_by_query = pytest.mark.parametrize("select", [BY_QUERY], ids=["query"])


def _put(folder: Path, *numbers: int) -> None:
    for number in numbers:
        (folder / "in" / f"{number}.json").write_text(json.dumps({"a": number}) + "\n", "utf-8")


def _output(folder: Path) -> list[int]:
    files = sorted((folder / "out").glob("[!.]*.json"))
    return sorted(json.loads(line)["a"] for f in files for line in f.read_text().splitlines())


def test_files_taken_before_a_crash_are_read_by_any_number_of_tasks(
    session: narrows.Session, spark: SparkSession, tmp_path: Path
) -> None:
    _put(tmp_path, *range(7))
    nodes = topological(session.catalog.plan_pipeline("p").physical)
    reader = next(n for n in nodes if isinstance(n, PhysicalReader) and n.source.is_fed)
    before = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "5")
    try:
        read = session._context.placed_for(reader, read_spec(reader), "p")
        checkpoint = session.state.checkpoint("p")
        Feed(read, checkpoint).take_all()
        (tmp_path / STATE / "entries/p/s/markers/000000000000.marker").unlink()
        _put(tmp_path, 7, 8)
        Feed(read, checkpoint).take_all()  # gives the turn that got lost, too
        spark.conf.set("spark.sql.shuffle.partitions", "1")
        session.start("p", once=True).await_done(timeout=120)
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", str(before))
    assert _output(tmp_path) == list(range(9))
    assert len({path.name.split("-")[1] for path in (tmp_path / "out").glob("*.json")}) == 2


@only_by_query
def test_an_end_that_a_crash_left_unread_is_taken_back(
    session: narrows.Session, tmp_path: Path
) -> None:
    session.execute(
        f"""
        CREATE STREAM t (a BIGINT) WITH (connector = 'file', path = '{tmp_path}/in',
          eventtime = 'a', eventtime_unit = 's');
        CREATE PIPELINE w INTO out AS SELECT sum(a) AS a FROM t GROUP BY tumblingwindow('ss', 100);
        """
    )
    _put(tmp_path, 1, 2)
    nodes = topological(session.catalog.plan_pipeline("w").physical)
    (reader,) = [node for node in nodes if isinstance(node, PhysicalReader)]
    read = session._context.placed_for(reader, read_spec(reader), "w")
    Feed(read, session.state.checkpoint("w")).take_all(ends=True)
    session.start("w", once=True, close_windows=False).await_done(timeout=120)
    assert _output(tmp_path) == [], "the window is open for the rows of a later run"
    _put(tmp_path, 3)
    session.start("w", once=True).await_done(timeout=120)
    assert _output(tmp_path) == [6]


def test_a_running_pipeline_fails_when_its_files_cannot_be_taken(
    session: narrows.Session, tmp_path: Path
) -> None:
    _put(tmp_path, 1)
    log = tmp_path / STATE / "entries" / "p" / "s"
    log.mkdir(parents=True)
    (log / "000000000000-000000000000.entries").write_text("damaged")
    with pytest.raises(narrows.NarrowsError, match="log of what was taken is damaged"):
        session.start("p", once=True)
    (log / "000000000000-000000000000.entries").unlink()
    run = session.start("p", trigger="100 milliseconds")
    (log / "000000000007-000000000007.entries").write_text("damaged")
    with pytest.raises(narrows.NarrowsError, match="log of what was taken is damaged"):
        run.await_done(timeout=60)
    assert run.status == {"p": "failed"}


def test_what_was_never_published_is_removed(session: narrows.Session, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    task = "0" * 32
    for name in (f".p-{task}.writing", f".other-{task}.writing"):
        (tmp_path / "out" / name).write_text("left by a crash")
    session.start("p", once=True).await_done(timeout=120)
    assert [path.name for path in (tmp_path / "out").iterdir()] == [f".other-{task}.writing"]


def test_a_restored_state_folder_may_have_any_times(
    session: narrows.Session, spark: SparkSession, tmp_path: Path, select: str
) -> None:
    for number in range(3):
        _put(tmp_path, number)
        session.start("p", once=True).await_done(timeout=120)
    session.close()
    for days, more in ((-30, 3), (30, 4), (0, 5)):
        _restore(tmp_path / STATE, time.time() + days * 24 * 3600)
        _put(tmp_path, more)
        session = _connect(spark, tmp_path, select)
        session.start("p", once=True).await_done(timeout=120)
        session.close()
        assert _output(tmp_path) == list(range(more + 1))


def test_a_state_folder_that_was_restored_in_part_is_refused(
    session: narrows.Session, tmp_path: Path, select: str
) -> None:
    for number in range(3):
        _put(tmp_path, number)
        session.start("p", once=True).await_done(timeout=120)
    log = tmp_path / STATE / "entries/p/s"
    come_to = session.state.checkpoint("p") if select == BY_QUERY else log / "position"
    (log / "000000000002-000000000002.entries").rename(tmp_path / "newest")
    _put(tmp_path, 3)
    with pytest.raises(narrows.NarrowsError, match=r"ends at entry 1, but .* come to entry 2"):
        session.start("p", once=True)
    (tmp_path / "newest").rename(log / "000000000002-000000000002.entries")
    come_to.rename(tmp_path / "elsewhere")
    with pytest.raises(narrows.NarrowsError, match="is incomplete: entries up to 2 were taken"):
        session.start("p", once=True)
    (tmp_path / "elsewhere").rename(come_to)
    session.start("p", once=True).await_done(timeout=120)
    assert _output(tmp_path) == [0, 1, 2, 3]


@only_by_query
def test_a_batch_that_would_pass_over_files_stops(session: narrows.Session, tmp_path: Path) -> None:
    _put(tmp_path, 1)
    session.start("p", once=True).await_done(timeout=120)
    taken = session.state.checkpoint("p") / "sources" / "0" / "0"
    text = taken.read_text()
    (taken.parent / ".0.crc").unlink()
    taken.write_text(text.replace("000000000000.marker", "000000000001.marker"))
    with pytest.raises(narrows.NarrowsError, match="entry 1 was taken where entry 0 should be"):
        session.start("p", once=True)


def _restore(folder: Path, at: float) -> None:
    """Has a folder as a copy of it would be, with times of its own."""
    copy = folder.with_name("copy")
    shutil.copytree(folder, copy)
    shutil.rmtree(folder)
    copy.rename(folder)
    for path in folder.rglob("*"):
        os.utime(path, (at, at))
