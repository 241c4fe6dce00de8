"""What tasks remember of rows gives the rows that Spark's state store gives: for every type of key,
for functions, count and state windows and retractions, over several runs and several tasks."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

import narrows
from narrows.physical.execution import ExecutionMode
from narrows.worker.remembered.keeper import MemoryKeeper, Published
from support.two_tasks import two_tasks

AMBIGUOUS = datetime(2024, 10, 27, 0, 30, tzinfo=UTC)
"""Clocks in Berlin show it twice, an hour apart."""
KEYS: dict[str, tuple[str, pa.DataType, Sequence[Any]]] = {
    "b": ("BOOLEAN", pa.bool_(), [True, False]),
    "t": ("TINYINT", pa.int8(), [0, 127, -128]),
    "l": ("BIGINT", pa.int64(), [0, 2**63 - 1, -(2**40)]),
    "f": ("FLOAT", pa.float32(), [0.0, 2.5, -1.5]),
    "d": ("DOUBLE", pa.float64(), [0.0, 0.25, -1.5]),
    "m": ("DECIMAL(30,5)", pa.decimal128(30, 5), [Decimal("1.00001"), Decimal(10**22)]),
    "s": ("STRING", pa.string(), ["", "a", "ä", "𝄞"]),
    "y": ("BINARY", pa.binary(), [b"", b"a", b"\xff"]),
    "o": ("DATE", pa.date32(), [date(1970, 1, 1), date(1900, 1, 1)]),
    "p": ("TIMESTAMP", pa.timestamp("us", "UTC"), [AMBIGUOUS, AMBIGUOUS + timedelta(hours=1)]),
}
ROWS, FILES = 240, 4
FUNCTIONS = ", ".join(
    f"acc_count(n) OVER (PARTITION BY {name}) AS c{name}, lag({name}) OVER (PARTITION BY {name})"
    f" AS l{name}"
    for name in KEYS
)
QUERIES = {
    "keys": f"SELECT n, {FUNCTIONS} FROM ev",
    "alone": "SELECT n, lag(n, 3) AS before, latest(s) AS s, acc_avg(t) AS mean FROM ev"
    " WHERE n > 9",
    "filtered": "SELECT n, acc_sum(n) FILTER (WHERE t = 0) OVER (PARTITION BY upper(s), b) AS x"
    " FROM ev",
    "counted": "SELECT s, b, count(*) AS c, sum(n) AS x, max(p) AS p, window_start() AS w FROM ev"
    " GROUP BY s, b, countwindow(5)",
    "states": "SELECT count(*) AS c, min(n) AS first, max(n) AS last FROM ev"
    " GROUP BY statewindow(t = 0, t = 127)",
    "rows": "SELECT b, array_sort(collect_list(n)) AS every, max(s) AS s FROM ev"
    " GROUP BY b, countwindow(7)",
    "sliding": "SELECT s, count(*) AS c, sum(n) AS x, window_end() AS w FROM ev"
    " GROUP BY s, slidingwindow('ms', 20, 5)",
    "nested": "SELECT m, count(DISTINCT named_struct('a', t, 'o', o)) AS c, window_start() AS w"
    " FROM ev GROUP BY m, slidingwindow('ms', 9)",
    "remembered": "SELECT k, sum(before) AS x FROM (SELECT s AS k, lag(n) OVER (PARTITION BY b) AS"
    " before FROM ev) GROUP BY k, countwindow(4)",
}
OFF, ON = (f"SET narrows.rule.memory_into_tasks = {setting}" for setting in ("off", "on"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = Path(tmp_path_factory.mktemp("remembered"))
    random = Random(5)
    columns = [
        pa.array([random.choice([None, *values]) for _ in range(ROWS)], kind)
        for _, kind, values in KEYS.values()
    ]
    numbers = pa.array(range(ROWS), pa.int64())
    times = pa.array(range(1_000, 1_000 + ROWS), pa.int64())
    table = pa.table([numbers, times, *columns], names=["n", "ts", *KEYS])
    for part in range(FILES):
        rows = table.slice(part * ROWS // FILES, ROWS // FILES)
        pq.write_table(rows, folder / f"{part}.parquet")
    return folder


@pytest.fixture
def session(small_data: SparkSession, tmp_path: Path) -> Iterator[narrows.Session]:
    (tmp_path / "in").mkdir()
    schema = ", ".join(f"{name} {dtype}" for name, (dtype, _, _) in KEYS.items())
    with narrows.connect(small_data, state=tmp_path / "state") as session:
        session.execute(
            f"CREATE STREAM ev (n BIGINT, ts BIGINT, {schema}) WITH (connector = 'file',"
            f" format = 'parquet', path = '{tmp_path / 'in'}', eventtime = 'ts',"
            " eventtime_unit = 'ms')"
        )
        yield session


def _declare(session: narrows.Session, name: str, query: str, options: str = "") -> None:
    session.execute(f"CREATE SINK out_{name} WITH (connector = 'memory'{options})")
    session.execute(f"CREATE PIPELINE {name} INTO out_{name} AS {query}")


def _rows(session: narrows.Session, name: str) -> list[str]:
    return sorted(map(repr, session.rows(f"out_{name}")))


def _run(session: narrows.Session, *names: str, closes: bool = True) -> list[ExecutionMode]:
    run = session.start(*names, once=True, close_windows=closes).await_done(timeout=300)
    executions = [pipeline.plan.execution for pipeline in run.pipelines]
    return [execution.mode for execution in executions if execution is not None]


@pytest.fixture
def tasks_of_entries(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many tasks had the entries that were remembered."""
    found: list[int] = []
    run = MemoryKeeper.run

    def counted(self: MemoryKeeper, batch: int, tasks: int) -> Published:
        found.append(tasks)
        return run(self, batch, tasks)

    monkeypatch.setattr(MemoryKeeper, "run", counted)
    return found


def test_tasks_remember_what_a_query_sees(
    session: narrows.Session, folder: Path, tmp_path: Path, tasks_of_entries: list[int]
) -> None:
    """A query has all rows at once, and keeps nothing."""
    for name, query in QUERIES.items():
        _declare(session, name, query)
    # A run of one task, one of two whose rows are shuffled by their keys, and one more.
    for part, files in enumerate(([0], [1, 2], [3])):
        for number in files:
            shutil.copy(folder / f"{number}.parquet", tmp_path / "in")
        with two_tasks(session.spark) if part == 1 else nullcontext():
            assert set(_run(session, *QUERIES, closes=part == 2)) == {ExecutionMode.KEYED}
    assert tasks_of_entries == [task for task in (1, 2, 1) for _ in QUERIES]
    for name, query in QUERIES.items():
        rows = session.query(query).select(F.to_json(F.struct("*"), {"ignoreNullFields": "false"}))
        expected = sorted(repr(json.loads(text)) for (text,) in rows.collect())
        assert len(expected) > 5
        assert _rows(session, name) == expected, name


def test_tasks_remember_what_spark_remembers(
    session: narrows.Session, folder: Path, tmp_path: Path
) -> None:
    for name in ("alone", "sliding"):
        _declare(session, f"{name}_tasks", QUERIES[name])
        _declare(session, f"{name}_spark", QUERIES[name])
    for part in range(2):
        shutil.copy(folder / f"{part}.parquet", tmp_path / "in")
        for setting, kind in ((ON, "tasks"), (OFF, "spark")):
            session.execute(setting)
            modes = _run(session, f"alone_{kind}", f"sliding_{kind}", closes=part == 1)
            assert set(modes) == {ExecutionMode.KEYED if kind == "tasks" else ExecutionMode.STREAM}
    for name in ("alone", "sliding"):
        assert len(_rows(session, f"{name}_spark")) > 5
        assert _rows(session, f"{name}_tasks") == _rows(session, f"{name}_spark"), name


def test_keys_are_the_same_that_groups_have(session: narrows.Session, tmp_path: Path) -> None:
    """As in GROUP BY; Spark's state store tells them apart."""
    numbers = [0.0, float("nan"), -0.0, None, -float("nan"), None, 0.0]
    for name in ("f", "d"):
        _declare(session, name, f"SELECT n, lag(n) OVER (PARTITION BY {name}) AS before FROM ev")
    for part, first in enumerate((0, 4)):
        some = numbers[first : first + 4]
        columns = {
            "n": pa.array(range(first, first + len(some)), pa.int64()),
            "ts": [0] * len(some),
        }
        for name, (_, kind, _) in KEYS.items():
            columns[name] = pa.array(some if name in ("f", "d") else [None] * len(some), kind)
        pq.write_table(pa.table(columns), tmp_path / "in" / f"{part}.parquet")
        _run(session, "f", "d")
    for name in ("f", "d"):
        found = {row["n"]: row["before"] for row in session.rows(f"out_{name}")}
        assert found == {0: None, 1: None, 2: 0, 3: None, 4: 1, 5: 3, 6: 2}


def test_a_pipeline_goes_on_with_what_spark_has_kept(
    session: narrows.Session, folder: Path, tmp_path: Path
) -> None:
    _declare(session, "p", "SELECT n, acc_count(n) OVER (PARTITION BY b) AS c FROM ev")
    shutil.copy(folder / "0.parquet", tmp_path / "in")
    session.execute(OFF)  # as a Narrows did that knew no better
    _run(session, "p")
    session.execute(ON)
    shutil.copy(folder / "1.parquet", tmp_path / "in")
    assert _run(session, "p") == [ExecutionMode.STREAM]
    before = len(session.rows("out_p"))
    assert max(row["c"] for row in session.rows("out_p")) > ROWS // FILES // 3
    session.state.reset("p")
    assert _run(session, "p") == [ExecutionMode.KEYED]
    again = session.rows("out_p")[before:]
    assert sorted(map(repr, again)) == sorted(map(repr, session.rows("out_p")[:before]))


def test_windows_that_a_run_has_left_open_close_without_a_row(
    session: narrows.Session, folder: Path, tmp_path: Path
) -> None:
    _declare(session, "p", "SELECT count(*) AS c FROM ev GROUP BY countwindow(1000)")
    shutil.copy(folder / "0.parquet", tmp_path / "in")
    _run(session, "p", closes=False)
    assert session.rows("out_p") == []
    _run(session, "p")
    assert [row["c"] for row in session.rows("out_p")] == [ROWS // FILES]
    _run(session, "p")
    shutil.copy(folder / "1.parquet", tmp_path / "in")
    _run(session, "p")
    assert [row["c"] for row in session.rows("out_p")] == [ROWS // FILES] * 2, "each row once"


def test_rows_that_find_no_partner_are_remembered(
    session: narrows.Session, folder: Path, tmp_path: Path
) -> None:
    """Spark asks for no row where a join with an empty table gives none."""
    (tmp_path / "places").mkdir()
    (tmp_path / "places" / "none.json").write_text("")
    session.execute(
        f"CREATE TABLE places (at BIGINT) WITH (connector = 'file', path = '{tmp_path / 'places'}')"
    )
    query = "SELECT n, c FROM (SELECT n, acc_count(n) AS c FROM ev) JOIN places ON n = at"
    _declare(session, "p", query)
    shutil.copy(folder / "0.parquet", tmp_path / "in")
    _run(session, "p")
    shutil.copy(folder / "1.parquet", tmp_path / "in")
    with two_tasks(session.spark):
        _run(session, "p")
    assert session.rows("out_p") == []
    last = 3 * ROWS // FILES - 1
    (tmp_path / "places" / "one.json").write_text(json.dumps({"at": last}))
    shutil.copy(folder / "2.parquet", tmp_path / "in")
    assert _run(session, "p") == [ExecutionMode.KEYED]
    assert session.rows("out_p") == [{"n": last, "c": last + 1}]


def test_an_entry_without_rows_changes_nothing(
    session: narrows.Session, folder: Path, tmp_path: Path
) -> None:
    """Also where its tasks have nothing to shuffle, and Spark knows that before it goes on."""
    session.execute(
        f"CREATE STREAM lines (n BIGINT) WITH (connector = 'file', path = '{tmp_path / 'lines'}')"
    )
    _declare(session, "p", "SELECT n, lag(n) AS before FROM lines")
    (tmp_path / "lines").mkdir()
    for run, texts in enumerate((['{"n": 1}', '{"n": 2}'], ["no", "JSON"], ['{"n": 3}'])):
        for number, text in enumerate(texts):
            (tmp_path / "lines" / f"{run}{number}.json").write_text(f"{text}\n")
        with two_tasks(session.spark) if run == 1 else nullcontext():
            _run(session, "p")
    found = [(row["n"], row["before"]) for row in session.rows("out_p")]
    assert found == [(1, None), (2, 1), (3, 2)]


def test_retractions(session: narrows.Session, folder: Path, tmp_path: Path) -> None:
    query = "SELECT s, d, count(*) AS c, sum(n) AS x FROM ev GROUP BY s, d HAVING count(*) > 1"
    _declare(session, "tasks", query, ", mode = 'retract'")
    _declare(session, "spark", query, ", mode = 'retract'")
    for number in range(FILES):
        shutil.copy(folder / f"{number}.parquet", tmp_path / "in")
        for setting, name in ((ON, "tasks"), (OFF, "spark")):
            session.execute(setting)
            _run(session, name)
    assert len(_rows(session, "tasks")) > 20
    assert _rows(session, "tasks") == _rows(session, "spark")
