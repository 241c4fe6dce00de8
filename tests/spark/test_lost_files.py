"""Pipelines and queries over files that go, shrink or have odd names when they are read."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import narrows
from narrows.worker.dead_letters import read_dead_letters


class Bench:
    """A stream into a sink, in a folder of their own."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark, self.folder = spark, folder
        (folder / "in").mkdir()
        self.session = self.connect()

    def connect(self, options: str = "") -> narrows.Session:
        session = narrows.connect(self.spark, state=self.folder / "state")
        where = f"connector = 'file', path = '{self.folder}/in'{options}"
        session.execute(
            f"""
            CREATE STREAM s (a BIGINT) WITH ({where});
            CREATE TABLE t (a BIGINT) WITH ({where});
            CREATE STREAM shared (a BIGINT) WITH ({where}, shared = true, start_at = 'earliest');
            CREATE SINK out WITH (connector = 'memory');
            CREATE SINK other WITH (connector = 'memory');
            CREATE PIPELINE p INTO out AS SELECT a + 1 AS a FROM s;
            CREATE PIPELINE q INTO other AS SELECT a + 1 AS a FROM shared;
            """
        )
        return session

    def reconnect(self, options: str = "") -> None:
        self.session.close()
        self.session = self.connect(options)

    def put(self, name: bytes, *rows: int, more: str = "") -> str:
        path = os.fsdecode(os.fsencode(self.folder / "in") + b"/" + name)
        with open(path, "w", encoding="utf-8") as file:
            file.write("".join(json.dumps({"a": row}) + "\n" for row in rows) + more)
        return path

    def run(self, *pipelines: str) -> dict[str, dict[str, object]]:
        run = self.session.start(*pipelines, once=True)
        run.await_done(timeout=120)
        return run.progress

    def rows(self, sink: str) -> list[int]:
        return sorted(row["a"] for row in self.session.rows(sink))

    def dead(self, source: str) -> list[dict[str, object]]:
        return list(read_dead_letters(self.folder / "state" / "dead_letters" / source))


@pytest.fixture
def bench(spark: SparkSession, tmp_path: Path) -> Iterator[Bench]:
    made = Bench(spark, tmp_path)
    yield made
    made.session.close()


def test_a_file_that_was_taken_and_is_gone_holds_nothing_up(bench: Bench) -> None:
    gone, short = bench.put(b"gone", 1), bench.put(b"short", 2, 3, more="no JSON")
    bench.reconnect(", on_error = 'fail'")
    with pytest.raises(narrows.NarrowsError, match="not valid JSON"):
        bench.run("p")  # the files have been taken, and their batch will be run again
    os.unlink(gone)
    bench.put(b"short", 2)
    bench.put(b"new", 4)
    bench.reconnect(", on_missing = 'fail'")
    with pytest.raises(narrows.NarrowsError, match=r"No such file|is shorter than it was"):
        bench.run("p")
    bench.reconnect()
    bench.run("p")
    assert bench.rows("out") == [3, 5]
    assert [letter["file"] for letter in bench.dead("s")] == [gone, short]
    bench.run("p")
    assert bench.rows("out") == [3, 5]


def test_a_table_loses_a_file_in_the_same_way(bench: Bench) -> None:
    bench.put(b"here", 1)
    gone = bench.put(b"gone", 2)
    counted = bench.session.query("SELECT count(*) AS n FROM t")
    os.unlink(gone)
    assert [row.n for row in counted.collect()] == [1]
    assert [letter["file"] for letter in bench.dead("t")] == [gone]
    bench.reconnect(", on_missing = 'fail'")
    bench.put(b"gone", 2)
    counted = bench.session.query("SELECT count(*) AS n FROM t")
    os.unlink(gone)
    with pytest.raises(Exception, match="No such file"):
        counted.collect()


def test_names_that_are_not_utf8(bench: Bench) -> None:
    bench.put(b"a\xff.json", 1, more="no JSON\n")
    bench.run("p", "q")
    assert (bench.rows("out"), bench.rows("other")) == ([2], [2])
    assert [row.a for row in bench.session.query("SELECT a FROM t").collect()] == [1]
    for source in ("s", "shared", "t"):
        (letter,) = bench.dead(source)
        assert str(letter["file"]).endswith(r"/a\xff.json")


def test_a_stream_without_files_says_so(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    (bench.folder / "in").rmdir()
    bench.run("p")
    (said,) = {record.getMessage() for record in caplog.records if record.name == "narrows.files"}
    assert said.startswith(f"there is no file or folder `{bench.folder}/in` yet")
