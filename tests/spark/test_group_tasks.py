"""Groups without window that tasks keep give the rows that Spark's state store gives, the same in
every micro-batch: for every aggregate and type of key, over several runs, whatever an entry has."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import narrows
from narrows.connectors.entry_log import Entry
from narrows.physical.execution import ExecutionMode
from narrows.spark.keeping.endless_steps import EndlessSteps
from narrows.worker.keeping import fewer_files
from narrows.worker.keeping.steps import StepLog
from support.kept_calls import COLUMNS, all_calls, chosen_calls, random_columns, spread_calls
from support.two_tasks import two_tasks

ROWS, FILES = 240, 4
RUNS = ((0,), (1, 2), (3,))
"""Files that are read together, as one entry: by one task, by two, and by one again."""
SECOND = 1_000_000 + 1_000 * (ROWS // FILES)
"""No row of the first file is as late."""


# All rows together are a group that changes in every micro-batch. Where the stream has a watermark,
# Spark has a micro-batch without rows, too, and would give it once more: so it is taken of `s`.
QUERIES = {
    "by_text": f"SELECT k, {all_calls()} FROM ev GROUP BY k",
    "by_numbers": "SELECT m, o, t, l, count(*) AS n, max(s) AS x FROM s WHERE i < 100"
    " GROUP BY m, o, t, l",
    "by_others": "SELECT p, y, b, w, upper(s) AS u, count(*) AS n FROM s GROUP BY p, y, b, w, s",
    "some": "SELECT k, i, count(*) AS n FROM ev GROUP BY k, i HAVING count(*) % 2 = 1",
    "chosen": f"SELECT k, {chosen_calls()} FROM s GROUP BY k",
    "spread": f"SELECT k, count(*) AS n, {spread_calls()} FROM ev GROUP BY k",
    "unnamed": "SELECT count(*) AS n FROM s GROUP BY s",
    "whole": f"SELECT {all_calls()} FROM s",
    "whole_by_spark": "SELECT reverse(max(s)) AS r, count(*) AS n FROM s HAVING count(*) > 100",
    "later": f"SELECT count(*) AS n, max(d) AS x, any_value(b) AS y FROM s WHERE ts > {SECOND}",
    "none": "SELECT count(*) AS n, sum(l) AS x, avg(m) AS y FROM s WHERE i = 12345",
    "no_group": "SELECT k, count(*) AS n FROM ev WHERE i = 12345 GROUP BY k",
}
OFF, ON = (
    f"SET narrows.rule.endless_aggregation_into_reader = {setting}" for setting in ("off", "on")
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = Path(tmp_path_factory.mktemp("kept"))
    random = Random(23)
    table = pa.table(
        [
            pa.array([1_000_000 + 1_000 * place for place in range(ROWS)], pa.int64()),
            pa.array([random.choice(["x", "y", "z", None]) for _ in range(ROWS)], pa.string()),
            *random_columns(random, ROWS),
        ],
        names=["ts", "k", *COLUMNS],
    )
    for part in range(FILES):
        rows = table.slice(part * ROWS // FILES, ROWS // FILES)
        pq.write_table(rows, folder / f"{part}.parquet")
    return folder


@pytest.fixture
def session(small_data: SparkSession, tmp_path: Path) -> Iterator[narrows.Session]:
    (tmp_path / "in").mkdir()
    schema = ", ".join(f"{name} {dtype}" for name, (dtype, _, _) in COLUMNS.items())
    with narrows.connect(small_data, state=tmp_path / "state") as session:
        for name, options in (
            ("s", ""),
            ("ev", ", eventtime = 'ts', eventtime_unit = 'ms', watermark = '6 seconds'"),
            ("shared", ", shared = true"),
        ):
            session.execute(
                f"CREATE STREAM {name} (ts BIGINT, k STRING, {schema}) WITH (connector = 'file',"
                f" format = 'parquet', path = '{tmp_path / 'in'}'{options})"
            )
        yield session


def _declare(session: narrows.Session, suffix: str) -> list[str]:
    names = [f"{name}_{suffix}" for name in QUERIES]
    for name, query in zip(names, QUERIES.values(), strict=True):
        _pipeline(session, name, query)
    return names


def _pipeline(session: narrows.Session, name: str, query: str) -> None:
    session.execute(f"CREATE SINK out_{name} WITH (connector = 'memory', mode = 'update')")
    session.execute(f"CREATE PIPELINE {name} INTO out_{name} AS {query}")


def _run(session: narrows.Session, *names: str) -> list[ExecutionMode]:
    run = session.start(*names, once=True)
    run.await_done(timeout=300)
    plans = [pipeline.plan.execution for pipeline in run.pipelines]
    return [how.mode for how in plans if how is not None]


def _rows(session: narrows.Session, name: str) -> list[str]:
    return sorted(map(repr, session.rows(f"out_{name}")))


def _put(folder: Path, tmp_path: Path, parts: Sequence[int]) -> None:
    for part in parts:
        shutil.copy(folder / f"{part}.parquet", tmp_path / "in")


def test_tasks_keep_groups_as_spark_does(
    session: narrows.Session, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_tasks, by_spark = _declare(session, "tasks"), _declare(session, "spark")
    tasks: list[int] = []
    run = EndlessSteps.run

    def counted(self: EndlessSteps, number: int, entry: Entry, count: int, *, ends: bool) -> int:
        tasks.append(count)
        return run(self, number, entry, count, ends=ends)

    monkeypatch.setattr(EndlessSteps, "run", counted)
    for parts in RUNS:
        _put(folder, tmp_path, parts)
        session.execute(ON)
        with two_tasks(session.spark) if len(parts) == 2 else nullcontext():
            assert set(_run(session, *by_tasks)) == {ExecutionMode.GROUPS}
        assert set(tasks[-len(by_tasks) :]) == {len(parts)}
        session.execute(OFF)
        assert set(_run(session, *by_spark)) == {ExecutionMode.STREAM}
        # After each run: so rows are the same in every micro-batch.
        for mine, theirs in zip(by_tasks, by_spark, strict=True):
            assert _rows(session, mine) == _rows(session, theirs), (mine, parts)
    counts = {name: len(session.rows(f"out_{name}")) for name in by_tasks}
    assert counts["no_group_tasks"] == 0
    assert counts["none_tasks"] == len(RUNS), "all rows together are a group, if there are none"
    assert min(counts[f"{name}_tasks"] for name in ("by_text", "chosen", "spread")) > 8
    assert counts["some_tasks"] > 20


def test_groups_of_a_shared_stream(session: narrows.Session, folder: Path, tmp_path: Path) -> None:
    session.execute(ON)
    for name in ("s", "shared"):
        _pipeline(
            session, f"of_{name}", f"SELECT k, count(*) AS n, min(i) AS x FROM {name} GROUP BY k"
        )
    for parts in RUNS[:2]:
        _put(folder, tmp_path, parts)
        assert _run(session, "of_s", "of_shared") == [ExecutionMode.GROUPS, ExecutionMode.GROUPS]
        assert _rows(session, "of_s") == _rows(session, "of_shared") != []
    _pipeline(session, "later", "SELECT count(*) AS n FROM shared")
    _run(session, "later")
    _put(folder, tmp_path, RUNS[2])
    _run(session, "later", "of_s", "of_shared")
    assert _rows(session, "of_s") == _rows(session, "of_shared")
    assert [row["n"] for row in session.rows("out_later")] == [ROWS // FILES], "from where it began"


def test_a_pipeline_goes_on_with_what_spark_has_kept(
    session: narrows.Session, folder: Path, tmp_path: Path
) -> None:
    _pipeline(session, "p", "SELECT count(*) AS n, max_by(k, ts) AS x, stddev(t) AS y FROM s")
    _put(folder, tmp_path, [0])
    session.execute(OFF)  # as a Narrows did that knew no better
    assert _run(session, "p") == [ExecutionMode.STREAM]
    session.execute(ON)
    _put(folder, tmp_path, [1, 2])
    assert _run(session, "p") == [ExecutionMode.STREAM]
    assert [row["n"] for row in session.rows("out_p")] == [ROWS // 4, ROWS * 3 // 4]
    session.state.reset("p")
    assert _run(session, "p") == [ExecutionMode.GROUPS]
    assert [row["n"] for row in session.rows("out_p")] == [ROWS // 4, ROWS * 3 // 4, ROWS * 3 // 4]
    assert len(_steps(session, "p")) == 1
    session.state.reset("p")
    assert _steps(session, "p") == [], "groups are forgotten, too"
    assert _run(session, "p") == [ExecutionMode.GROUPS]
    assert [row["n"] for row in session.rows("out_p")][3:] == [ROWS * 3 // 4], "beside the others"


def _steps(session: narrows.Session, name: str) -> list[Path]:
    return list((session.state.windows(name) / "steps").glob("*.json"))


def test_files_of_groups_get_fewer(
    session: narrows.Session, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fewer_files, "_MANY_FILES", 1)
    _pipeline(session, "p", "SELECT k, count(*) AS n FROM s GROUP BY k")
    session.execute(ON)
    levels: list[list[int]] = []
    for part in range(FILES):
        _put(folder, tmp_path, [part])
        _run(session, "p")
        last = StepLog(session.state.windows("p")).last()
        assert last is not None
        levels.append([file.level for file in last.files])
    assert levels == [[0], [1], [1, 0], [1, 1]], "those of one level"
    last_rows: dict[Any, int] = {row["k"]: row["n"] for row in session.rows("out_p")}
    assert sum(last_rows.values()) == ROWS
