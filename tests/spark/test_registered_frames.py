"""Data frames of the user's as sources: they have what files have."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import narrows
from narrows.worker.dead_letters import read_dead_letters

COLUMNS = "t BIGINT, v BIGINT, s STRING"
FAST = "100 milliseconds"
SHARED = {"shared": True, "start_at": "earliest"}


def payload(i: int) -> str:
    return json.dumps({"t": i * 1_000, "v": i, "s": f"s{i}"})


class Bench:
    """A folder of lines that Spark reads, and pipelines over the data frame."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.folder = folder
        (folder / "in").mkdir()
        self._files = 0
        self.session = self.connect()

    def connect(self) -> narrows.Session:
        self.session = narrows.connect(self.spark, state=self.folder / "state")
        return self.session

    def again(self, **options: Any) -> None:
        """The process has ended, and another one begins."""
        self.session.close()
        self.connect()
        self.register(**options)

    def put(self, *lines: str) -> None:
        hidden = self.folder / "in" / f".{self._files:04d}.txt"
        hidden.write_text("".join(f"{line}\n" for line in lines), "utf-8")
        hidden.rename(hidden.with_name(hidden.name[1:]))
        self._files += 1

    def lines(self) -> DataFrame:
        return self.spark.readStream.text(str(self.folder / "in"))

    def register(self, **options: Any) -> None:
        self.session.register("c", self.lines(), COLUMNS, **options)

    def pipeline(self, name: str, sql: str) -> str:
        self.session.execute(
            f"CREATE SINK {name}_out WITH (connector = 'memory');"
            f"CREATE PIPELINE {name} INTO {name}_out AS {sql}"
        )
        return name

    def once(self, *names: str, **options: Any) -> narrows.Run:
        return self.session.start(*names, once=True, **options).await_done(timeout=300)

    def rows(self, name: str) -> list[dict[str, Any]]:
        return sorted(self.session.rows(f"{name}_out"), key=json.dumps)

    @property
    def letters(self) -> list[dict[str, Any]]:
        return list(read_dead_letters(self.session.state.dead_letters("c")))


@pytest.fixture
def bench(small_data: SparkSession, tmp_path: Path) -> Iterator[Bench]:
    made = Bench(small_data, tmp_path)
    yield made
    made.session.close()


def wait_for(condition: Callable[[], object], seconds: float = 300) -> None:
    pause, deadline = threading.Event(), time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        pause.wait(0.05)


# --- pipelines ------------------------------------------------------------------------------------


def test_a_pipeline_goes_on_where_it_was(bench: Bench) -> None:
    bench.register()
    bench.pipeline("p", "SELECT v, s FROM c WHERE v <> 1")
    bench.put(payload(0), "bad", payload(1), "bad")
    run = bench.once("p")
    counts = run.progress["p"]["read"]["c"]
    assert (counts["payloads"], counts["bad"], counts["rows_shipped"]) == (4, 2, 1)
    assert [letter["payload"] for letter in bench.letters] == ["bad", "bad"]
    assert [letter["row"] for letter in bench.letters] == [1, 3]

    bench.put(payload(2), "bad")
    bench.again()
    bench.pipeline("p", "SELECT v, s FROM c WHERE v <> 1")
    run = bench.once("p")
    assert bench.rows("p") == [{"v": v, "s": f"s{v}"} for v in (0, 2)]
    assert run.progress["p"]["read"]["c"]["payloads"] == 6
    assert len(bench.letters) == 3
    assert len({(letter["batch"], letter["task"], letter["row"]) for letter in bench.letters}) == 3


def test_bad_payloads_that_are_dropped_or_end_it(bench: Bench) -> None:
    bench.put(payload(0), "bad")
    bench.register(on_error="drop")
    bench.pipeline("p", "SELECT v FROM c")
    run = bench.once("p")
    assert bench.rows("p") == [{"v": 0}]
    assert run.progress["p"]["read"]["c"]["bad"] == 1
    bench.register(on_error="fail")
    bench.pipeline("q", "SELECT v FROM c")
    with pytest.raises(narrows.NarrowsError, match=r"`q`: a payload of `c`, batch.*row 1: not"):
        bench.once("q")
    assert bench.letters == []


WINDOWS = "SELECT window_start() AS w, sum(v) AS n FROM c GROUP BY tumblingwindow('ss', 3)"


@pytest.mark.parametrize("more", [{}, SHARED], ids=["alone", "shared"])
def test_windows_of_event_time_close_at_the_end(bench: Bench, more: dict[str, Any]) -> None:
    options = {"eventtime": "t", "eventtime_unit": "ms", "watermark": "1 second", **more}
    bench.register(**options)
    bench.pipeline("p", WINDOWS)
    bench.put(*map(payload, range(5)), '{"v": 7}')
    bench.once("p")
    assert [row["n"] for row in bench.rows("p")] == [0 + 1 + 2, 3 + 4]
    assert bench.rows("p")[1]["w"] == "1970-01-01T00:00:03.000Z"
    (letter,) = bench.letters
    assert "event time `t` is missing" in letter["reason"]

    bench.put(payload(1), *map(payload, range(9, 13)))  # the first is late
    bench.again(**options)
    bench.pipeline("p", WINDOWS)
    bench.once("p")
    assert [row["n"] for row in bench.rows("p")] == [3, 7, 9 + 10 + 11, 12]


def test_windows_of_processing_time(bench: Bench) -> None:
    rate = bench.spark.readStream.format("rate").option("rowsPerSecond", 20).load()
    frame = rate.select(F.to_json(F.struct(F.col("value").alias("v"))).alias("value"))
    bench.session.register("c", frame, "v BIGINT")
    bench.pipeline("p", "SELECT count(*) AS n, min(v) AS v FROM c GROUP BY tumblingwindow('ss', 1)")
    run = bench.session.start("p", trigger=FAST)
    wait_for(lambda: len(bench.rows("p")) >= 2 or not run.is_running)
    run.stop()
    rows = sorted(bench.rows("p"), key=lambda row: row["v"])
    assert rows[0]["v"] == 0
    assert rows[1]["v"] == rows[0]["n"]  # nothing is between two windows


# --- shared ---------------------------------------------------------------------------------------


def test_pipelines_share_it_and_come_one_after_the_other(bench: Bench) -> None:
    bench.register(**SHARED)
    bench.pipeline("p", "SELECT v FROM c")
    bench.pipeline("q", "SELECT s, v FROM c")
    bench.pipeline("sums", "SELECT v, acc_sum(v) AS sum FROM c")
    bench.put(payload(0), "bad", payload(1))
    p = bench.session.start("p", trigger=FAST)
    wait_for(lambda: len(bench.rows("p")) == 2)
    bench.put()  # a micro-batch without a payload
    bench.put(payload(2))
    wait_for(lambda: len(bench.rows("p")) == 3)

    others = bench.session.start("q", "sums", trigger=FAST, start_at="latest")
    assert bench.session.shared_stream("c").decoding_columns == ["v", "s"]
    bench.put(payload(3), payload(4))
    wait_for(lambda: len(bench.rows("q")) == len(bench.rows("sums")) == 2)
    counts = others.progress["q"]["shared"]["c"]
    assert (counts["payloads"], counts["bad"], counts["rows_decoded"]) == (6, 1, 5)
    for run in (others, p):
        run.stop()
    assert len(bench.letters) == 1

    bench.put(payload(5))
    bench.again(**SHARED)
    bench.pipeline("p", "SELECT v FROM c")
    bench.pipeline("sums", "SELECT v, acc_sum(v) AS sum FROM c")
    bench.once("p", "sums")
    assert [row["v"] for row in bench.rows("p")] == list(range(6))
    assert [row["sum"] for row in bench.rows("sums")] == [3, 7, 12]


def test_who_wants_what_is_there_now_of_a_stream_that_never_stops(bench: Bench) -> None:
    live = bench.spark.readStream.format("rate").option("rowsPerSecond", 5).load()
    frame = live.select(F.to_json(F.struct(F.col("value").alias("v"))).alias("value"))
    bench.session.register("c", frame, "v BIGINT", shared=True)
    bench.pipeline("p", "SELECT v FROM c")
    bench.pipeline("q", "SELECT v FROM c")
    run = bench.session.start("p", trigger="2 seconds")  # so there is something new every time
    wait_for(lambda: bench.rows("p"))
    bench.once("q")
    assert bench.rows("q")
    assert run.status == {"p": "running"}


# --- queries --------------------------------------------------------------------------------------


def test_queries_over_a_data_frame(bench: Bench) -> None:
    lines = [("1,a",), ("oops",), (None,), ('2,"b\nc"',)]
    frame = bench.spark.createDataFrame(lines, "`the line` STRING").coalesce(1)
    bench.session.register(
        "c", frame, "n BIGINT, s STRING", payload="the line", format="csv", delimiter=","
    )
    bench.session.register("raw", frame, "line STRING", payload="the line", format="text")
    for _ in range(2):
        rows = bench.session.query("SELECT s, n + 1 FROM c ORDER BY n").collect()
        assert [tuple(row) for row in rows] == [("a", 2), ("b\nc", 3)]
        (letter,) = bench.letters  # a table is the same whenever it is read
        assert (letter["payload"], letter["row"]) == ("oops", 1)
    (counted,) = bench.session.query("SELECT count(*), max(length(line)) FROM raw").collect()
    assert tuple(counted) == (3, 7)


def test_windows_over_a_data_frame(bench: Bench) -> None:
    frame = bench.spark.createDataFrame([(payload(i),) for i in range(7)], "value STRING")
    bench.session.register("c", frame, COLUMNS, eventtime="t", watermark="1 second")
    found = bench.session.query(f"{WINDOWS} ORDER BY w").collect()
    assert [row["n"] for row in found] == [3, 12, 6]


# --- what is refused ------------------------------------------------------------------------------


def test_a_query_over_a_streaming_data_frame_is_refused(bench: Bench) -> None:
    for options in ({}, {"shared": True}):
        bench.register(**options)
        for sql in ("SELECT v FROM c", "SELECT count(*) FROM c", "EXPLAIN ANALYZE SELECT v FROM c"):
            with pytest.raises(narrows.NarrowsError) as caught:
                bench.session.execute(sql)
            assert caught.value.code == "not_supported"
            assert "`c` is a streaming data frame" in str(caught.value)
            assert "CREATE PIPELINE" in str(caught.value)


def test_what_is_no_payload_is_refused(bench: Bench) -> None:
    rate = bench.spark.readStream.format("rate").load()
    with pytest.raises(narrows.NarrowsError, match="`value` of the data frame is BIGINT") as caught:
        bench.session.register("c", rate, "v BIGINT")
    assert caught.value.code == "wrong_type"
    with pytest.raises(narrows.NarrowsError, match="has no column `payload`"):
        bench.session.register("c", rate, "v BIGINT", payload="payload")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"format": "parquet"}, "delivers messages, and format `parquet` is read from files only"),
        ({"format": "csv", "header": True}, "has no option `header`"),
        ({"path": "in"}, "has no option `path`"),
        ({"eventtime": "no"}, "the event-time column `no` is not in the schema"),
        ({"start_at": "earliest"}, "only a shared stream has a place where its pipelines begin"),
        ({"on_error": "ignore"}, "is one of dead_letter, drop, fail"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    bench: Bench, options: dict[str, Any], problem: str
) -> None:
    with pytest.raises(narrows.NarrowsError, match=problem):
        bench.register(**options)
