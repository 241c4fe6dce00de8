"""Random relational queries over random tables: pruned, unpruned and Spark SQL agree."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

from pyspark.sql import DataFrame, SparkSession

import narrows
from support.relational_queries import TABLES, make_rows, write_query

QUERIES = 12
"""Each is planned and run three times. Many more run without Spark, in `tests/property`."""


def test_agree(small_data: SparkSession, tmp_path: Path) -> None:
    random = Random(20_260)
    for table, rows in make_rows(random).items():
        (tmp_path / table).mkdir()
        lines = "\n".join(json.dumps(row) for row in rows)
        (tmp_path / table / "rows.json").write_text(lines, encoding="utf-8")
        source = small_data.read.schema(TABLES[table]).json(str(tmp_path / table))
        source.createOrReplaceTempView(table)
    sessions = []
    for pruning in (True, False):
        session = narrows.connect(small_data, state=tmp_path / "state", pruning=pruning)
        for table, schema in TABLES.items():
            session.execute(
                f"CREATE TABLE {table} ({schema})"
                f" WITH (connector = 'file', path = '{tmp_path / table}')"
            )
        sessions.append(session)
    for _ in range(QUERIES):
        sql = write_query(random, of_spark=True)
        expected = _rows(small_data.sql(sql))
        for session in sessions:
            assert _rows(session.query(sql)) == expected, sql


def _rows(frame: DataFrame) -> list[str]:
    return sorted(repr(tuple(row)) for row in frame.collect())
