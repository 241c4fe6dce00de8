"""Columns that Spark makes of texts, as queries and pipelines see them."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import narrows

ROWS = [
    {
        "a": 1,
        "at": "2026-03-29 02:30:00.5",
        "took": "1 02:03:04",
        "age": "2-3",
        "v": {"x": [1, "y"]},
    },
    {"a": 2, "at": "no time", "took": "long", "age": "old", "v": 7},
    {"a": 3},
]


def test_values(small_data: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "rows.json").write_text("\n".join(map(json.dumps, ROWS)), "utf-8")
    local = datetime(2026, 3, 29, 2, 30, 0, 500_000)  # an hour that Berlin has not
    pq.write_table(pa.table({"at": pa.array([local])}), tmp_path / "t.parquet")
    with narrows.connect(small_data, state=tmp_path / "state") as session:
        session.execute(f"""
            CREATE STREAM s (a INT, at TIMESTAMP_NTZ, took INTERVAL DAY TO SECOND,
                             age INTERVAL YEAR TO MONTH, v VARIANT)
              WITH (connector = 'file', path = '{tmp_path}/in');
            CREATE TABLE p (at TIMESTAMP_NTZ) WITH (connector = 'file',
              path = '{tmp_path}/t.parquet', format = 'parquet');
            CREATE SINK out WITH (connector = 'memory');
            CREATE PIPELINE w INTO out AS SELECT a, at, took * 2 AS took, age, v:x[0] AS v FROM s
        """)
        found = session.query(
            "SELECT at, took, CAST(age AS STRING), CAST(v:x[1] AS STRING) FROM s ORDER BY a"
        ).collect()
        took = timedelta(days=1, hours=2, minutes=3, seconds=4)
        assert [tuple(row) for row in found] == [
            (local, took, "INTERVAL '2-3' YEAR TO MONTH", "y"),
            (None,) * 4,
            (None,) * 4,
        ]
        kept = session.query("SELECT a FROM s WHERE at < TIMESTAMP_NTZ '2026-03-29 02:30:01'")
        assert [row.a for row in kept.collect()] == [1]
        (row,) = session.query("SELECT at FROM p").collect()
        assert row.at == local
        session.start("w", once=True).await_done(timeout=300)
        rows = sorted(session.rows("out"), key=lambda row: int(row["a"]))
        assert rows[0]["at"] == "2026-03-29T02:30:00.500"
        assert rows[0]["took"] == "INTERVAL '2 04:06:08' DAY TO SECOND"
        assert [row["a"] for row in rows] == [1, 2, 3]
