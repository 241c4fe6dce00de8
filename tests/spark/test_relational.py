"""Joins, subqueries, set operations and the like give the rows that Spark SQL gives, pruned or not.

Three small tables with the same names in all of them, keys that are missing on either side, NULLs
as keys, and nested columns.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

import narrows

SCHEMAS = {
    "t1": "id BIGINT, a BIGINT, name STRING, s STRUCT<x: BIGINT, y: STRING>, items ARRAY<BIGINT>",
    "t2": "id BIGINT, b BIGINT, name STRING, s STRUCT<x: BIGINT, y: STRING>,"
    " items ARRAY<STRUCT<c: BIGINT, d: STRING>>",
    "t3": "id BIGINT, c BIGINT, name STRING, tags ARRAY<ARRAY<BIGINT>>",
}


def _rows(table: str) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for i in range(14):
        s = {"x": i % 4, "y": f"y{i % 3}"} if i % 5 else None
        common = {"name": f"n{i % 4}" if i % 6 else None}
        match table:
            case "t1":
                key = i if i % 7 else None
                rows.append({"id": key, "a": i % 5, **common, "s": s, "items": [i, i + 1][: i % 3]})
            case "t2":
                items = [{"c": i, "d": "p"}, {"c": -i, "d": "q"}][: i % 3]
                rows.append({"id": i // 2, "b": i, **common, "s": s, "items": items})
            case _:
                rows.append({"id": i * 2, "c": i % 3, **common, "tags": [[i], [1, 2]][: i % 3]})
    return rows


JOINS = [
    "SELECT t1.name, t2.name FROM t1 JOIN t2 ON t1.id = t2.id",
    "SELECT t1.a, t2.b FROM t1 LEFT JOIN t2 ON t1.id = t2.id AND t2.b > 5",
    "SELECT t1.a, t2.b, t2.id FROM t1 RIGHT JOIN t2 ON t1.id = t2.id",
    "SELECT t1.s.x, t2.s.y FROM t1 FULL JOIN t2 ON t1.id = t2.id",
    "SELECT t1.name FROM t1 LEFT SEMI JOIN t2 ON t1.id = t2.id AND t2.s.x > 1",
    "SELECT t1.name FROM t1 LEFT ANTI JOIN t2 ON t1.id = t2.id",
    "SELECT count(*) FROM t1, t2",
    "SELECT count(*) FROM t1 CROSS JOIN t2 WHERE t1.a < t2.b",
    "SELECT l.id, r.id FROM t1 l JOIN t1 r ON l.a = r.a AND l.id < r.id",
    "SELECT x.name, y.name, z.name FROM t1 x JOIN t2 y ON x.id = y.id JOIN t3 z ON z.id = y.id",
    "SELECT t1.id FROM t1 JOIN t2 ON CASE WHEN t1.a IN (1, 2) THEN t1.id ELSE t1.a END = t2.id",
    "SELECT id, a, b FROM t1 JOIN t2 USING (id)",
    "SELECT id, name, a, c FROM t1 FULL JOIN t3 USING (id, name)",
    "SELECT * FROM (SELECT id, a FROM t1) NATURAL JOIN (SELECT id, b FROM t2)",
    "SELECT t1.a FROM t1 LEFT JOIN t2 ON t1.id = t2.id WHERE t2.id IS NULL",
    "SELECT t1.a, t2.b FROM t1 LEFT JOIN t2 ON t1.id = t2.id WHERE t2.b > 3 AND t1.a < 4",
    "SELECT t1.a, t2.b FROM t1 FULL JOIN t2 ON t1.id = t2.id WHERE coalesce(t1.a, 9) > 1",
    "SELECT t1.a FROM (t1 JOIN t2 ON t1.id = t2.id) JOIN t3 ON t1.id = t3.id",
    "SELECT t1.id, e.c, f FROM t1 JOIN t2 ON t1.id = t2.id LATERAL VIEW explode(t2.items) v AS e"
    " LATERAL VIEW explode(t1.items) w AS f",
    "SELECT id, n FROM t3 LATERAL VIEW explode(tags) v AS u LATERAL VIEW OUTER explode(u) w AS n",
]

TABLES = [
    "SELECT x.a FROM (SELECT a, s FROM t1 WHERE id > 2) x WHERE x.s.x > 1",
    "SELECT u.y FROM (SELECT s AS q, a FROM t1) AS v(r, n) JOIN (SELECT s.y, b FROM t2) u"
    " ON u.b = v.n AND v.r.x > 0",
    "SELECT k, n FROM (SELECT a % 2 AS k, count(*) AS n FROM t1 GROUP BY 1) WHERE k = 1",
    "WITH c AS (SELECT id, a, s FROM t1 WHERE a > 0) SELECT l.a, r.s.y FROM c l JOIN c r"
    " ON l.id = r.id WHERE l.s.x < 3",
    "WITH c AS (SELECT id AS k, a FROM t1), d(z) AS (SELECT k FROM c WHERE a > 1)"
    " SELECT c.a FROM c JOIN d ON c.k = d.z",
    "WITH c AS (SELECT * FROM t2) SELECT b FROM c WHERE EXISTS (SELECT 1 FROM c d"
    " WHERE d.id = c.id AND d.b > c.b)",
    "SELECT name NOT LIKE ANY ('n1', 'n_'), name NOT LIKE ALL ('n1', 'n2'), a >>> 1 FROM t1",
    "SELECT struct(*).s.x, named_struct('a', a).a FROM t1 WHERE current_user IS NOT NULL",
    "SELECT 1 AS one, 'x', array(1, 2)[1]",
    "SELECT x + 1, y FROM VALUES (1, 'a'), (2, NULL) AS t(x, y) WHERE x > 1",
    "VALUES (1, 2.5), (3, 4)",
    "SELECT t1.a FROM t1 JOIN (VALUES (1), (3)) AS v(k) ON t1.id = v.k",
    "SELECT q.id FROM t1 AS q(id, w, n, m, l) WHERE q.w > 2",
    "SELECT name FROM t1 ORDER BY s.x DESC, id LIMIT 5",
    "SELECT a FROM t1 ORDER BY id LIMIT ALL",
    "SELECT a FROM (SELECT a, id FROM t1 ORDER BY id DESC LIMIT 4) ORDER BY a",
]

SETS = [
    "SELECT a FROM t1 UNION ALL SELECT b FROM t2",
    "SELECT a, name FROM t1 UNION SELECT b, name FROM t2",
    "SELECT a FROM (SELECT a, s FROM t1 UNION ALL SELECT b, s FROM t2 UNION ALL SELECT 1, NULL)"
    " WHERE a > 2",
    "SELECT u.s.x FROM (SELECT s, a FROM t1 UNION ALL SELECT s, b FROM t2) u WHERE u.a > 1",
    "SELECT name FROM t1 INTERSECT SELECT name FROM t2",
    "SELECT name FROM t1 INTERSECT ALL SELECT name FROM t2",
    "SELECT id FROM t1 EXCEPT SELECT id FROM t2",
    "SELECT id FROM t1 EXCEPT ALL SELECT id FROM t2",
    "SELECT a FROM t1 UNION SELECT b FROM t2 INTERSECT SELECT c FROM t3 ORDER BY 1 LIMIT 4",
    "(SELECT a FROM t1 ORDER BY id LIMIT 2) UNION ALL SELECT 1.5",
    "SELECT DISTINCT a % 2, name FROM t1",
]

SUBQUERIES = [
    "SELECT a FROM t1 WHERE id IN (SELECT id FROM t2 WHERE b > 4)",
    "SELECT a FROM t1 WHERE id NOT IN (SELECT id FROM t2 WHERE b > 4)",
    "SELECT b FROM t2 WHERE id NOT IN (SELECT id FROM t1)",
    "SELECT b FROM t2 WHERE id NOT IN (SELECT id FROM t1 WHERE id IS NOT NULL)",
    "SELECT a FROM t1 WHERE (id, name) IN (SELECT id, name FROM t2)",
    "SELECT a FROM t1 WHERE EXISTS (SELECT * FROM t2 WHERE t2.id = t1.id AND t2.s.x = t1.s.x)",
    "SELECT a FROM t1 WHERE NOT EXISTS (SELECT 1 FROM t2 WHERE t2.id = t1.id)",
    "SELECT a FROM t1 WHERE EXISTS (SELECT 1 FROM t2 WHERE t2.b > 100) OR a = 1",
    "SELECT a FROM t1 WHERE a = 1 OR id IN (SELECT id FROM t2 WHERE name = t1.name)",
    "SELECT a, (SELECT max(b) FROM t2) FROM t1",
    "SELECT a, (SELECT max(b) FROM t2 WHERE t2.id = t1.id) AS m FROM t1",
    "SELECT a, (SELECT count(*) FROM t2 WHERE t2.id = t1.id) FROM t1",
    "SELECT a FROM t1 WHERE a > (SELECT avg(b) - 5 FROM t2 WHERE t2.name = t1.name)",
    "SELECT name, sum(a) FROM t1 GROUP BY name HAVING sum(a) > (SELECT min(b) + 2 FROM t2)",
    "SELECT name, count(*) FROM t1 GROUP BY name"
    " HAVING name IN (SELECT name FROM t2 WHERE t2.name = t1.name)",
    "SELECT sum(CASE WHEN id IN (SELECT id FROM t2) THEN 1 ELSE 0 END) FROM t1",
    "SELECT a IN (SELECT b FROM t2) AS f, count(*) FROM t1 GROUP BY f",
    "SELECT (SELECT s FROM t2 WHERE b = 3).x FROM t1",
    "SELECT a FROM t1 WHERE id IN (SELECT id FROM t2 WHERE b IN (SELECT c FROM t3))",
    "SELECT a FROM t1 WHERE EXISTS (SELECT 1 FROM t2 JOIN t3 ON t2.id = t3.id"
    " WHERE t2.name = t1.name)",
    "SELECT a FROM t1 WHERE id = (SELECT id FROM t2 WHERE t2.b = t1.a ORDER BY b LIMIT 1)",
    "SELECT a FROM t1 WHERE EXISTS (SELECT id FROM t2 WHERE t2.id = t1.id UNION ALL"
    " SELECT id FROM t3 WHERE t3.id = t1.id)",
]

GROUPS = [
    "SELECT name, a, count(*) FROM t1 GROUP BY ROLLUP (name, a)",
    "SELECT name, a, sum(id), grouping(name), grouping_id() FROM t1 GROUP BY CUBE (name, a)",
    "SELECT name, a % 2 AS k, count(*) FROM t1 GROUP BY GROUPING SETS ((name), (a % 2), ())",
    "SELECT name, s.x, max(a) FROM t1 GROUP BY name, ROLLUP (s.x)",
    "SELECT a, sum(a) FROM t1 GROUP BY a WITH ROLLUP HAVING a IS NULL OR a > 1",
    "SELECT name, a FROM t1 GROUP BY ROLLUP (name, a)",
    "SELECT name, count(DISTINCT s.x) FROM t1 GROUP BY name HAVING count(*) > 2 AND max(a) > 1",
]

OVER = [
    "SELECT id, rank() OVER (PARTITION BY name ORDER BY a DESC) FROM t1",
    "SELECT b, sum(b) OVER (PARTITION BY name ORDER BY b ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)"
    " FROM t2",
    "SELECT b, lag(b) OVER (ORDER BY b), lead(b, 2, -1) OVER (ORDER BY b) FROM t2",
    "SELECT name, b FROM t2 QUALIFY row_number() OVER (PARTITION BY name ORDER BY b) = 1",
    "SELECT a, count(*) OVER w, max(s.x) OVER w FROM t1 WINDOW w AS (PARTITION BY a)",
    "SELECT name, sum(a), rank() OVER (ORDER BY sum(a), name) FROM t1 GROUP BY name",
    "SELECT b FROM (SELECT b, row_number() OVER (PARTITION BY s.y ORDER BY b) AS n FROM t2)"
    " WHERE n <= 2",
    "SELECT a, sum(a) OVER () - a FROM t1",
]

QUERIES = [*JOINS, *TABLES, *SETS, *SUBQUERIES, *GROUPS, *OVER]


@pytest.fixture(scope="module")
def sessions(
    small_data: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[narrows.Session]]:
    """The same tables for Narrows with and without pruning, and as views for Spark."""
    spark = small_data
    folder = tmp_path_factory.mktemp("relational")
    for table, schema in SCHEMAS.items():
        path = folder / table
        path.mkdir()
        lines = "\n".join(json.dumps(row) for row in _rows(table))
        (path / "rows.json").write_text(lines, encoding="utf-8")
        spark.read.schema(schema).json(str(path)).cache().createOrReplaceTempView(table)
    made = []
    for pruning in (True, False):
        session = narrows.connect(spark, state=tmp_path_factory.mktemp("state"), pruning=pruning)
        for table, schema in SCHEMAS.items():
            session.execute(
                f"CREATE TABLE {table} ({schema})"
                f" WITH (connector = 'file', path = '{folder / table}', format = 'json')"
            )
        made.append(session)
    yield made
    for session in made:
        session.close()


@pytest.mark.parametrize("sql", QUERIES)
def test_like_spark_sql(sql: str, spark: SparkSession, sessions: list[narrows.Session]) -> None:
    expected = _collected(spark.sql(sql))
    assert _collected(sessions[0].query(sql)) == expected
    if QUERIES.index(sql) % 4 == 0:  # without pruning, a sample will do: it is the simpler plan
        assert _collected(sessions[1].query(sql)) == expected


def _collected(frame: object) -> list[str]:
    names = [f"c{i}" for i in range(len(frame.columns))]  # type: ignore[attr-defined]
    return sorted(repr(row) for row in frame.toDF(*names).collect())  # type: ignore[attr-defined]
