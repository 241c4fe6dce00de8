"""Shared streams: one decode for whoever is running, and nobody notices the others."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import narrows
from narrows.spark.shared import lane
from narrows.spark.shared.stream import SharedStream
from narrows.worker.dead_letters import read_dead_letters
from support.storm import Storm

SCHEMA = (
    "a BIGINT, c STRING, d DOUBLE, b STRUCT<k: BIGINT, items: ARRAY<STRUCT<x: BIGINT, y: STRING>>>"
)
FAST = "100 milliseconds"


def document(i: int) -> dict[str, Any]:
    items = [{"x": i * 10 + k, "y": f"y{k}"} for k in range(i % 5)]
    return {"a": i, "c": f"c{i}", "d": i / 2, "b": {"k": -i, "items": items} if i % 7 else None}


class Bench:
    """A shared stream in a folder of its own, and pipelines that write to files."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.folder = folder
        (folder / "in").mkdir()
        self.session = self.connect()
        self.written = 0

    def connect(self, options: str = "") -> narrows.Session:
        session = narrows.connect(self.spark, state=self.folder / "state")
        session.execute(
            f"CREATE STREAM s ({SCHEMA}) WITH (connector = 'file', path = '{self.folder}/in',"
            f" shared = true{options})"
        )
        return session

    def pipeline(self, name: str, sql: str) -> str:
        self.session.execute(
            f"CREATE SINK {name}_out WITH (connector = 'file', path = '{self.folder}/{name}');"
            f"CREATE PIPELINE {name} INTO {name}_out AS {sql};"
        )
        return name

    def put(self, count: int) -> None:
        """One more file with so many documents."""
        rows = range(self.written, self.written + count)
        lines = "".join(json.dumps(document(i)) + "\n" for i in rows)
        hidden = self.folder / "in" / f".{self.written:09d}.json"
        hidden.write_text(lines, "utf-8")
        hidden.rename(hidden.with_name(hidden.name[1:]))
        self.written += count

    def output(self, name: str) -> list[dict[str, Any]]:
        files = sorted((self.folder / name).glob("[!.]*.json"))
        rows = [json.loads(line) for file in files for line in file.read_text().splitlines()]
        return sorted(rows, key=json.dumps)

    def once(self, *names: str, **options: Any) -> narrows.Run:
        return self.session.start(*names, once=True, **options).await_done(timeout=120)


@pytest.fixture
def bench(spark: SparkSession, tmp_path: Path) -> Iterator[Bench]:
    made = Bench(spark, tmp_path)
    yield made
    made.session.close()


def wait_for(condition: Callable[[], object], seconds: float = 300) -> None:
    pause, deadline = threading.Event(), time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        pause.wait(0.05)


def ordered(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=json.dumps)


def test_two_pipelines_with_disjoint_columns(bench: Bench) -> None:
    bench.pipeline("p", "SELECT a FROM s")
    bench.pipeline("q", "SELECT c, b->items[1]->y AS y FROM s WHERE d < 10")
    bench.put(30)
    run = bench.once("p", "q")
    assert bench.output("p") == ordered([{"a": i} for i in range(30)])
    documents = [document(i) for i in range(20)]
    ys = [(d["b"] or {"items": []})["items"][1:2] for d in documents]
    expected = [
        {"c": d["c"], "y": y[0]["y"] if y else None} for d, y in zip(documents, ys, strict=True)
    ]
    assert bench.output("q") == ordered(expected)
    counts = run.progress["p"]["shared"]["s"]
    assert (counts["payloads"], counts["rows_decoded"], counts["lag"]) == (30, 30, 0)


def columns(bench: Bench) -> list[str]:
    return bench.session.shared_stream("s").decoding_columns


def test_the_union_follows_whoever_is_running(bench: Bench) -> None:
    session = bench.session
    bench.pipeline("p", "SELECT a FROM s")
    bench.pipeline("q", "SELECT c FROM s")
    bench.pipeline("star", "SELECT * FROM s")
    bench.put(3)
    p = session.start("p", trigger=FAST)
    wait_for(lambda: len(bench.output("p")) == 3)
    assert columns(bench) == ["a"]
    with pytest.raises(narrows.NarrowsError, match="`p` is running already"):
        session.start("p")
    version = session.shared_stream("s").version

    # C joins: its first row has c, and A misses nothing.
    q = session.start("q", trigger=FAST)
    assert columns(bench) == ["a", "c"]
    assert session.shared_stream("s").version == version + 1
    bench.put(4)
    wait_for(lambda: len(bench.output("p")) == 7 and len(bench.output("q")) == 4)
    assert [row["c"] for row in bench.output("q")] == ["c3", "c4", "c5", "c6"]

    # Everything is decoded while somebody takes everything, and EXPLAIN says who.
    star = session.start("star", trigger=FAST)
    assert columns(bench) == ["a", "c", "d", "b{k, items[struct{x, y}]}"]
    (text,) = session.execute("EXPLAIN SHARED STREAM s")
    assert isinstance(text, str)
    lines = text.splitlines()
    assert lines[0] == "Shared Stream s"
    assert (
        "decoding_columns=[a, c, d, b{k, items[struct{x, y}]}], decodes=6 of 6 leaves" in lines[2]
    )
    assert "├─p" in lines[3]
    assert "shared_required_schema=[a], decodes=1 of 6 leaves" in lines[3]
    assert "└─star" in lines[5]
    assert "forces=ALL" in lines[5]
    (text,) = session.execute("EXPLAIN PIPELINE p")
    assert "PhysicalIngest" in str(text)
    assert f"version={version + 2}" in str(text)
    (described,) = session.execute("DESCRIBE STREAM s")
    assert ("consumers", "p, q, star") in described.rows  # type: ignore[union-attr]
    bench.put(2)
    wait_for(lambda: len(bench.output("star")) == 2)
    assert bench.output("star") == ordered([document(7), document(8)])

    star.stop()
    wait_for(lambda: columns(bench) == ["a", "c"])
    q.stop()
    wait_for(lambda: columns(bench) == ["a"])
    p.stop()
    assert session.shared_stream("s").consumers == ()
    assert p.status == {"p": "stopped"}

    # The last one has left; the first comes back, and goes on where it was.
    bench.put(5)
    p = session.start("p", trigger=FAST)
    wait_for(lambda: len(bench.output("p")) == 14)
    p.stop()
    assert sorted(row["a"] for row in bench.output("p")) == list(range(14))
    assert p.progress["p"]["shared"]["s"]["missed"] == 0


def test_pipelines_with_a_query_of_their_own(bench: Bench) -> None:
    """Those that keep state, or read something beside the stream."""
    session = bench.session
    (bench.folder / "names").mkdir()
    (bench.folder / "names" / "n.json").write_text('{"k": 1, "name": "one"}\n{"k": 2}\n')
    session.execute(
        f"CREATE TABLE names (k BIGINT, name STRING)"
        f" WITH (connector = 'file', path = '{bench.folder}/names')"
    )
    bench.pipeline("p", "SELECT a FROM s")
    bench.pipeline("named", "SELECT s.a, n.name FROM s JOIN names n ON s.a = n.k")
    # Rows of one run meet rows of another: that is state, and it must be there after a restart.
    bench.pipeline("pairs", "SELECT x.a, y.c FROM s x JOIN s y ON x.a = y.a + 10 WHERE y.d > 0")
    bench.put(12)
    run = bench.once("p", "named", "pairs")
    assert len(bench.output("p")) == 12
    assert bench.output("named") == ordered([{"a": 1, "name": "one"}, {"a": 2, "name": None}])
    assert bench.output("pairs") == [{"a": 11, "c": "c1"}]
    assert run.progress["pairs"]["shared"]["s"]["alone"] is True
    assert session.shared_stream("s").consumers == ()
    bench.put(3)
    bench.once("p", "pairs")
    assert len(bench.output("p")) == 15
    assert bench.output("pairs") == [{"a": 10 + i, "c": f"c{i}"} for i in range(1, 5)]


def test_joins_and_leaves_while_rows_flow(spark: SparkSession, tmp_path: Path) -> None:
    """Every consumer has the rows of its own lives, all of them and each once, without a gap. The
    short form of `tools/storm.py`."""
    storm = Storm(spark, tmp_path / "storm", seed=1)
    with storm.session:
        storm.play(rounds=3)
        left = storm.session.shared_stream("s")
    assert storm.check() == []
    assert sum(len(visitor.lives) for visitor in storm.visitors) > 3
    # All that everybody has passed is gone; what the last one has not read is kept for it.
    assert left.retained <= 1 + max((consumer.lag for consumer in left.consumers), default=0)


def test_who_fails_and_who_is_slow_hold_back_nobody(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, gate = bench.session, str(bench.folder / "gate")

    def hold(value: int) -> int:
        """Lets large numbers wait until somebody opens the gate."""
        while value >= 10 and not os.path.exists(gate):
            time.sleep(0.05)
        return value

    bench.spark.udf.register("hold", hold, "BIGINT")
    session.catalog.add_function("hold", 1, 1)
    bench.pipeline("fine", "SELECT a FROM s")
    bench.pipeline("bad", "SELECT a, assert_true(a < 30) AS t FROM s")
    bench.pipeline("slow", "SELECT hold(a) AS a FROM s")
    bench.put(10)
    run = session.start("fine", "bad", "slow", trigger=FAST)
    wait_for(lambda: all(len(bench.output(name)) == 10 for name in ("fine", "bad", "slow")))

    # One that never ends its part of the job is taken out, and the others do theirs again.
    monkeypatch.setattr(lane, "_PATIENCE_SECONDS", 2.0)
    bench.put(20)
    wait_for(lambda: len(bench.output("fine")) == 30 and len(bench.output("bad")) == 30)
    monkeypatch.undo()
    assert run.progress["slow"]["shared"]["s"]["alone"] is True

    # One that fails is out, too.
    bench.put(2)
    wait_for(lambda: run.status["bad"] == "failed")
    bench.put(1)
    wait_for(lambda: len(bench.output("fine")) == 33)
    assert run.status == {"fine": "running", "bad": "failed", "slow": "running"}
    assert "is not true" in str(run.progress["bad"]["error"])
    assert run.progress["slow"]["shared"]["s"]["lag"] == 3
    # What it has not read is kept for a while, for whoever mends it and starts it again.
    assert [c.name for c in session.shared_stream("s").consumers] == ["bad", "fine", "slow"]
    Path(gate).touch()
    wait_for(lambda: len(bench.output("slow")) == 33)
    run.stop()
    assert len(bench.output("bad")) == 30


def test_what_was_taken_and_not_read_is_read_after_all_have_stopped(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.pipeline("p", "SELECT a FROM s")
    bench.pipeline("q", "SELECT b->k AS k FROM s")
    with monkeypatch.context() as slow:
        slow.setattr(lane.Lane, "_due", lambda self: [])  # nobody comes to read
        run = bench.session.start("p", "q", trigger=FAST)
        (bench.folder / "in" / "0.json").write_text('{"a": 1, "b": {"k": 2}}\n')
        wait_for(lambda: run.progress["q"]["shared"]["s"]["lag"] == 1)
        run.stop()
    (bench.folder / "in" / "1.json").write_text('{"a": 3, "b": {"k": 4}}\n')
    bench.once("p", "q")
    assert [row["a"] for row in bench.output("p")] == [1, 3]
    assert [row["k"] for row in bench.output("q")] == [2, 4]


def test_what_cannot_begin_leaves_nothing_behind(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.pipeline("p", "SELECT a FROM s")
    monkeypatch.setattr(SharedStream, "covers", lambda stream, demand: False)  # it may be quick
    with pytest.raises(narrows.NarrowsError) as caught:
        bench.session.start("p", ready_timeout=0)
    assert caught.value.code == "not_ready"
    assert bench.session.shared_stream("s").consumers == ()
    assert not bench.spark.streams.active
    with pytest.raises(narrows.NarrowsError, match="is one of latest, earliest"):
        bench.session.start("p", start_at="yesterday")
    with pytest.raises(narrows.NarrowsError, match="no pipeline is called"):
        bench.session.start("p", "nobody")


def test_bad_payloads_and_missing_segments(bench: Bench) -> None:
    bench.pipeline("p", "SELECT a FROM s")
    bench.pipeline("q", "SELECT a, a + 1 AS b FROM s")
    (bench.folder / "in" / "0.json").write_text('{"a": 1}\n{"a": \n{"a": 2}\n')
    run = bench.once("p", "q")
    assert [row["a"] for row in bench.output("p")] == [1, 2]
    assert len(list(read_dead_letters(bench.session.state.dead_letters("s")))) == 1
    counts = run.progress["p"]["shared"]["s"]
    assert (counts["payloads"], counts["bad"], counts["rows_decoded"]) == (3, 1, 2)

    # The newest entry is kept: a pipeline that has never run may begin with it, if it is whole.
    bench.pipeline("r", "SELECT a, a + 2 AS b FROM s")
    bench.once("r", start_at="earliest")
    assert [row["b"] for row in bench.output("r")] == [3, 4]
    for segment in (bench.folder / "state" / "shared" / "s" / "segments").iterdir():
        segment.unlink()
    bench.pipeline("t", "SELECT a, a + 3 AS b FROM s")
    with pytest.raises(narrows.NarrowsError, match="segment of a shared stream cannot be read"):
        bench.once("t", start_at="earliest")
    assert bench.output("t") == []

    bench.session.close()
    bench.session = bench.connect(", on_error = 'fail'")
    bench.pipeline("p", "SELECT a FROM s")
    (bench.folder / "in" / "1.json").write_text('{"a": 1}\n{"a": \n')
    with pytest.raises(narrows.NarrowsError, match=r"1\.json, offset 9"):
        bench.once("p")
    assert len(bench.output("p")) == 2
