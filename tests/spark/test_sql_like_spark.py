"""Queries that once gave other rows than Spark, or an error that was not ours, and their kin."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import narrows
from narrows.errors import Code, NarrowsError
from narrows.spark.session import Session

SCHEMAS = {
    "t": "k BIGINT, v BIGINT, s STRING, a INT, b INT, items ARRAY<STRUCT<x: BIGINT, y: STRING>>,"
    " m MAP<STRING, STRING>, n ARRAY<BIGINT>, st STRUCT<p: INT, q: STRING>, ts TIMESTAMP",
    "u": "k BIGINT, w BIGINT, s STRING",
}
ROWS: dict[str, list[dict[str, object]]] = {
    "t": [
        {
            "k": i % 3,
            "v": i,
            "s": f"s{i % 4}",
            "a": i % 2,
            "b": i % 5,
            "n": [1, i],
            "items": [{"x": i + j, "y": f"q{j}"} for j in range(i % 4)] if i % 5 else None,
            "m": {"0": "a", "k": f"s{i % 2}"} if i % 3 else {},
            "st": {"p": i, "q": f"q{i % 2}"} if i % 7 else None,
            "ts": f"2020-01-01T0{i % 6}:30:00Z",
        }
        for i in range(20)
    ],
    "u": [{"k": i, "w": i * 10, "s": f"s{i}"} for i in range(5)],
}

GROUPS = [
    "SELECT a + b, count(*) FROM t GROUP BY GROUPING SETS ((a + b), (b + a), (b))",
    "SELECT a * b + 1, count(*) FROM t GROUP BY 1 + b * a",
    "SELECT a > b, sum(v) FROM t GROUP BY b < a",
    "SELECT a = b, a & b, sum(v) FROM t GROUP BY b = a, b & a",
    "SELECT k, sum(v) FROM t GROUP BY k HAVING sum(k) + 1",
]
COLUMNS = [
    "SELECT * EXCEPT (k, w, s) FROM u",
    "SELECT u.* EXCEPT (k, w, s) FROM u WHERE w > 10",
    "SELECT m[0], m['0'], m[k], m[1L] FROM t",
    "SELECT map(0, 'z', 5, 'p')['5'], map(0, 'z', 5, 'p')[s] FROM t",
    "SELECT TIMESTAMP '2020-01-01 00:00:00' + interval -'10.1' second, TIME '12:30:00'",
    "SELECT v FROM t WHERE s = \"s\"'1'",
]
GENERATORS = [
    "SELECT x FROM t LATERAL VIEW inline(items) AS x, y",
    "SELECT v, e.y FROM t LATERAL VIEW inline(items) e",
    "SELECT v, e.y FROM t LATERAL VIEW OUTER inline(items) e WHERE e.y IS NULL",
    "SELECT v, e.x FROM t LATERAL VIEW inline_outer(items) e",
    "SELECT count(*) FROM t LATERAL VIEW inline(items) e",
    "SELECT y FROM (SELECT inline(items) FROM t) q",
    "SELECT p, x FROM t LATERAL VIEW posexplode(items) e AS p, i LATERAL VIEW inline(items) f",
]
SUBQUERIES = [
    "SELECT v FROM t WHERE v = (SELECT p FROM (SELECT max(v) AS p, min(v) AS q FROM t) q)",
    "SELECT v FROM t WHERE v = (SELECT 1 FROM (SELECT max(v) AS p, min(v) AS q FROM t) q)",
    "SELECT v FROM t WHERE 1 IN (SELECT 1 FROM (SELECT max(v) AS p, min(v) AS q FROM t) q)",
    "SELECT v FROM t WHERE v IN (SELECT p FROM (SELECT max(v) AS p, k FROM t GROUP BY k, s) q)",
    "SELECT v FROM t WHERE k IN (SELECT k FROM (SELECT k, w FROM u UNION ALL SELECT k, v FROM t))",
    "SELECT v FROM t WHERE k IN (SELECT k FROM (SELECT DISTINCT k, w FROM u) q)",
    "SELECT v FROM t WHERE EXISTS"
    " (SELECT row_number() OVER (ORDER BY w) FROM u WHERE u.k = t.k AND u.w > 0)",
    "SELECT v FROM t WHERE NOT EXISTS"
    " (SELECT sum(w) OVER (PARTITION BY s), w FROM u WHERE u.k = t.k AND u.w > 10 ORDER BY w)",
    "SELECT v FROM t WHERE EXISTS (SELECT max(w) FROM u WHERE u.k = t.k)",
    "SELECT 1 FROM (SELECT 1 AS z, min(a.x) FROM (SELECT 1 AS x) a WHERE false) b WHERE b.z != b.z",
    "SELECT z FROM (SELECT 1 AS z, min(a.x) FROM (SELECT 1 AS x) a WHERE false) b WHERE b.z = 1",
    "SELECT count(*) FROM (SELECT 1 AS z, min(v) FROM t) b",
    "SELECT z FROM (SELECT 1 AS z, min(v) FROM t GROUP BY k) b",
]
PATTERNS = [
    "SELECT v FROM t WHERE s LIKE ALL ('s%', '%1')",
    "SELECT v FROM t WHERE s LIKE ANY ('s1', '%2') OR s NOT LIKE SOME ('%', 's%')",
    "SELECT v FROM t WHERE s NOT LIKE ALL ('s1', '%2') AND s NOT ILIKE ANY ('S1', '%2')",
    "SELECT s LIKE ALL ('s%', NULL), s LIKE ANY (s, m['k']), s ILIKE ANY ('S1') FROM t",
    "SELECT v FROM t WHERE s ILIKE 'S_' ESCAPE '/' AND s NOT LIKE 's/_' ESCAPE '/'",
]
JOINS = [
    "SELECT * FROM t NATURAL JOIN u",
    "SELECT * FROM (SELECT k, w, w AS w FROM u) x NATURAL JOIN (SELECT k, w FROM u) y",
    "SELECT * FROM (SELECT x.k, y.k, y.w FROM u x JOIN u y) q NATURAL JOIN u",
    "SELECT * FROM u x JOIN u y ON x.k = y.k NATURAL JOIN u z",
    "SELECT * FROM u x JOIN u y ON x.k = y.k JOIN u z USING (k)",
    "SELECT * FROM u x JOIN u y USING (k) JOIN u z USING (w)",
    "SELECT * FROM u x FULL JOIN (SELECT k + 1 AS k, s FROM u) y USING (k) LEFT JOIN t USING (s)",
    "SELECT * FROM u NATURAL RIGHT JOIN (SELECT k, w + 1 AS other FROM u) y",
]
SPELLINGS = [
    "SELECT st.q, k + 1, count(*), sum(st.p) FROM t GROUP BY ALL HAVING count(*) > 1 ORDER BY ALL",
    "SELECT DISTINCT s, st.q FROM t ORDER BY ALL DESC LIMIT 4",
    "SELECT k AS `all`, v FROM t ORDER BY all DESC, v LIMIT 2",
    "SELECT x.l.p, x.l.k FROM (SELECT struct(st.*, k) AS l FROM t) x",
    "SELECT coalesce(st.*, 'none') FROM t",
    "SELECT (st.p AS x, b).x, (a + 1, b).col1, (a, b).b FROM t",
    "SELECT k FROM t WHERE (a, st.q) IN ((1, 'q1'), (0, 'q0'))",
    "SELECT window.start, max(st.p) FROM t GROUP BY window(ts, '2 hours') ORDER BY window.end",
    "SELECT transform(items, k), filter(items, st.p > 5) FROM t",
    "SELECT explode(items) AS i, i.x FROM t",
    "SELECT posexplode(items) AS (p, i), p + i.x AS z FROM t",
]
LATERALS = [
    "SELECT v, e.y FROM t, LATERAL inline(items) e WHERE e.x > 3",
    "SELECT v, e.i.y FROM t LEFT JOIN LATERAL explode(items) AS e(i) ON true",
    "SELECT v, e.y FROM t JOIN LATERAL inline(items) e ON e.x > t.v",
    "SELECT v, e.i.y FROM t LEFT JOIN LATERAL explode(items) AS e(i) ON e.i.x > t.v",
    "SELECT v, l.z FROM t, LATERAL (SELECT max(w) AS z FROM u WHERE u.k = t.st.p) l",
    "SELECT v, l.z FROM t LEFT JOIN LATERAL (SELECT w AS z FROM u WHERE u.k = t.k) l ON z > t.v",
    "SELECT v, z, y FROM t, LATERAL (SELECT st.p + 1 AS z), LATERAL (SELECT z + v AS y)",
    "SELECT v, l.c FROM t, LATERAL (SELECT count(*) AS c, max(w) AS m FROM u WHERE u.k < t.k) l",
    "SELECT v, c FROM t LATERAL VIEW json_tuple(to_json(st), 'p', 'q') j AS c, d",
]
TURNED = [
    "SELECT * FROM (SELECT k, st.q, v FROM t)"
    " PIVOT (sum(v) AS s, count(v) FOR q IN ('q0', 'q1' AS x))",
    "SELECT q1 FROM (SELECT k, st.q, v FROM t) PIVOT (max(v) FOR q IN ('q0', 'q1'))",
    "SELECT k, what, z FROM t UNPIVOT (z FOR what IN (a, b AS other)) WHERE z > 1",
    "SELECT u.what FROM t UNPIVOT INCLUDE NULLS ((x, y) FOR what IN ((a, b), (k, v))) AS u",
    "WITH RECURSIVE r(k, d) AS (SELECT k, 1 FROM u WHERE w = 0 UNION ALL"
    " SELECT u.k, d + 1 FROM r JOIN u ON u.k = r.k + 1) SELECT max(d) FROM r",
]
ASKED = [
    "SELECT t.v, u.w FROM t JOIN u ON t.k = u.k AND t.st.p IN (SELECT k FROM u)",
    "SELECT t.v, u.w FROM t LEFT JOIN u ON t.k = u.k AND u.w = (SELECT max(w) FROM u WHERE k < 2)",
    "SELECT t.v FROM t JOIN u ON t.k = u.k AND EXISTS (SELECT 1 FROM u x WHERE x.k = t.st.p)",
    "SELECT k FROM t GROUP BY k HAVING EXISTS (SELECT 1 FROM u WHERE u.w > max(t.st.p) + 20)",
    "SELECT (SELECT max(w) FROM u WHERE u.k = t.k) + 1, count(*) FROM t"
    " WHERE (SELECT max(w) FROM u WHERE u.k = t.k) > 0"
    " GROUP BY (SELECT max(w) FROM u WHERE u.k = t.k)",
]
QUERIES = [
    *(*GROUPS, *COLUMNS, *GENERATORS, *SUBQUERIES, *PATTERNS, *JOINS),
    *(*SPELLINGS, *LATERALS, *TURNED, *ASKED),
]


@pytest.fixture(scope="module")
def sessions(
    small_data: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[Session]]:
    """Pruned, not pruned; and Spark has views of the same names."""
    folder: Path = tmp_path_factory.mktemp("sql")
    made = [
        narrows.connect(small_data, state=folder / str(pruning), pruning=pruning)
        for pruning in (True, False)
    ]
    for name, schema in SCHEMAS.items():
        (folder / name).mkdir()
        lines = "".join(json.dumps(row) + "\n" for row in ROWS[name])
        (folder / name / "rows.json").write_text(lines, "utf-8")
        small_data.read.schema(schema).json(str(folder / name)).createOrReplaceTempView(name)
        for session in made:
            session.execute(
                f"CREATE TABLE {name} ({schema})"
                f" WITH (connector = 'file', path = '{folder / name}')"
            )
    yield made
    for session in made:
        session.close()


def _rows(frame: DataFrame) -> list[str]:
    return sorted(repr(tuple(row)) for row in frame.collect())


@pytest.mark.parametrize("query", QUERIES)
def test_rows(small_data: SparkSession, sessions: list[Session], query: str) -> None:
    expected = small_data.sql(query)
    rows = _rows(expected)
    for session in sessions:
        frame = session.query(query)
        assert _rows(frame) == rows
        assert len(frame.columns) == len(expected.columns)


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("SELECT v FROM t WHERE v", Code.WRONG_TYPE),
        ("SELECT v FROM t JOIN u ON t.v", Code.WRONG_TYPE),
        ("SELECT v FROM t WHERE v > > 1", Code.SYNTAX_ERROR),
        ("SELECT v >>>> 1 FROM t", Code.SYNTAX_ERROR),
        ("SELECT * FROM u JOIN t USING (nowhere)", Code.UNKNOWN_COLUMN),
    ],
)
def test_refused_in_our_words(sessions: list[Session], query: str, code: Code) -> None:
    for session in sessions:
        with pytest.raises(NarrowsError) as caught:
            session.query(query)
        assert caught.value.code is code
