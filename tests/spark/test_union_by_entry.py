"""Streams that are put together (UNION) are read entry by entry, whichever of them has something
new: each row once, over several runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import narrows
from narrows.errors import NarrowsError
from narrows.physical.execution import ExecutionMode
from support.two_tasks import two_tasks

ROWS = 20
"""In a file."""
RUNS = (("l", "r"), ("r",), ("l", "l", "r"), ("l",))
"""The streams that get a file before a run: of three of them two tasks read."""
QUERIES = {
    "both": "SELECT n, s FROM l UNION ALL SELECT n, s FROM r",
    "computed": "SELECT n, upper(s) AS s FROM l WHERE n % 3 = 0 UNION ALL SELECT -n, s FROM r",
    "itself": "SELECT n, s FROM l UNION ALL SELECT n, s FROM l WHERE n % 2 = 0",
    "three": "SELECT x.n, t.s FROM (SELECT n FROM l UNION ALL SELECT n FROM r UNION ALL"
    " SELECT -n FROM l) x JOIN t ON t.n = x.n % 5",
    "asked": "SELECT n, s FROM l UNION ALL SELECT n, s FROM r WHERE n IN (SELECT n FROM t)",
    "split": "WITH x AS (SELECT n, s FROM l) SELECT n, s FROM x WHERE n % 3 = 0"
    " UNION ALL SELECT -n, s FROM x WHERE n % 2 = 0",
    "shared": "SELECT n, s FROM decoded UNION ALL SELECT n, s FROM r",
    "twice_shared": "SELECT n, s FROM decoded UNION ALL SELECT -n, s FROM decoded",
}
OFF, ON = (f"SET narrows.rule.union_by_entry = {setting}" for setting in ("off", "on"))


class Streams:
    def __init__(self, session: narrows.Session, folder: Path) -> None:
        self.session = session
        self._folder = folder
        self._rows = 0
        for name in ("l", "r"):
            (folder / name).mkdir()
        (folder / "t.json").write_text("".join(f'{{"n": {n}, "s": "t{n}"}}\n' for n in range(4)))
        for name, place, more in (
            ("l", "l", ", eventtime = 'at', watermark = '1 second'"),
            ("r", "r", ""),
            ("decoded", "l", ", shared = true"),
        ):
            session.execute(
                f"CREATE STREAM {name} (n BIGINT, s STRING, at TIMESTAMP)"
                f" WITH (connector = 'file', path = '{folder / place}'{more})"
            )
        session.execute(
            "CREATE TABLE t (n BIGINT, s STRING)"
            f" WITH (connector = 'file', path = '{folder / 't.json'}')"
        )

    def declare(self, *names: str) -> None:
        for name in names:
            self.session.execute(f"CREATE SINK out_{name} WITH (connector = 'memory')")
            self.session.execute(f"CREATE PIPELINE {name} INTO out_{name} AS {QUERIES[name]}")

    def put(self, name: str) -> None:
        numbers = range(self._rows, self._rows + ROWS)
        self._rows += ROWS
        at = "2026-01-01T00:00:{:02}Z"
        rows = [{"n": n, "s": f"{name}{n}", "at": at.format(n % 60)} for n in numbers]
        lines = "".join(f"{json.dumps(row)}\n" for row in rows)
        (self._folder / name / f"{self._rows:06}.json").write_text(lines)

    def run(self, *names: str) -> set[ExecutionMode]:
        run = self.session.start(*names, once=True)
        run.await_done(timeout=300)
        plans = [pipeline.plan.execution for pipeline in run.pipelines]
        return {how.mode for how in plans if how is not None}

    def found(self, name: str) -> list[str]:
        return sorted(map(repr, self.session.rows(f"out_{name}")))

    def expected(self, name: str) -> list[str]:
        rows = self.session.query(QUERIES[name]).collect()
        return sorted(repr(row.asDict()) for row in rows)


@pytest.fixture
def streams(small_data: SparkSession, tmp_path: Path) -> Iterator[Streams]:
    with narrows.connect(small_data, state=tmp_path / "state") as session:
        yield Streams(session, tmp_path)


def test_each_row_once(streams: Streams) -> None:
    streams.declare(*QUERIES)
    for run in RUNS:
        for name in run:
            streams.put(name)
        with two_tasks(streams.session.spark) if len(run) == 3 else nullcontext():
            assert streams.run(*QUERIES) == {ExecutionMode.JOBS}
        for name in QUERIES:
            assert streams.found(name) == streams.expected(name), (name, run)
        assert streams.expected("three")


def test_what_spark_has_read_goes_on(streams: Streams) -> None:
    """A pipeline that was begun with a streaming query, until it is reset."""
    streams.declare("both")
    streams.session.execute(OFF)
    streams.put("l")
    assert streams.run("both") == {ExecutionMode.STREAM}
    streams.session.execute(ON)
    streams.put("r")
    assert streams.run("both") == {ExecutionMode.STREAM}
    assert streams.found("both") == streams.expected("both")
    record = streams.session.state.record("both")
    kept = record.read_bytes()
    record.unlink()
    with pytest.raises(NarrowsError, match="how far a streaming query has come"):
        streams.session.start("both", once=True)
    record.write_bytes(kept)
    before = streams.found("both")
    streams.session.state.reset("both")
    assert streams.run("both") == {ExecutionMode.JOBS}
    assert streams.found("both") == sorted([*before, *streams.expected("both")])


def test_a_query_does_not_go_on_with_what_was_read_together(streams: Streams) -> None:
    streams.declare("both")
    streams.put("l")
    streams.run("both")
    streams.session.execute(OFF)
    with pytest.raises(NarrowsError, match="does not fit"):
        streams.session.start("both", once=True)
