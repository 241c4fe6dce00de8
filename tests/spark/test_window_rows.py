"""Windows whose rows tasks keep give what Spark's state store gives: for every kind of window, and
whatever is made of the rows, over several runs that leave windows open."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.functions import arrow_udf

import narrows
from narrows.spark.keeping import window_steps
from narrows.spark.keeping.window_steps import SparkJobs
from narrows.spark.keeping.window_tasks import closed_frame
from narrows.spark.run.pipeline_run import PipelineRun
from narrows.worker.keeping.steps import StepLog
from narrows.worker.windows.keeper import Closed
from narrows.worker.windows.merge import Merge
from support.waiting import await_that

ROWS, FILES = 300, 3
BOUNDS = "window_start() AS since, window_end() AS until"
TUMBLING = "tumblingwindow('ss', 20)"
QUERIES = {
    "calls": f"SELECT k, {BOUNDS}, count(DISTINCT a) AS n, sort_array(collect_list(a)) AS l,"
    " percentile(a, 0.5) AS p, approx_count_distinct(s->x) AS c, first(k) AS f, count(*) AS m,"
    " sum(DISTINCT s->x) FILTER (WHERE d > 0) AS x, max(s->y[0]) AS y, sum(d) AS e"
    f" FROM ev WHERE a > 1 GROUP BY k, {TUMBLING}",
    "hopping": f"SELECT {BOUNDS}, count(DISTINCT k, a) AS n FROM ev WHERE reverse(k) <> 'y'"
    " GROUP BY hoppingwindow('ss', 30, 20) HAVING count(*) > 1",
    "sessions": f"SELECT k, upper(k) AS u, {BOUNDS}, count(DISTINCT a) AS n, count(*) AS m"
    " FROM ev WHERE a < 9 GROUP BY k, sessionwindow('ss', 4)",
    "whole": f"SELECT {BOUNDS}, sort_array(collect_set(k)) AS ks FROM ev WHERE a = 3"
    " GROUP BY sessionwindow('ss', 9)",
    "joined": "SELECT k, name, since, n FROM (SELECT k, max(a) AS most, count(DISTINCT a) AS n,"
    f" window_start() AS since FROM ev GROUP BY k, {TUMBLING}) w LEFT JOIN places ON most = id",
    "twice": "SELECT until, max(n) AS most, count(*) AS groups FROM (SELECT k, count(DISTINCT a)"
    f" AS n, window_end() AS until FROM ev GROUP BY k, {TUMBLING}) GROUP BY until",
    "computed": f"SELECT d, x, {BOUNDS}, count(*) AS n FROM (SELECT d, concat(k, k) AS x, ts"
    f" FROM ev) WHERE x > 'a' GROUP BY d, x, {TUMBLING}",
    "lists": f"SELECT y, {BOUNDS}, count(DISTINCT a) AS n FROM ev LATERAL VIEW explode(s.y) AS y"
    f" GROUP BY y, hoppingwindow('ss', 7, 2)",
    "rows": f"SELECT a, k, d, s->x AS x, {BOUNDS} FROM ev WHERE d > 0 GROUP BY {TUMBLING}",
    "own": f"SELECT k, {BOUNDS}, reach(a) AS r FROM ev WHERE a > 1 GROUP BY k, {TUMBLING}",
    "last": f"SELECT {BOUNDS}, last_row(a) AS a, last_row(k) AS k FROM ev GROUP BY {TUMBLING}",
}
RULES = ("window_into_reader", "window_rows_into_reader")


def _switch(session: narrows.Session, setting: str) -> None:
    for rule in RULES:
        session.execute(f"SET narrows.rule.{rule} = {setting}")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = Path(tmp_path_factory.mktemp("kept"))
    (folder / "all").mkdir()
    random = Random(23)

    def row(place: int) -> dict[str, Any]:
        return {
            # Rows come late, but in time: up to five seconds.
            "ts": 1_000_000 + 1_000 * place - random.randrange(5_000),
            "k": random.choice(["x", "y", "z", None]),
            "a": random.choice([None, *range(10)]),
            "d": random.choice([None, 0.5, 0.25, -1.5]),
            "s": random.choice([None, {"x": place % 7, "y": ["p", "q"][: place % 3]}]),
        }

    for part in range(FILES):
        rows = [row(place) for place in range(part * ROWS // FILES, (part + 1) * ROWS // FILES)]
        (folder / "all" / f"{part}.json").write_text("".join(f"{json.dumps(r)}\n" for r in rows))
    (folder / "places").mkdir()
    places = [{"id": number, "name": f"place {number}"} for number in (3, 5, 8, 9)]
    (folder / "places" / "all.json").write_text("".join(f"{json.dumps(p)}\n" for p in places))
    return folder


@pytest.fixture
def session(small_data: SparkSession, folder: Path, tmp_path: Path) -> Iterator[narrows.Session]:
    (tmp_path / "in").mkdir()

    @arrow_udf("double")  # type: ignore[call-overload, untyped-decorator]
    def reach(values: pa.Array) -> float:
        return float(pc.max(values).as_py() - pc.min(values).as_py())

    small_data.udf.register("reach", reach)  # Spark's session knows it, and no other
    with narrows.connect(small_data, state=tmp_path / "state") as session:
        session.execute(
            "CREATE STREAM ev (ts BIGINT, k STRING, a BIGINT, d DOUBLE,"
            " s STRUCT<x: BIGINT, y: ARRAY<STRING>>) WITH (connector = 'file',"
            f" path = '{tmp_path / 'in'}', eventtime = 'ts', eventtime_unit = 'ms',"
            " watermark = '6 seconds');"
            "CREATE TABLE places (id BIGINT, name STRING) WITH (connector = 'file',"
            f" path = '{folder / 'places'}')"
        )
        yield session


def _declare(session: narrows.Session, suffix: str) -> list[str]:
    names = [f"{name}_{suffix}" for name in QUERIES]
    for name, query in zip(names, QUERIES.values(), strict=True):
        session.execute(f"CREATE SINK out_{name} WITH (connector = 'memory')")
        session.execute(f"CREATE PIPELINE {name} INTO out_{name} AS {query}")
    return names


def _rows(session: narrows.Session, name: str) -> list[str]:
    return sorted(map(repr, session.rows(f"out_{name}")))


def _has_read(pipeline: PipelineRun, number: int) -> bool:
    return any(batch.number == number for batch in pipeline.query.batches)


def _is_kept_by_tasks(session: narrows.Session, name: str) -> bool:
    return StepLog(session.state.windows(name)).last() is not None


def test_tasks_keep_rows_as_spark_does(
    session: narrows.Session, folder: Path, tmp_path: Path
) -> None:
    by_tasks, by_spark = _declare(session, "tasks"), _declare(session, "spark")
    for part in range(FILES):
        shutil.copy(folder / "all" / f"{part}.json", tmp_path / "in")
        last = part == FILES - 1
        for setting, names in (("on", by_tasks), ("off", by_spark)):
            _switch(session, setting)
            session.start(*names, once=True, close_windows=last).await_done(timeout=300)
    for mine, theirs in zip(by_tasks, by_spark, strict=True):
        assert _is_kept_by_tasks(session, mine), mine
        assert not _is_kept_by_tasks(session, theirs), theirs
        assert len(_rows(session, theirs)) > 5, theirs
        assert _rows(session, mine) == _rows(session, theirs), mine


def test_a_pipeline_goes_on_with_rows_that_spark_has_kept(
    session: narrows.Session, folder: Path, tmp_path: Path
) -> None:
    session.execute("CREATE SINK out WITH (connector = 'memory')")
    session.execute(
        "CREATE PIPELINE p INTO out AS SELECT count(*) AS n, count(DISTINCT a) AS d"
        " FROM ev GROUP BY tumblingwindow('mi', 3)"
    )
    shutil.copy(folder / "all" / "0.json", tmp_path / "in")
    _switch(session, "off")  # as a Narrows did that knew no better
    session.start("p", once=True, close_windows=False).await_done(timeout=300)
    _switch(session, "on")
    for part in (1, 2):
        shutil.copy(folder / "all" / f"{part}.json", tmp_path / "in")
    session.start("p", once=True).await_done(timeout=300)
    assert sum(row["n"] for row in session.rows("out")) == ROWS
    assert not _is_kept_by_tasks(session, "p")
    session.state.reset("p")
    session.start("p", once=True).await_done(timeout=300)
    assert sum(row["n"] for row in session.rows("out")) == 2 * ROWS, "beside the others"
    assert _is_kept_by_tasks(session, "p")


def test_a_pipeline_goes_on_with_rows_that_tasks_have_kept(
    session: narrows.Session, folder: Path, tmp_path: Path
) -> None:
    session.execute("CREATE SINK out WITH (connector = 'memory')")
    session.execute(
        "CREATE PIPELINE p INTO out AS SELECT count(*) AS n FROM ev"
        " GROUP BY tumblingwindow('hh', 1)"
    )
    shutil.copy(folder / "all" / "0.json", tmp_path / "in")
    session.execute(f"SET narrows.rule.{RULES[0]} = off")  # as before tasks could fold such
    session.start("p", once=True, close_windows=False).await_done(timeout=300)
    session.execute(f"SET narrows.rule.{RULES[0]} = on")
    shutil.copy(folder / "all" / "1.json", tmp_path / "in")
    session.start("p", once=True).await_done(timeout=300)
    assert sum(row["n"] for row in session.rows("out")) == 2 * ROWS // FILES


@pytest.mark.parametrize(
    ("name", "plans"),
    [("twice", 1), ("sessions", 1), ("rows", 1), ("joined", None)],
)
def test_what_becomes_of_few_rows_is_planned_once(
    session: narrows.Session,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    plans: int | None,
) -> None:
    """But for tables, which may be others when the next window closes: where none does, nothing is
    planned."""
    planned, closing = [], []

    def plan(*arguments: Any) -> DataFrame:
        planned.append(arguments)
        return closed_frame(*arguments)

    def close(jobs: SparkJobs, merge: Merge) -> Closed:
        closing.append(merge)
        return close_windows(jobs, merge)

    close_windows = SparkJobs.close
    monkeypatch.setattr(window_steps, "closed_frame", plan)
    monkeypatch.setattr(SparkJobs, "close", close)
    session.execute("CREATE SINK out WITH (connector = 'memory')")
    session.execute(f"CREATE PIPELINE p INTO out AS {QUERIES[name]}")
    lines = (folder / "all" / "0.json").read_text().splitlines(keepends=True)
    run = session.start("p", trigger="0 seconds")
    for number, first in enumerate(range(0, len(lines), 10)):
        hidden = tmp_path / "in" / f".{number}.json"
        hidden.write_text("".join(lines[first : first + 10]))
        hidden.rename(tmp_path / "in" / f"{number}.json")
        await_that(partial(_has_read, run.pipelines[0], number), "the entry is read")
    run.stop()
    assert 1 < len(closing) < 10, "some entries close windows, and some do not"
    assert len(planned) == (len(closing) + 1 if plans is None else plans)


def test_rows_that_a_run_has_left_come_when_the_next_one_closes(
    session: narrows.Session, folder: Path, tmp_path: Path
) -> None:
    session.execute("CREATE SINK out WITH (connector = 'memory')")
    session.execute(
        "CREATE PIPELINE p INTO out AS SELECT k, count(*) AS n, count(DISTINCT a) AS d FROM ev"
        " GROUP BY k, tumblingwindow('hh', 1)"
    )
    shutil.copy(folder / "all" / "0.json", tmp_path / "in")
    session.start("p", once=True, close_windows=False).await_done(timeout=300)
    assert session.rows("out") == []
    session.start("p", once=True).await_done(timeout=300)
    assert sum(row["n"] for row in session.rows("out")) == ROWS // FILES
    session.start("p", once=True).await_done(timeout=300)
    assert sum(row["n"] for row in session.rows("out")) == ROWS // FILES, "once"
    shutil.copy(folder / "all" / "2.json", tmp_path / "in")
    run = session.start("p", once=True).await_done(timeout=300)
    assert run.progress["p"]["late"] == ROWS // FILES, "their hour is over"
