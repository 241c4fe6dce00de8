"""Windows that tasks keep give the rows that Spark's state store gives: for every kind of window,
aggregate and type of key, over several runs that leave windows open."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import narrows
from narrows.spark.keeping.closing import ClosingRun
from narrows.worker.keeping.steps import StepLog
from support.kept_calls import COLUMNS, all_calls, chosen_calls, random_columns, spread_calls
from support.waiting import await_that

ROWS, FILES = 300, 3


BOUNDS = "window_start() AS since, window_end() AS until"
QUERIES = {
    "tumbling": f"SELECT k, {BOUNDS}, {all_calls()} FROM ev GROUP BY k, tumblingwindow('ss', 20)",
    "hopping": f"SELECT m, o, t, {BOUNDS}, count(*) AS n, max(s) AS x FROM ev WHERE i < 100"
    " GROUP BY m, o, t, hoppingwindow('ss', 30, 20) HAVING count(*) > 1",
    "whole": f"SELECT {BOUNDS}, sum(l) AS x, max(d) AS y FROM ev"
    " GROUP BY hoppingwindow('ss', 7, 2)",
    "chosen": f"SELECT k, {BOUNDS}, {chosen_calls()} FROM ev"
    " GROUP BY k, hoppingwindow('ss', 30, 20)",
    "spread": f"SELECT k, {BOUNDS}, {spread_calls()} FROM ev GROUP BY k, sessionwindow('ss', 4)",
    "joined": "SELECT k, n, since, m.i FROM (SELECT k, count(*) AS n, max(t) AS t,"
    " window_start() AS since FROM ev GROUP BY k, tumblingwindow('ss', 20)) w"
    " LEFT JOIN marks m ON w.t = m.i",
    "in_order": f"SELECT k, {BOUNDS}, count(*) AS n FROM ev GROUP BY k, hoppingwindow('ss', 30, 20)"
    " ORDER BY n, k PER BATCH",
    "sessions": f"SELECT p, y, s, b, upper(s) AS u, {BOUNDS}, count(*) AS n, max(w) AS x FROM ev"
    " GROUP BY p, y, s, b, sessionwindow('ss', 25)",
}
OFF, ON = (
    "; ".join(
        f"SET narrows.rule.{rule} = {setting}"
        for rule in ("window_into_reader", "window_rows_into_reader")
    )
    for setting in ("off", "on")
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = Path(tmp_path_factory.mktemp("kept"))
    random = Random(19)
    # Rows come late, but in time: up to five seconds.
    times = [1_000_000 + 1_000 * place - random.randrange(5_000) for place in range(ROWS)]
    assert len(set(times)) == ROWS, "one of them is the latest"
    table = pa.table(
        [
            pa.array(times, pa.int64()),
            pa.array([random.choice("xyz") for _ in range(ROWS)], pa.string()),
            *random_columns(random, ROWS),
        ],
        names=["ts", "k", *COLUMNS],
    )
    (folder / "all").mkdir()
    for part in range(FILES):
        rows = table.slice(part * ROWS // FILES, ROWS // FILES)
        pq.write_table(rows, folder / "all" / f"{part}.parquet")
    (folder / "marks").mkdir()
    (folder / "marks" / "all.json").write_text('{"i": 5}\n{"i": 127}\n')
    return folder


@pytest.fixture
def session(small_data: SparkSession, folder: Path, tmp_path: Path) -> Iterator[narrows.Session]:
    (tmp_path / "in").mkdir()
    schema = ", ".join(f"{name} {dtype}" for name, (dtype, _, _) in COLUMNS.items())
    with narrows.connect(small_data, state=tmp_path / "state") as session:
        session.execute(
            f"CREATE STREAM ev (ts BIGINT, k STRING, {schema}) WITH (connector = 'file',"
            f" format = 'parquet', path = '{tmp_path / 'in'}', eventtime = 'ts',"
            " eventtime_unit = 'ms', watermark = '6 seconds');"
            "CREATE TABLE marks (i TINYINT) WITH (connector = 'file',"
            f" path = '{folder / 'marks'}')"
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


def _is_kept_by_tasks(session: narrows.Session, name: str) -> bool:
    return StepLog(session.state.windows(name)).last() is not None


def test_tasks_keep_windows_as_spark_does(
    session: narrows.Session, folder: Path, tmp_path: Path
) -> None:
    by_tasks, by_spark = _declare(session, "tasks"), _declare(session, "spark")
    for part in range(FILES):
        shutil.copy(folder / "all" / f"{part}.parquet", tmp_path / "in")
        last = part == FILES - 1
        for setting, names in ((ON, by_tasks), (OFF, by_spark)):
            session.execute(setting)
            session.start(*names, once=True, close_windows=last).await_done(timeout=300)
    for mine, theirs in zip(by_tasks, by_spark, strict=True):
        assert _is_kept_by_tasks(session, mine)
        assert not _is_kept_by_tasks(session, theirs)
        assert len(_rows(session, theirs)) > 5
        assert _rows(session, mine) == _rows(session, theirs)


def test_a_pipeline_goes_on_with_what_spark_has_kept(
    session: narrows.Session, folder: Path, tmp_path: Path
) -> None:
    session.execute("CREATE SINK out WITH (connector = 'memory')")
    session.execute(
        "CREATE PIPELINE p INTO out AS SELECT count(*) AS n, max_by(k, ts) AS k, stddev(t) AS x"
        " FROM ev GROUP BY tumblingwindow('mi', 3)"
    )
    shutil.copy(folder / "all" / "0.parquet", tmp_path / "in")
    session.execute(OFF)  # as a Narrows did that knew no better
    session.start("p", once=True, close_windows=False).await_done(timeout=300)
    session.execute(ON)
    for part in (1, 2):
        shutil.copy(folder / "all" / f"{part}.parquet", tmp_path / "in")
    session.start("p", once=True).await_done(timeout=300)
    assert sum(row["n"] for row in session.rows("out")) == ROWS
    assert not _is_kept_by_tasks(session, "p")
    session.state.reset("p")
    session.start("p", once=True).await_done(timeout=300)
    assert sum(row["n"] for row in session.rows("out")) == 2 * ROWS, "beside the others"
    assert _is_kept_by_tasks(session, "p")


def test_windows_that_a_run_has_left_open_close_without_a_row(
    session: narrows.Session, folder: Path, tmp_path: Path
) -> None:
    session.execute("CREATE SINK out WITH (connector = 'memory')")
    session.execute(
        "CREATE PIPELINE p INTO out AS SELECT k, count(*) AS n, avg(d) AS x FROM ev"
        " GROUP BY k, tumblingwindow('hh', 1)"
    )
    shutil.copy(folder / "all" / "0.parquet", tmp_path / "in")
    session.start("p", once=True, close_windows=False).await_done(timeout=300)
    assert session.rows("out") == []
    session.start("p", once=True).await_done(timeout=300)
    assert sum(row["n"] for row in session.rows("out")) == ROWS // FILES
    session.start("p", once=True).await_done(timeout=300)
    assert sum(row["n"] for row in session.rows("out")) == ROWS // FILES, "once"
    shutil.copy(folder / "all" / "2.parquet", tmp_path / "in")
    run = session.start("p", once=True).await_done(timeout=300)
    assert run.progress["p"]["late"] == ROWS // FILES, "their hour is over"


def test_a_run_that_is_stopped_while_it_closes_leaves_that_to_the_next(
    session: narrows.Session, spark: SparkSession, folder: Path, tmp_path: Path
) -> None:
    session.execute("CREATE SINK out WITH (connector = 'memory')")
    session.execute(
        "CREATE PIPELINE p INTO out AS SELECT k, count(*) AS n FROM ev"
        " GROUP BY k, tumblingwindow('hh', 1)"
    )
    shutil.copy(folder / "all" / "0.parquet", tmp_path / "in")
    session.start("p", once=True, close_windows=False).await_done(timeout=300)
    with _all_cores_occupied(spark, tmp_path):
        run = session.start("p", once=True)
        (pipeline,) = run.pipelines
        await_that(lambda: isinstance(pipeline.query, ClosingRun), "it closes what is open")
        with ThreadPoolExecutor(1) as beside:
            stopped = beside.submit(run.stop)
            done, _ = wait([stopped], timeout=60)
            (tmp_path / "free").touch()  # or a test that fails would never end
        assert done, "it does not wait for a core"
    assert run.status == {"p": "stopped"}
    assert session.rows("out") == []
    session.start("p", once=True).await_done(timeout=300)
    assert sum(row["n"] for row in session.rows("out")) == ROWS // FILES


@contextmanager
def _all_cores_occupied(spark: SparkSession, folder: Path) -> Iterator[None]:
    """No task of others is started, until there is a file `free`."""
    count = spark.sparkContext.defaultParallelism
    occupied = [folder / f"occupied-{task}" for task in range(count)]
    free = folder / "free"

    def occupy(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for task in batch.column(0).to_pylist():
                occupied[task].touch()
                while not free.exists():
                    time.sleep(0.05)
            yield batch

    numbers = spark.range(0, count, 1, count)
    with ThreadPoolExecutor(1) as beside:
        job = beside.submit(numbers.mapInArrow(occupy, numbers.schema).collect)
        try:
            await_that(lambda: all(path.exists() for path in occupied), "all cores are occupied")
            yield
        finally:
            free.touch()
        job.result()
