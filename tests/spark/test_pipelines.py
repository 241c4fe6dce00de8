"""Pipelines: files to files, once and again, dead letters, restarts, clear refusals."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import narrows
from narrows.worker.dead_letters import read_dead_letters


class Bench:
    """A stream, a sink and a session in a folder of their own."""

    def __init__(self, spark: SparkSession, folder: Path, options: str = "") -> None:
        """The options are those of the pipeline."""
        self.spark = spark
        self.folder = folder
        self.options = options
        (folder / "in").mkdir()
        self.session = self.connect()

    def connect(
        self, sql: str = "SELECT a, b->c AS c FROM s", options: str = ""
    ) -> narrows.Session:
        session = narrows.connect(self.spark, state=self.folder / "state")
        session.execute(
            f"""
            CREATE STREAM s (a BIGINT, b STRUCT<c: BIGINT, d: STRING>)
              WITH (connector = 'file', path = '{self.folder}/in'{options});
            CREATE SINK out WITH (connector = 'file', path = '{self.folder}/out');
            CREATE SINK copy WITH (connector = 'memory');
            CREATE PIPELINE p INTO out, copy {self.options} AS {sql};
            """
        )
        return session

    def reconnect(self, **changes: str) -> narrows.Session:
        self.session.close()
        self.session = self.connect(**changes)
        return self.session

    def put(self, name: str, *lines: str) -> None:
        hidden = self.folder / "in" / f".{name}"  # it is there all at once
        hidden.write_text("".join(f"{line}\n" for line in lines), "utf-8")
        hidden.rename(hidden.with_name(name))

    def rows(self, first: int, last: int) -> list[str]:
        return [json.dumps({"a": i, "b": {"c": i * 10, "d": "x"}}) for i in range(first, last)]

    def run(self) -> narrows.Session:
        self.session.start("p", once=True).await_done(timeout=120)
        return self.session

    def output(self) -> list[int]:
        files = sorted((self.folder / "out").glob("[!.]*.json"))
        return sorted(json.loads(line)["a"] for f in files for line in f.read_text().splitlines())

    def dead(self) -> list[dict[str, object]]:
        return list(read_dead_letters(self.folder / "state" / "dead_letters" / "s"))


@pytest.fixture
def batches(spark: SparkSession, tmp_path: Path) -> Iterator[Bench]:
    """Whatever it runs has micro-batches."""
    made = Bench(spark, tmp_path)
    yield made
    made.session.close()


@pytest.fixture(params=["", "WITH (latency = 'low')"], ids=["micro-batches", "low-latency"])
def bench(spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Bench]:
    """What holds, holds with and without micro-batches."""
    made = Bench(spark, tmp_path, request.param)
    yield made
    made.session.close()


def test_each_file_is_taken_once_over_restarts(bench: Bench) -> None:
    bench.put("a.json", *bench.rows(0, 5))
    bench.run()
    assert bench.output() == list(range(5))
    bench.put("b.json", *bench.rows(5, 8))
    bench.reconnect()
    bench.run()
    assert bench.output() == list(range(8))
    bench.run()
    assert bench.output() == list(range(8))


def test_every_sink_gets_every_row(bench: Bench) -> None:
    bench.put("a.json", *bench.rows(0, 3))
    session = bench.run()
    expected = [{"a": i, "c": i * 10} for i in range(3)]
    assert sorted(session.rows("copy"), key=lambda row: int(row["a"])) == expected


def test_admission_limits_give_several_batches(bench: Bench) -> None:
    for number in range(5):
        bench.put(f"{number}.json", *bench.rows(number, number + 1))
    bench.reconnect(options=", max_files_per_trigger = 2")
    bench.run()
    assert bench.output() == list(range(5))
    batches = {path.name.split("-")[1] for path in (bench.folder / "out").glob("*.json")}
    assert len(batches) == 3


def test_bad_payloads_become_dead_letters(bench: Bench) -> None:
    bench.put("a.json", *bench.rows(0, 2), "{", "[]", "7", *bench.rows(2, 3))
    bench.run()
    assert bench.output() == [0, 1, 2]
    assert [letter["payload"] for letter in bench.dead()] == ["{", "7"]
    assert all(
        letter["reason"] and str(letter["file"]).endswith("a.json") for letter in bench.dead()
    )


def test_drop_and_fail(bench: Bench) -> None:
    bench.put("a.json", *bench.rows(0, 2), "{")
    bench.reconnect(options=", on_error = 'drop'")
    bench.run()
    assert bench.output() == [0, 1]
    assert bench.dead() == []
    bench.session.state.reset("p")
    bench.reconnect(options=", on_error = 'fail'")
    with pytest.raises(narrows.NarrowsError, match=r"a\.json, offset"):
        bench.run()


def test_a_reset_pipeline_overwrites_nothing(bench: Bench) -> None:
    bench.put("a.json", *bench.rows(0, 2))
    bench.run()
    before = {path: path.read_bytes() for path in (bench.folder / "out").glob("*.json")}
    bench.session.state.reset("p")
    bench.put("b.json", *bench.rows(2, 3))
    bench.reconnect()
    bench.run()
    assert bench.output() == [0, 0, 1, 1, 2]
    assert {path: path.read_bytes() for path in before} == before


def test_two_runs_on_one_state_folder_are_refused(bench: Bench) -> None:
    bench.put("a.json", *bench.rows(0, 1))
    bench.run()
    other = bench.connect()
    with pytest.raises(narrows.NarrowsError, match="is running pipelines on the state folder"):
        other.start("p", once=True)


def test_a_changed_projection_goes_on_where_it_was(bench: Bench) -> None:
    bench.put("a.json", *bench.rows(0, 2))
    bench.run()
    bench.put("b.json", *bench.rows(2, 4))
    bench.reconnect(sql="SELECT a FROM s WHERE b->c < 30")
    bench.run()
    assert bench.output() == [0, 1, 2]


def test_a_checkpoint_that_does_not_fit_is_explained(batches: Bench) -> None:
    batches.put("a.json", *batches.rows(0, 2))
    batches.run()
    batches.reconnect(sql="SELECT max(a) AS a FROM s")
    with pytest.raises(narrows.NarrowsError) as caught:
        batches.run()
    assert caught.value.code == "checkpoint_mismatch"
    assert "narrows reset p" in str(caught.value)


def test_counts_tell_what_was_read_and_shipped(bench: Bench) -> None:
    bench.put("a.json", *bench.rows(0, 10), "{")
    bench.reconnect(sql="SELECT a FROM s WHERE b->c >= 50")
    run = bench.session.start("p", once=True).await_done(timeout=120)
    counts = run.progress["p"]["read"]["s"]
    assert (counts["payloads"], counts["bad"]) == (11, 1)
    assert (counts["rows_decoded"], counts["rows_shipped"]) == (10, 5)


def test_a_running_pipeline_picks_up_new_files_and_stops(bench: Bench) -> None:
    bench.put("a.json", *bench.rows(0, 2))
    run = bench.session.start("p", trigger="100 milliseconds")
    _wait_for(lambda: bench.output() == [0, 1])
    bench.put("b.json", *bench.rows(2, 4))
    _wait_for(lambda: bench.output() == [0, 1, 2, 3])
    run.stop()
    assert run.status == {"p": "stopped"}


def test_payloads_of_any_data_frame(batches: Bench, spark: SparkSession) -> None:
    payloads = [('{"id": 1, "n": {"v": 2}}',), ("broken",), ('{"id": 3}',)]
    frame = spark.createDataFrame(payloads, "body STRING")
    batches.session.register("t", frame, schema="id BIGINT, n STRUCT<v: INT>", payload="body")
    rows = batches.session.query("SELECT id, n->v FROM t").collect()
    assert sorted(tuple(row) for row in rows) == [(1, 2), (3, None)]
    letters = list(read_dead_letters(batches.folder / "state" / "dead_letters" / "t"))
    assert [letter["payload"] for letter in letters] == ["broken"]


def _wait_for(condition: object, seconds: float = 300) -> None:
    import threading
    import time

    pause, deadline = threading.Event(), time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline, "it did not happen in time"
        pause.wait(0.05)


def test_aggregates_without_window_write_what_changed(batches: Bench) -> None:
    batches.reconnect(sql="SELECT a % 2 AS odd, count(*) AS n FROM s GROUP BY a % 2")
    batches.put("a.json", *batches.rows(0, 5))
    batches.run()
    batches.put("b.json", *batches.rows(5, 6))
    rows = batches.run().rows("copy")
    assert sorted((row["odd"], row["n"]) for row in rows) == [(0, 3), (1, 2), (1, 3)]


def test_names_are_not_paths_and_have_no_case(batches: Bench) -> None:
    before = sorted(path.name for path in batches.folder.parent.iterdir())
    batches.put("a.json", *batches.rows(0, 3), "{")
    options = f"WITH (connector = 'file', path = '{batches.folder}/in'"
    for case in (str, str.lower):
        session = batches.reconnect()
        plain, shared, kept, twice = map(case, ("../../S *", "../T", "../../P [x]%41\n", "../q#1"))
        session.execute(
            f"""
            CREATE STREAM `{plain}` (a BIGINT) {options});
            CREATE STREAM `{shared}` (a BIGINT) {options}, shared = true, start_at = 'earliest');
            CREATE SINK `{case("../../Out")}` WITH (connector = 'memory');
            CREATE PIPELINE `{kept}` INTO `../../out`
              AS SELECT a, count(*) AS n FROM `{plain}` GROUP BY a;
            CREATE PIPELINE `{twice}` INTO out AS SELECT a FROM `{shared}`;
            """
        )
        session.start(kept, twice, once=True).await_done(timeout=120)
    assert sorted(path.name for path in batches.folder.parent.iterdir()) == before
    assert sorted(path.name for path in batches.folder.iterdir()) == ["in", "out", "state"]
    assert sorted(row["a"] for row in session.rows("../../OUT")) == [0, 1, 2]
    assert batches.output() == [0, 1, 2]
    assert len(list(read_dead_letters(session.state.dead_letters("../../s *")))) == 1
    assert len(list(read_dead_letters(session.state.dead_letters("../t")))) == 1
