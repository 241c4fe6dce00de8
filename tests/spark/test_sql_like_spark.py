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
    " m MAP<STRING, STRING>, n ARRAY<BIGINT>",
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
QUERIES = [*GROUPS, *COLUMNS, *GENERATORS, *SUBQUERIES, *PATTERNS, *JOINS]


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
