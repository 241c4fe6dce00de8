"""A window and a function of one's own on Spark: in a query, and in a pipeline that is stopped."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import narrows
from narrows.functions.stateful import remembering, stream_window
from support.own_kinds import ShiftedWindow, Streak, UntilWindow

HOUR = 3_600

ROWS = [
    {"k": 1, "a": 5, "ts": 1 * HOUR},
    {"k": 1, "a": 1, "ts": 2 * HOUR},
    {"k": 2, "a": 7, "ts": 5 * HOUR},
    {"k": 1, "a": 9, "ts": 7 * HOUR},
    {"k": 2, "a": 8, "ts": 8 * HOUR},
    {"k": 1, "a": 4, "ts": 29 * HOUR},
    {"k": 2, "a": 0, "ts": 31 * HOUR},
]

CASES = {
    "SELECT k, a, streak(a > 3) OVER (PARTITION BY k) AS n FROM s": [
        (1, 1, 0),
        (1, 4, 2),
        (1, 5, 1),
        (1, 9, 1),
        (2, 0, 0),
        (2, 7, 1),
        (2, 8, 2),
    ],
    "SELECT k, count(*) AS n, sum(a) AS a FROM s GROUP BY k, untilwindow(a >= 8, 3)": [
        (1, 1, 4),
        (1, 3, 15),
        (2, 1, 0),
        (2, 2, 15),
    ],
    "SELECT k, count(*) AS n, hour(window_start()) AS since FROM s"
    " GROUP BY k, shiftedwindow('hh', 24, 6)": [
        (1, 2, 6),
        (1, 2, 6),
        (2, 1, 6),
        (2, 1, 6),
        (2, 1, 6),
    ],
}


@pytest.fixture
def session(spark: SparkSession, tmp_path: Path) -> Iterator[narrows.Session]:
    (tmp_path / "in").mkdir()
    with narrows.connect(spark, state=tmp_path / "state") as made:
        made.catalog.functions.add(stream_window(UntilWindow))
        made.catalog.functions.add(stream_window(ShiftedWindow))
        made.catalog.functions.add(remembering(Streak))
        made.execute(
            f"""
            CREATE STREAM s (k BIGINT, a BIGINT, ts BIGINT)
              WITH (connector = 'file', path = '{tmp_path}/in', eventtime = 'ts',
                    eventtime_unit = 's');
            CREATE SINK out WITH (connector = 'memory');
            """
        )
        yield made


def put(folder: Path, name: str, *rows: dict[str, int]) -> None:
    (folder / "in" / name).write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")


@pytest.mark.parametrize("sql", CASES, ids=["function", "cut by rows", "cut by Spark"])
def test_query_and_pipeline(session: narrows.Session, tmp_path: Path, sql: str) -> None:
    session.execute(f"CREATE PIPELINE p INTO out AS {sql}")
    put(tmp_path, "a.json", *ROWS[:4])
    session.start("p", once=True, close_windows=False).await_done(timeout=180)
    put(tmp_path, "b.json", *ROWS[4:])
    session.start("p", once=True).await_done(timeout=180)
    assert sorted(tuple(row.values()) for row in session.rows("out")) == CASES[sql]
    assert sorted(map(tuple, session.query(sql).collect())) == CASES[sql]
