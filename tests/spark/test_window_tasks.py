"""Windows that tasks keep give the rows that Spark's state store gives: for every kind of window,
aggregate and type of key, over several runs that leave windows open."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import narrows
from narrows.worker.windows.steps import StepLog

NAN = float("nan")
NOON = datetime(2024, 10, 27, 12, tzinfo=UTC)
COLUMNS: dict[str, tuple[str, pa.DataType, Sequence[Any]]] = {
    "b": ("BOOLEAN", pa.bool_(), [True, False]),
    "t": ("TINYINT", pa.int8(), [0, 5, 127, -128]),
    "i": ("INT", pa.int32(), [0, 1, -1, 2**31 - 1]),
    "l": ("BIGINT", pa.int64(), [0, 3, 2**63 - 1, -(2**40)]),
    "f": ("FLOAT", pa.float32(), [0.0, 2.5, -1.5, NAN]),
    "d": ("DOUBLE", pa.float64(), [0.5, 0.25, -1.5, 1024.0]),
    "m": ("DECIMAL(6,2)", pa.decimal128(6, 2), [Decimal("0.01"), Decimal("9999.99")]),
    "w": ("DECIMAL(30,5)", pa.decimal128(30, 5), [Decimal("1.00001"), Decimal(10**22)]),
    "s": ("STRING", pa.string(), ["", "a", "ä", "𝄞"]),
    "y": ("BINARY", pa.binary(), [b"", b"a", b"\xff"]),
    "o": ("DATE", pa.date32(), [date(1970, 1, 1), date(1900, 1, 1)]),
    "p": ("TIMESTAMP", pa.timestamp("us", "UTC"), [NOON, NOON + timedelta(hours=1)]),
}
NUMBERS = ("t", "i", "l", "d", "m")
ROWS, FILES = 300, 3


def _calls() -> str:
    calls = ["count(*)", "count_if(i > 0)", "bool_and(b)", "some(t = 5)"]
    calls += ["count(*) FILTER (WHERE i = 1)", "min(i) FILTER (WHERE s = 'a')"]
    calls += [f"{call}({name})" for name in COLUMNS for call in ("min", "max", "count")]
    calls += [f"{call}({name})" for name in NUMBERS for call in ("sum", "avg")]
    return ", ".join(f"{call} AS v{place}" for place, call in enumerate(calls))


def _chosen() -> str:
    """Values of one of the rows, where it is not open of which."""
    calls = [f"max_by({name}, ts)" for name in COLUMNS]
    calls += ["min_by(s, ts) FILTER (WHERE i > 0)", "max_by(f, f)", "min_by(s, s)"]
    calls += ["any_value(k)", "any_value(s) FILTER (WHERE s = 'a') IGNORE NULLS"]
    return ", ".join(f"{call} AS v{place}" for place, call in enumerate(calls))


def _spreads() -> str:
    """Rounded, for additions come in any order."""
    calls = [f"{call}({name})" for name in ("t", "f", "d") for call in ("stddev", "var_pop")]
    calls += ["variance(d) FILTER (WHERE i > 0)", "stddev_pop(t) FILTER (WHERE s = 'a')"]
    return ", ".join(f"round({call}, 7) AS v{place}" for place, call in enumerate(calls))


BOUNDS = "window_start() AS since, window_end() AS until"
QUERIES = {
    "tumbling": f"SELECT k, {BOUNDS}, {_calls()} FROM ev GROUP BY k, tumblingwindow('ss', 20)",
    "hopping": f"SELECT m, o, t, {BOUNDS}, count(*) AS n, max(s) AS x FROM ev WHERE i < 100"
    " GROUP BY m, o, t, hoppingwindow('ss', 30, 20) HAVING count(*) > 1",
    "whole": f"SELECT {BOUNDS}, sum(l) AS x, max(d) AS y FROM ev"
    " GROUP BY hoppingwindow('ss', 7, 2)",
    "chosen": f"SELECT k, {BOUNDS}, {_chosen()} FROM ev GROUP BY k, hoppingwindow('ss', 30, 20)",
    "spread": f"SELECT k, {BOUNDS}, {_spreads()} FROM ev GROUP BY k, sessionwindow('ss', 4)",
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
            *(
                pa.array([random.choice([None, *values]) for _ in range(ROWS)], kind)
                for _, kind, values in COLUMNS.values()
            ),
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
