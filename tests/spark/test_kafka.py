"""Topics of a real broker, read by pipelines and queries on Spark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import narrows
from support.kafka import Topics
from support.kafka_committed import committed
from support.waiting import DEADLINE, await_that

COLUMNS = "n BIGINT, site STRING, deep STRUCT<a: BIGINT, b: STRING>"


def document(n: int) -> bytes:
    return json.dumps({"n": n, "site": f"s{n % 3}", "deep": {"a": -n, "b": "x"}}).encode()


def documents(first: int, end: int) -> list[bytes]:
    return [document(n) for n in range(first, end)]


class Bench:
    """A stream of a topic with three partitions, and pipelines that write to files."""

    def __init__(self, spark: SparkSession, folder: Path, topics: Topics) -> None:
        self.spark = spark
        self.folder = folder
        self.topics = topics
        self.topic = topics.make(partitions=3)
        self.pipelines: list[str] = []

    def connect(self, *options: str, kind: str = "STREAM", pruning: bool = True) -> narrows.Session:
        session = narrows.connect(self.spark, state=self.folder / "state", pruning=pruning)
        given = ", ".join(
            (f"brokers = '{self.topics.address}'", f"topic = '{self.topic}'", *options)
        )
        session.execute(f"CREATE {kind} s ({COLUMNS}) WITH (connector = 'kafka', {given})")
        return session

    def pipeline(self, session: narrows.Session, name: str, sql: str, options: str = "") -> str:
        session.execute(
            f"CREATE SINK {name}_out WITH (connector = 'file', path = '{self.folder}/{name}');"
            f"CREATE PIPELINE {name} INTO {name}_out {options} AS {sql};"
        )
        return name

    def put(self, first: int, end: int) -> None:
        for partition in range(3):
            numbers = range(first + (partition - first) % 3, end, 3)
            self.topics.put(self.topic, [document(n) for n in numbers], partition=partition)

    def output(self, name: str) -> list[dict[str, Any]]:
        files = sorted((self.folder / name).glob("[!.]*.json"))
        rows = [json.loads(line) for file in files for line in file.read_text().splitlines()]
        return sorted(rows, key=json.dumps)

    def numbers(self, name: str) -> list[int]:
        return sorted(row["n"] for row in self.output(name))


@pytest.fixture
def bench(spark: SparkSession, tmp_path: Path, topics: Topics) -> Bench:
    return Bench(spark, tmp_path, topics)


@pytest.mark.parametrize("latency", ["normal", "low"])
def test_a_pipeline_goes_on_where_it_was(bench: Bench, latency: str) -> None:
    how = f"WITH (latency = '{latency}')"
    options = ("max_messages_per_trigger = 50", f"group = 'g-{bench.topic}'")
    sql = "SELECT n, deep->a AS a, _partition AS p FROM s WHERE site <> 's1'"
    bench.put(0, 100)
    with bench.connect(*options) as session:
        bench.pipeline(session, "p", sql, how)
        session.start("p", once=True).await_done(timeout=DEADLINE)
    wanted = [n for n in range(100) if n % 3 != 1]
    assert bench.numbers("p") == wanted
    assert all(
        row == {"n": row["n"], "a": -row["n"], "p": row["n"] % 3} for row in bench.output("p")
    )

    bench.topics.add_partitions(bench.topic, 4)
    with bench.connect(*options) as session:
        bench.pipeline(session, "p", sql, how)
        run = session.start("p", trigger="100 milliseconds")
        bench.put(100, 200)
        bench.topics.put(bench.topic, [document(300)], partition=3)
        wanted = [*(n for n in range(200) if n % 3 != 1), 300]
        await_that(lambda: bench.numbers("p") == wanted, "everything is there, once")
        await_that(lambda: _behind(run, bench.topic) == [0, 0, 0, 0], "nothing is left to take")
        # What was taken is published a moment later: the last message is dropped by the filter.
        await_that(lambda: _committed(bench) == [1, 66, 67, 67], "the group knows of everything")
        run.stop()


def _committed(bench: Bench) -> list[int]:
    return sorted(bench.topics.committed(f"g-{bench.topic}").values())


def _behind(run: narrows.Run, topic: str) -> list[int]:
    lag = run.progress["p"]["lag"]["s"]
    return [lag["partitions"][f"{topic}:{number}"] for number in range(4)]


def test_one_consumer_reads_for_all_pipelines_of_a_shared_stream(bench: Bench) -> None:
    with bench.connect("shared = true") as session:
        bench.pipeline(session, "one", "SELECT n FROM s")
        bench.pipeline(session, "two", "SELECT n, deep->b AS b, _offset AS o FROM s WHERE n >= 30")
        run = session.start("one", "two", trigger="100 milliseconds")
        bench.put(0, 60)
        await_that(lambda: bench.numbers("one") == [*range(60)], "all rows")
        await_that(lambda: bench.numbers("two") == [*range(30, 60)], "its rows")
        run.stop()
    assert all(row["o"] == row["n"] // 3 and row["b"] == "x" for row in bench.output("two"))
    with bench.connect("shared = true") as session:  # each knows how far it has come
        bench.pipeline(session, "one", "SELECT n FROM s")
        bench.pipeline(session, "two", "SELECT n, deep->b AS b, _offset AS o FROM s WHERE n >= 30")
        bench.put(60, 90)
        session.start("one", once=True).await_done(timeout=DEADLINE)
        assert bench.numbers("one") == [*range(90)]
        session.start("two", once=True).await_done(timeout=DEADLINE)


def test_queries_end_with_what_was_there(bench: Bench) -> None:
    bench.put(0, 30)
    bench.topics.put(bench.topic, [document(30), None], key=b"k", timestamp=1_767_268_800_000)
    with bench.connect("eventtime = '_timestamp'") as session:
        (row,) = session.query("SELECT sum(n) AS total, count(*) AS rows FROM s").collect()
        assert (row["total"], row["rows"]) == (sum(range(31)), 31)
        wanted = "_key, _topic, _partition, _offset, CAST(_timestamp AS STRING) AS at, _headers"
        (row,) = session.query(f"SELECT n, {wanted} FROM s WHERE _key = X'6B'").collect()
        assert (row["n"], bytes(row["_key"]), row["_topic"]) == (30, b"k", bench.topic)
        assert (row["_partition"], row["_offset"]) == (0, 10)
        assert row["at"].startswith("2026-01-01")
        keys = session.query("SELECT _offset FROM s WHERE _key = X'6B'").collect()
        assert sorted(row["_offset"] for row in keys) == [10, 11], "one has no payload"
        plan = narrows.plan("SELECT n, _offset FROM s", session.catalog)
        assert "_offset" in plan.explain("verbose", "text")
    with bench.connect(pruning=False) as session:
        keys = session.query("SELECT _offset FROM s WHERE _key = X'6B'").collect()
        assert sorted(row["_offset"] for row in keys) == [10, 11], "whatever is decoded besides"
        keys = session.query("SELECT _offset, n FROM s WHERE _key = X'6B'").collect()
        assert [(row["_offset"], row["n"]) for row in keys] == [(10, 30)]


def test_windows_go_by_the_time_of_messages(bench: Bench) -> None:
    minute = 1_767_268_800_000  # 12:00 of the first of January 2026
    for number in range(6):
        at = minute + number * 30_000
        bench.topics.put(bench.topic, [document(number)], partition=number % 3, timestamp=at)
    with bench.connect("eventtime = '_timestamp'", "watermark = '1 minute'") as session:
        bench.pipeline(
            session,
            "w",
            "SELECT sum(n) AS total, count(*) AS rows, CAST(window_start() AS STRING) AS at"
            " FROM s GROUP BY tumblingwindow('mi', 1)",
        )
        session.start("w", once=True).await_done(timeout=DEADLINE)
    assert bench.output("w") == [
        {"total": 1, "rows": 2, "at": "2026-01-01 12:00:00"},
        {"total": 5, "rows": 2, "at": "2026-01-01 12:01:00"},
        {"total": 9, "rows": 2, "at": "2026-01-01 12:02:00"},
    ]


def test_a_table_begins_where_it_is_told(bench: Bench) -> None:
    bench.put(0, 9)
    start = json.dumps({bench.topic: {"0": 2, "1": 3}})
    with bench.connect(f"start_at = '{start}'", kind="TABLE") as session:
        rows = session.query("SELECT n FROM s ORDER BY n").collect()
        assert [row["n"] for row in rows] == [2, 5, 6, 8]


def test_a_compacted_topic_keeps_the_last_row_of_each_group(bench: Bench) -> None:
    """`mode = 'upsert'`: over restarts, and once the broker has thrown away what was replaced."""
    kept = bench.topics.make(
        cleanup_policy="compact", min_cleanable_dirty_ratio="0.01", segment_ms="100"
    )
    brokers = f"connector = 'kafka', brokers = '{bench.topics.address}', topic = '{kept}'"
    counted = "SELECT site, count(*) AS n, max(n) AS last FROM s GROUP BY site"
    for first in (0, 40, 80):
        bench.put(first, first + 40)
        with bench.connect("max_messages_per_trigger = 20") as session:
            session.execute(
                f"CREATE SINK sites WITH ({brokers}, key = 'site', mode = 'upsert');"
                f"CREATE PIPELINE counting INTO sites AS {counted}"
            )
            session.start("counting", once=True).await_done(timeout=DEADLINE)
    expected = {}
    for site in range(3):
        numbers = [n for n in range(120) if n % 3 == site]
        key = f"s{site}".encode()
        expected[key] = {"site": f"s{site}", "n": len(numbers), "last": max(numbers)}

    def written() -> list[tuple[bytes | None, dict[str, Any]]]:
        found = committed(bench.topics.address, kept)
        return [(m.key, json.loads(m.value)) for m in found if m.key != b"end"]

    assert dict(written()) == expected, "the last of each key is that of now"

    def compacted() -> bool:
        """The broker compacts what stands in closed segments; one more message closes the last."""
        bench.topics.put(kept, [b"{}"], key=b"end")
        return len(written()) == len(expected)

    await_that(compacted, "what was replaced is gone")
    assert dict(written()) == expected
