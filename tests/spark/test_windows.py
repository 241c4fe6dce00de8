"""Windows while a pipeline runs: time that goes by, ends of bounded runs, what is refused."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import narrows
from narrows.connectors.base import Share
from narrows.files.ranges import FileRange
from narrows.logical.walk import topological
from narrows.physical.nodes import PhysicalDecoder
from narrows.planner.query import plan
from narrows.spark.read.reader import read_spec
from narrows.spark.windows.closing import ClosedMark
from narrows.worker.dead_letters import read_dead_letters
from narrows.worker.keeping.steps import StepLog
from narrows.worker.read import read_share
from narrows.worker.watermark import checkpoint_watermark


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    return tmp_path


@pytest.fixture
def session(spark: SparkSession, folder: Path) -> Iterator[narrows.Session]:
    with narrows.connect(spark, state=folder / "state") as made:
        made.execute(
            f"""
            CREATE STREAM timed (k BIGINT, a BIGINT, ts BIGINT)
              WITH (connector = 'file', path = '{folder}/in', eventtime = 'ts',
                    eventtime_unit = 's', watermark = '2 seconds');
            CREATE STREAM plain (k BIGINT, a BIGINT)
              WITH (connector = 'file', path = '{folder}/in');
            CREATE SINK out WITH (connector = 'memory');
            """
        )
        yield made


def put(folder: Path, name: str, *rows: dict[str, Any]) -> None:
    hidden = folder / "in" / f".{name}"
    hidden.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    hidden.rename(folder / "in" / name)


def wait_for(holds: Callable[[], bool], run: narrows.Run) -> None:
    deadline = time.monotonic() + 180
    while not holds():
        run.raise_if_failed()
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.1)


def test_windows_in_processing_time_close_when_no_row_comes(
    session: narrows.Session, folder: Path
) -> None:
    session.execute(
        "CREATE PIPELINE p INTO out AS SELECT k, sum(a) AS total FROM plain"
        " GROUP BY k, tumblingwindow('ss', 1)"
    )
    put(folder, "a.json", {"k": 1, "a": 2}, {"k": 1, "a": 3}, {"k": 2, "a": 4})
    run = session.start("p", trigger="200 milliseconds")
    try:
        wait_for(lambda: len(session.rows("out")) == 2, run)
    finally:
        run.stop()
    rows = sorted(session.rows("out"), key=lambda row: row["k"])
    assert rows == [{"k": 1, "total": 5}, {"k": 2, "total": 4}]


@pytest.mark.parametrize("keeps", ["tasks", "spark"])
def test_runs_that_end_close_windows_once(
    session: narrows.Session, folder: Path, keeps: str
) -> None:
    for rule in ("window_into_reader", "window_rows_into_reader"):
        session.execute(f"SET narrows.rule.{rule} = {'on' if keeps == 'tasks' else 'off'}")
    session.execute(
        "CREATE PIPELINE p INTO out AS SELECT k, count(*) AS n, window_start() AS since FROM timed"
        " GROUP BY k, tumblingwindow('ss', 10)"
    )

    def watermark() -> int:
        if keeps == "spark":
            return checkpoint_watermark(session.state.checkpoint("p"))
        last = StepLog(session.state.windows("p")).last()
        assert last is not None
        return last.watermark

    put(folder, "a.json", {"k": 1, "ts": 1000}, {"k": 1, "ts": 1009})
    session.start("p", once=True).await_done(timeout=180)
    assert [row["n"] for row in session.rows("out")] == [2]
    closed = watermark()
    assert closed == 1_010_000, "at the end of the last window, and no later"
    session.start("p", once=True).await_done(timeout=180)
    assert watermark() == closed, "there was nothing to close"
    put(folder, "b.json", {"k": 1, "ts": 1005}, {"k": 1, "ts": 1010})
    run = session.start("p", once=True).await_done(timeout=180)
    assert [row["n"] for row in session.rows("out")] == [2, 1], (
        "a new window; the late row is not in it"
    )
    assert run.progress["p"]["late"] == 1


def test_rows_without_a_time_are_dead_letters(session: narrows.Session, folder: Path) -> None:
    put(
        folder, "a.json", {"k": 1, "ts": 5}, {"k": 2}, {"k": 3, "ts": "soon"}, {"k": 4, "ts": 2**62}
    )
    rows = session.query("SELECT k FROM timed").collect()
    assert [row["k"] for row in rows] == [1]
    letters = list(read_dead_letters(folder / "state" / "dead_letters" / "timed"))
    assert [letter["reason"] for letter in letters] == [
        "the event time `ts` is missing, or cannot be read",
        "the event time `ts` is missing, or cannot be read",
        "the event time `ts` is out of range",
    ]
    assert [json.loads(letter["payload"])["k"] for letter in letters] == [2, 3, 4]


def test_a_subquery_below_a_window_gives_no_hidden_columns(
    session: narrows.Session, folder: Path
) -> None:
    put(folder, "a.json", *({"k": i % 3, "a": i, "ts": i} for i in range(12)))
    (folder / "keys.json").write_text('{"x": 1}\n{"x": 2}\n', "utf-8")
    path = folder / "keys.json"
    session.execute(f"CREATE TABLE keys (x BIGINT) WITH (connector = 'file', path = '{path}')")
    counted = "SELECT k, count(*) AS n FROM timed WHERE k IN (SELECT x FROM keys)"
    query = f"{counted} GROUP BY k, tumblingwindow('ss', 6)"
    assert sorted(map(tuple, session.query(query).collect())) == [(1, 2), (1, 2), (2, 2), (2, 2)]


def test_groups_that_nobody_asks_anything_of(session: narrows.Session, folder: Path) -> None:
    put(folder, "a.json", *({"k": i % 3, "a": i, "ts": i} for i in range(12)))
    for window in (
        "tumblingwindow('ss', 6)",
        "hoppingwindow('ss', 6, 3)",
        "sessionwindow('ss', 4)",
        "slidingwindow('ss', 6)",
        "countwindow(2)",
        "statewindow(a > 3, a > 7)",
    ):
        groups = f"(SELECT k, count(*) AS n FROM timed GROUP BY k, {window}) x"
        asked = [row.k for row in session.query(f"SELECT x.k, x.n FROM {groups}").collect()]
        found = session.query(f"SELECT x.k FROM {groups}").collect()
        assert sorted(row.k for row in found) == sorted(asked)
        assert asked


@pytest.mark.parametrize("window", ["sessionwindow('ss', 3)", "countwindow(2)"])
def test_what_a_subquery_does_with_a_table_is_no_state_of_the_stream(
    session: narrows.Session, folder: Path, window: str
) -> None:
    """Its aggregates end, so windows are written once, when they close; and DISTINCT is allowed."""
    put(folder, "a.json", *({"k": i % 3, "a": i, "ts": i} for i in range(12)))
    put(folder, "b.json", *({"k": i % 3, "a": i, "ts": i} for i in range(12, 30)))
    (folder / "keys.json").write_text('{"x": 1}\n{"x": 1}\n{"x": 2}\n', "utf-8")
    path = folder / "keys.json"
    session.execute(f"CREATE TABLE keys (x BIGINT) WITH (connector = 'file', path = '{path}')")
    tests = (
        "k <= (SELECT max(x) FROM keys WHERE keys.x = timed.k)"
        " AND k IN (SELECT DISTINCT x FROM keys)"
        " AND k <= (SELECT count(DISTINCT x) FROM keys)"
    )
    query = f"SELECT k, count(*) AS n FROM timed WHERE {{}} GROUP BY k, {window}"
    session.execute("CREATE SINK written WITH (connector = 'memory')")
    session.execute(f"CREATE PIPELINE counted INTO written AS {query.format(tests)}")
    session.start("counted", once=True).await_done(timeout=120)
    written = sorted((row["k"], row["n"]) for row in session.rows("written"))
    expected = session.query(query.format("k IN (1, 2)")).collect()
    assert written == sorted((row["k"], row["n"]) for row in expected)


def test_sessions_of_a_whole_stream_that_was_computed(
    session: narrows.Session, folder: Path
) -> None:
    times = (1, 2, 3, 10, 11, 30)
    put(folder, "a.json", *({"k": 1, "a": i, "ts": time} for i, time in enumerate(times)))
    computed = "(SELECT upper(k) AS k, a + 1 AS a FROM timed WHERE a >= 0)"
    session.execute(
        f"CREATE PIPELINE p INTO out AS SELECT count(*) AS n, sum(a) AS total FROM {computed}"
        " GROUP BY sessionwindow('ss', 4)"
    )
    session.start("p", once=True).await_done(timeout=120)
    assert sorted((row["n"], row["total"]) for row in session.rows("out")) == [
        (1, 6),
        (2, 9),
        (3, 6),
    ]


def test_the_place_of_a_row_does_not_depend_on_tests_or_tasks(
    session: narrows.Session, folder: Path
) -> None:
    put(folder, "a.json", *({"k": i % 2, "a": i, "ts": 1} for i in range(10)))
    path = folder / "in" / "a.json"
    planned = plan("SELECT lag(a) FROM timed", session.catalog)
    (decoder,) = [n for n in topological(planned.physical) if isinstance(n, PhysicalDecoder)]
    spec = read_spec(decoder)
    share = Share([FileRange(str(path), 0, path.stat().st_size)], [2])
    batches = read_share(spec, share, batch=3)
    places = [place for batch in batches for place in batch.column(spec.order).to_pylist()]
    assert places == [{"batch": 3, "row": (2 << 40) + row} for row in range(10)]


def test_order_over_many_partitions(session: narrows.Session, folder: Path) -> None:
    """Files of a stream are read by several tasks; functions see their rows in order."""
    for number in range(6):
        put(folder, f"{number}.json", *({"a": number * 10 + i, "ts": 1} for i in range(10)))
    rows = session.query("SELECT a, lag(a) AS before FROM timed").collect()
    assert sorted((row["a"], row["before"]) for row in rows) == [
        (number, number - 1 if number else None) for number in range(60)
    ]


def test_order_above_a_join_with_a_table(session: narrows.Session, folder: Path) -> None:
    """A row that matches twice is two rows, in the order of the table."""
    put(folder, "a.json", *({"k": i % 2, "a": i, "ts": 1} for i in range(4)))
    names = [json.dumps({"id": 0, "name": "x"}), json.dumps({"id": 0, "name": "y"})]
    (folder / "names.json").write_text("\n".join(names), "utf-8")
    session.execute(
        "CREATE TABLE names (id BIGINT, name STRING)"
        f" WITH (connector = 'file', path = '{folder}/names.json')"
    )
    rows = session.query(
        "SELECT a, name, lag(concat(a, name)) AS before FROM timed JOIN names ON k = id"
    ).collect()
    assert sorted(map(tuple, rows)) == [
        (0, "x", None),
        (0, "y", "0x"),
        (2, "x", "0y"),
        (2, "y", "2x"),
    ]


def test_order_of_payloads_in_a_data_frame(session: narrows.Session) -> None:
    payloads = [(json.dumps({"a": number}),) for number in range(20)]
    session.register("frame", session.spark.createDataFrame(payloads, "value STRING"), "a BIGINT")
    rows = session.query("SELECT a, lag(a) AS before FROM frame").collect()
    assert {(row["a"], row["before"]) for row in rows} == {
        (number, number - 1 if number else None) for number in range(20)
    }


def test_text_is_a_number_only_for_whoever_adds_it_up(session: narrows.Session) -> None:
    payloads = [(json.dumps({"t": text}),) for text in ("1", "x", "2.5")]
    data = session.spark.createDataFrame(payloads, "value STRING").coalesce(1)
    session.register("frame", data, "t STRING")
    sql = "SELECT t, lag(t) AS before, acc_sum(t) AS total, acc_max(t) AS most FROM frame"
    rows = session.query(sql).collect()
    assert sorted(map(tuple, rows)) == [
        ("1", None, 1.0, "1"),
        ("2.5", "x", 3.5, "x"),
        ("x", "1", 1.0, "x"),
    ]


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("SELECT count(DISTINCT a) AS n FROM timed", "without end"),
        (
            "SELECT count(DISTINCT a) AS n FROM timed GROUP BY tumblingwindow('ss', 1) ORDER BY n",
            "cannot be sorted",
        ),
        (
            "SELECT lag(x) AS l FROM plain LATERAL VIEW explode(array(a, k)) t AS x",
            "the rows of a generator have none",
        ),
    ],
)
def test_what_a_stream_cannot_do_is_said(session: narrows.Session, sql: str, reason: str) -> None:
    with pytest.raises(narrows.NarrowsError, match=reason):
        session.execute(f"CREATE PIPELINE p INTO out AS {sql}; START PIPELINE p")


def test_the_mark_of_closed_windows_goes_when_a_run_begins(tmp_path: Path) -> None:
    mark, commits = tmp_path / "p.closed", tmp_path / "checkpoint" / "commits"
    commits.mkdir(parents=True)
    assert not ClosedMark(mark, tmp_path / "checkpoint").holds
    ClosedMark(mark, tmp_path / "checkpoint").set(700)
    assert not ClosedMark(mark, tmp_path / "checkpoint").holds, "promised, but never done"
    for batch, watermark in ((9, 600), (10, 700)):
        text = f'v1\n{{"nextBatchWatermarkMs":{watermark}}}'
        (commits / str(batch)).write_text(text, "utf-8")
    ClosedMark(mark, tmp_path / "checkpoint").set(700)
    assert ClosedMark(mark, tmp_path / "checkpoint").holds
    assert not ClosedMark(mark, tmp_path / "checkpoint").holds, "the run before took it away"
