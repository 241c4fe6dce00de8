"""Distinct rows of a stream are written once, however often they come, and are those of a query:
for every type, over several runs and several tasks, whoever keeps which rows there were."""

from __future__ import annotations

import json
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
from pyspark.sql import functions as F  # noqa: N812

import narrows
from narrows.physical.execution import ExecutionMode
from support.kept_calls import COLUMNS, random_columns
from support.two_tasks import two_tasks

ROWS, FILES = 240, 4
RUNS = ((0,), (1, 2), (3,))
"""Files that are read together, as one entry: by one task, by two, and by one again."""
FOLDED = {
    "numbers": "SELECT DISTINCT t, i, l FROM s",
    "decimals": "SELECT DISTINCT m, w FROM ev",
    "others": "SELECT DISTINCT b, y, o, p AS at, b AS again FROM s",
    "filtered": "SELECT DISTINCT k, s FROM ev WHERE i >= 0",
    "computed": "SELECT DISTINCT t % 3 AS x, coalesce(s, k) AS y FROM s",
    "groups": "SELECT o, t FROM s GROUP BY o, t",
    "having": "SELECT t FROM s GROUP BY t, s HAVING s > ''",
    "above": "SELECT reverse(s) AS r, hash(b) AS h FROM (SELECT DISTINCT s, b FROM s)",
}
"""Those that readers can fold."""
REMEMBERED = {
    "all": f"SELECT DISTINCT {', '.join(COLUMNS)} FROM s",
    "floats": "SELECT DISTINCT f, k FROM ev",
    "doubles": "SELECT DISTINCT d FROM s",
    "by_spark": "SELECT DISTINCT hash(s) AS h, upper(k) AS u FROM s WHERE hash(i) <> 5",
    "joined": "SELECT DISTINCT name, s.t FROM s LEFT JOIN places ON s.t = places.id",
    "sorted": "SELECT DISTINCT s, o FROM s ORDER BY o, s PER BATCH",
    "groups_of_floats": "SELECT f FROM s GROUP BY f, b",
    "nested": "SELECT DISTINCT named_struct('f', f, 'at', array(p, NULL), 'm', m) AS x, k FROM s",
    "unknown": "SELECT DISTINCT concat(s, k) AS t, abs(t) DIV 2 AS v, round(d, 1) AS r FROM ev",
    "times": "SELECT DISTINCT CAST(p AS TIMESTAMP_NTZ) AS n, p - timestamp'2024-01-01' AS i FROM s",
    "after_lag": "SELECT DISTINCT k, lag(t) OVER (PARTITION BY k) AS before FROM ev",
}
QUERIES = {**FOLDED, **REMEMBERED}
FOLDING, REMEMBERING = "endless_aggregation_into_reader", "memory_into_tasks"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = Path(tmp_path_factory.mktemp("distinct"))
    random = Random(29)
    table = pa.table(
        [
            pa.array(range(1_000, 1_000 + ROWS), pa.int64()),
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
    for name in ("in", "places"):
        (tmp_path / name).mkdir()
    (tmp_path / "places" / "all.json").write_text('{"id": 0, "name": "here"}\n{"id": 5}\n')
    schema = ", ".join(f"{name} {dtype}" for name, (dtype, _, _) in COLUMNS.items())
    with narrows.connect(small_data, state=tmp_path / "state") as session:
        for name, options in (
            ("s", ""),
            ("ev", ", eventtime = 'ts', eventtime_unit = 'ms', watermark = '1 second'"),
        ):
            session.execute(
                f"CREATE STREAM {name} (ts BIGINT, k STRING, {schema}) WITH (connector = 'file',"
                f" format = 'parquet', path = '{tmp_path / 'in'}'{options})"
            )
        session.execute(
            "CREATE TABLE places (id BIGINT, name STRING) WITH (connector = 'file',"
            f" path = '{tmp_path / 'places'}')"
        )
        yield session


def _declare(session: narrows.Session, name: str, query: str) -> None:
    session.execute(f"CREATE SINK out_{name} WITH (connector = 'memory')")
    session.execute(f"CREATE PIPELINE {name} INTO out_{name} AS {query}")


def _run(session: narrows.Session, *names: str) -> list[ExecutionMode]:
    run = session.start(*names, once=True).await_done(timeout=300)
    plans = [pipeline.plan.execution for pipeline in run.pipelines]
    return [how.mode for how in plans if how is not None]


def _switch(session: narrows.Session, *off: str) -> None:
    for rule in (FOLDING, REMEMBERING):
        session.execute(f"SET narrows.rule.{rule} = {'off' if rule in off else 'on'}")


def _rows(session: narrows.Session, name: str) -> list[str]:
    return sorted(map(repr, session.rows(f"out_{name}")))


def _expected(session: narrows.Session, query: str) -> list[str]:
    """What a query has of the files that are there."""
    rows = session.query(query.removesuffix("ORDER BY o, s PER BATCH"))
    texts = rows.select(F.to_json(F.struct("*"), {"ignoreNullFields": "false"})).collect()
    return sorted(repr(json.loads(text)) for (text,) in texts)


def _put(folder: Path, tmp_path: Path, parts: Sequence[int]) -> None:
    for part in parts:
        shutil.copy(folder / f"{part}.parquet", tmp_path / "in")


def test_each_row_is_written_once(session: narrows.Session, folder: Path, tmp_path: Path) -> None:
    """Also what readers could fold, where that is off."""
    for name, query in QUERIES.items():
        _declare(session, name, query)
    for name in FOLDED:
        _declare(session, f"{name}_remembered", QUERIES[name])
    counts: list[int] = []
    for parts in RUNS:
        _put(folder, tmp_path, parts)
        with two_tasks(session.spark) if len(parts) == 2 else nullcontext():
            _switch(session)
            assert set(_run(session, *FOLDED)) == {ExecutionMode.GROUPS}
            assert set(_run(session, *REMEMBERED)) == {ExecutionMode.KEYED}
            _switch(session, FOLDING)
            again = _run(session, *(f"{name}_remembered" for name in FOLDED))
            assert set(again) == {ExecutionMode.KEYED}
        _switch(session)
        # After each run: so each row is written when it comes for the first time.
        for name, query in QUERIES.items():
            expected = _expected(session, query)
            assert _rows(session, name) == expected, (name, parts)
            if name in FOLDED:
                assert _rows(session, f"{name}_remembered") == expected, (name, parts)
            counts.append(len(expected))
    assert min(counts) > 1
    assert sum(counts[: len(QUERIES)]) < sum(counts[-len(QUERIES) :]), "later runs have new rows"


def test_numbers_that_are_one_in_a_group_are_one_row(
    session: narrows.Session, tmp_path: Path
) -> None:
    """And it is written as Spark writes it."""
    numbers = [-0.0, float("nan"), 0.0, None, -float("nan"), None, 0.0, 1.0]
    for name in ("f", "d"):
        _declare(session, name, f"SELECT DISTINCT {name} FROM s")
    for part, first in enumerate((0, 4)):
        some = numbers[first : first + 4]
        columns: dict[str, Any] = {"ts": [0] * len(some), "k": [None] * len(some)}
        for name, (_, kind, _) in COLUMNS.items():
            columns[name] = pa.array(some if name in ("f", "d") else [None] * len(some), kind)
        pq.write_table(pa.table(columns), tmp_path / "in" / f"{part}.parquet")
        _run(session, "f", "d")
    for name in ("f", "d"):
        assert _rows(session, name) == sorted(
            [f"{{'{name}': {v}}}" for v in (0.0, "'NaN'", None, 1.0)]
        )


@pytest.mark.parametrize(
    ("selected", "message", "spark_can"),
    [
        ("collate(s, 'UTF8_LCASE') AS t", "type string collate UTF8_LCASE: `t`", False),
        ("named_struct('i', make_ym_interval(t)) AS y", "type struct<i:interval year", True),
    ],
)
def test_values_that_only_spark_compares(
    session: narrows.Session,
    folder: Path,
    tmp_path: Path,
    selected: str,
    message: str,
    spark_can: bool,
) -> None:
    _declare(session, "p", f"SELECT DISTINCT {selected} FROM s")
    _put(folder, tmp_path, [0])
    with pytest.raises(narrows.NarrowsError, match=message):
        _run(session, "p")
    session.state.reset("p")
    _switch(session, REMEMBERING)
    if not spark_can:
        with pytest.raises(narrows.NarrowsError, match="state store"):
            _run(session, "p")
        return
    assert _run(session, "p") == [ExecutionMode.STREAM]
    assert session.rows("out_p")


def test_rows_are_distinct_without_the_rules(
    session: narrows.Session, folder: Path, tmp_path: Path
) -> None:
    """Spark keeps them then, and may write one again that comes again."""
    _declare(session, "p", QUERIES["filtered"])
    _switch(session, FOLDING, REMEMBERING)
    for parts in RUNS[:2]:
        _put(folder, tmp_path, parts)
        assert _run(session, "p") == [ExecutionMode.STREAM]
        assert sorted(set(_rows(session, "p"))) == _expected(session, QUERIES["filtered"])


@pytest.mark.parametrize("name", ["filtered", "groups", "floats", "groups_of_floats"])
def test_a_pipeline_goes_on_with_what_spark_has_kept(
    session: narrows.Session, folder: Path, tmp_path: Path, name: str
) -> None:
    _declare(session, "p", QUERIES[name])
    _put(folder, tmp_path, [0])
    _switch(session, FOLDING, REMEMBERING)  # as a Narrows did that knew no better
    _run(session, "p")
    _switch(session)
    _put(folder, tmp_path, [1])
    assert _run(session, "p") == [ExecutionMode.STREAM]
    assert set(_rows(session, "p")) == set(_expected(session, QUERIES[name]))
    before = session.rows("out_p")
    session.state.reset("p")
    assert _run(session, "p") == [ExecutionMode.GROUPS if name in FOLDED else ExecutionMode.KEYED]
    again = session.rows("out_p")[len(before) :]
    assert sorted(map(repr, again)) == _expected(session, QUERIES[name])
