"""Few rows that come into one task give Spark's groups, in the order that is asked for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from random import Random

import pytest
from pyspark.sql import DataFrame, SparkSession

import narrows

SCHEMA = (
    "k STRING, d DOUBLE, n BIGINT, m DECIMAL(10,2), t DATE, b BOOLEAN, s STRUCT<x: INT, y: STRING>,"
    " note STRING"
)
ROWS = 6_000
"""Of each of two files, which two tasks read: with one, rows would be in one place anyway."""
NOTE = "x" * 900
QUERIES = (
    # NULL is no value, and a group of its own
    "SELECT k, count(DISTINCT n) AS c FROM rows GROUP BY k ORDER BY c DESC, k",
    "SELECT k, count(DISTINCT n), sum(DISTINCT n), min(DISTINCT n) FROM rows GROUP BY k",
    "SELECT n, avg(DISTINCT m), sum(DISTINCT m) FROM rows GROUP BY n ORDER BY n NULLS LAST",
    # 0.0 and -0.0 are one, as value and as key
    "SELECT d, count(DISTINCT n) FROM rows GROUP BY d",
    "SELECT b, count(DISTINCT d) FROM rows GROUP BY b",
    # several columns, of which one is a key
    "SELECT k, b, count(DISTINCT n, t) FROM rows GROUP BY k, b ORDER BY k, b",
    "SELECT k, count(DISTINCT k, n) FROM rows GROUP BY k",
    "SELECT n % 5 AS five, count(DISTINCT upper(k)) FROM rows GROUP BY n % 5 ORDER BY five",
    # structs, whole and in part
    "SELECT s.y, count(DISTINCT s.x) FROM rows GROUP BY s.y ORDER BY 1",
    "SELECT s, count(DISTINCT k) FROM rows GROUP BY s ORDER BY s.x, s.y",
    "SELECT k, count(DISTINCT s) FROM rows GROUP BY k",
    # above joins and subqueries, below HAVING and QUALIFY
    "SELECT l.k, count(DISTINCT r.n) AS c FROM rows l JOIN (SELECT * FROM rows WHERE n < 40) r"
    " ON l.n = r.n GROUP BY l.k ORDER BY c, l.k",
    "SELECT k, count(DISTINCT n) FROM rows WHERE n NOT IN (SELECT n FROM rows WHERE n < 10)"
    " GROUP BY k HAVING count(DISTINCT n) > 1 ORDER BY k",
    "SELECT DISTINCT k, n FROM rows ORDER BY n DESC, k",
    "SELECT k, max(n) - min(n) AS span FROM rows GROUP BY k"
    " HAVING sum(n) > (SELECT avg(n) FROM rows) ORDER BY span DESC, k",
    "SELECT k, n, count(*) FROM rows GROUP BY ROLLUP (k, n) ORDER BY ALL",
)
"""Each has a place where few rows come into one task."""
OTHERS = (
    "SELECT k, count(DISTINCT n) FILTER (WHERE b), count(DISTINCT n) FROM rows GROUP BY k",
    "SELECT d, count(DISTINCT n), count(DISTINCT n + 1) FROM rows GROUP BY d",
    "SELECT k, count(DISTINCT n), count(DISTINCT t) FROM rows GROUP BY k",
    "SELECT k, count(DISTINCT n), count(*), sum(m) FROM rows GROUP BY k",
    "SELECT count(DISTINCT n), count(DISTINCT NULL) FROM rows",
)
"""What Spark computes in its own way, with and without order."""


@pytest.fixture(scope="module")
def session(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[narrows.Session]:
    folder = tmp_path_factory.mktemp("few-rows")
    (folder / "rows").mkdir()
    random = Random(16)
    for name in ("first", "second"):
        lines = "\n".join(json.dumps(_row(random)) for _ in range(ROWS))
        (folder / "rows" / f"{name}.json").write_text(lines, encoding="utf-8")
    spark.read.schema(SCHEMA).json(str(folder / "rows")).createOrReplaceTempView("rows")
    coalescing = "spark.sql.adaptive.coalescePartitions.enabled"
    before = spark.conf.get(coalescing)
    spark.conf.set(coalescing, "false")  # or Spark would sort so few rows in one task anyway
    with narrows.connect(spark, state=folder / "state") as made:
        made.execute(
            f"CREATE TABLE rows ({SCHEMA}) WITH (connector = 'file', path = '{folder / 'rows'}')"
        )
        yield made
    spark.conf.set(coalescing, str(before))
    spark.catalog.dropTempView("rows")


def _row(random: Random) -> dict[str, object]:
    values = {
        "k": random.choice(["a", "b", "", "ä", "A"]),
        "d": random.choice([0.0, -0.0, 0.5, -1.5, 1e300]),
        "n": random.randrange(60),
        "m": random.choice([0.0, 0.01, -0.01, 99999999.99]),
        "t": f"20{random.randrange(10, 20)}-02-03",
        "b": random.random() < 0.5,
        "s": {"x": random.choice([1, 2, None]), "y": random.choice(["p", "q"])},
    }
    some = {name: value for name, value in values.items() if random.random() < 0.9}
    return {**some, "note": NOTE}


@pytest.mark.parametrize("sql", [*QUERIES, *OTHERS])
def test_rows_and_their_order_are_those_of_spark(session: narrows.Session, sql: str) -> None:
    planned = str(session.execute(f"EXPLAIN PHYSICAL {sql}")[0])
    assert ("PhysicalGather" in planned) == (sql in QUERIES)
    ours, theirs = _rows(session.query(sql)), _rows(session.spark.sql(sql))
    if "ORDER BY" in sql:
        assert ours == theirs
    assert sorted(ours) == sorted(theirs)


def test_what_spark_shuffles(session: narrows.Session) -> None:
    shuffles = {}
    for setting in ("on", "off"):
        session.execute(f"SET narrows.rule.few_rows_into_one_task = {setting}")
        shuffles[setting] = [_shuffles(session.query(sql)) for sql in (QUERIES[0], QUERIES[-2])]
    session.execute("SET narrows.rule.few_rows_into_one_task = on")
    assert shuffles == {"on": [1, 1 + 1], "off": [3, 2 + 1]}  # of a subquery there is one, too


def _rows(frame: DataFrame) -> list[str]:
    return [repr(tuple(row)) for row in frame.collect()]


def _shuffles(frame: DataFrame) -> int:
    plan = frame._jdf.queryExecution().executedPlan().toString()
    return len(re.findall(r"\bExchange ", plan))
