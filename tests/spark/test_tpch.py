"""All 22 queries of TPC-H give the rows that Spark SQL gives, from the same NDJSON files.

At scale 0.1; `bench/tpch.py` measures at larger ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import narrows
import tpch_data

QUERIES = tpch_data.queries()


@pytest.fixture(scope="module")
def session(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[narrows.Session]:
    folder: Path = tmp_path_factory.mktemp("tpch") / "data"
    tpch_data.write(spark, folder, 0.1)
    session = narrows.connect(spark, state=tmp_path_factory.mktemp("state"))
    tpch_data.declare(session, folder)
    for table, schema in tpch_data.SCHEMAS.items():
        # Read once: this is about the rows, not about Spark's JSON reader.
        rows = spark.read.schema(schema).json(str(folder / table)).cache()
        rows.createOrReplaceTempView(table)
    yield session
    for table in tpch_data.SCHEMAS:
        spark.table(table).unpersist()
        spark.catalog.dropTempView(table)
    session.close()


@pytest.mark.parametrize("name", QUERIES)
def test_like_spark_sql(name: str, session: narrows.Session) -> None:
    sql = QUERIES[name]
    assert _rows(session.query(sql)) == _rows(session.spark.sql(sql))


def _rows(frame: DataFrame) -> list[str]:
    """The rows in any order: where keys are equal, ORDER BY leaves it open."""
    return sorted(repr(tuple(row)) for row in frame.collect())
