"""Queries give the rows that Spark SQL gives on the same data, pruned or not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import narrows

STRUCT = (
    "STRUCT<c: BIGINT, s: STRUCT<t: STRING, u: BIGINT>, items: ARRAY<STRUCT<x: BIGINT, y: STRING>>>"
)
SCHEMA = (
    f"a BIGINT, name STRING, ok BOOLEAN, price DOUBLE, b {STRUCT}, other {STRUCT},"
    " nums ARRAY<BIGINT>, grid ARRAY<ARRAY<BIGINT>>, m MAP<STRING, STRUCT<v: BIGINT, w: STRING>>"
)


def _document(i: int) -> dict[str, object]:
    items = [{"x": i + k, "y": f"y{k}"} if k != 2 else None for k in range(i % 5)]
    struct = {"c": i * 2, "s": {"t": f"t{i % 3}", "u": i}, "items": items}
    document: dict[str, object] = {
        "a": i,
        "name": f"n{i % 7}",
        "ok": i % 2 == 0,
        "price": i / 4,
        "b": struct if i % 6 else None,
        "other": {"c": -i, "items": [{"x": 1}]} if i % 4 else None,
        "nums": list(range(i % 4)) if i % 9 else None,
        "grid": [[1, 2], [i]] if i % 3 else [[]],
        "m": {"k": {"v": i, "w": "w"}, "l": {"v": -i}} if i % 5 else {},
    }
    if i % 10 == 0:
        del document["name"]
    if i % 11 == 0:
        document["price"] = "NaN"
    return document


QUERIES = [
    "SELECT a, b.c, b.items[0].x FROM s",
    "SELECT a, b.items[1].y, b.items[3].x, b.items[9].x FROM s WHERE b.c > 20",
    "SELECT * FROM s",
    "SELECT b, b.c FROM s",
    "SELECT b.s, b.s.t FROM s WHERE name = 'n3'",
    "SELECT count(*) FROM s",
    "SELECT 1 FROM s",
    "SELECT count(b), count(b.s), count(name), count(DISTINCT name) FROM s",
    "SELECT a, size(b.items), size(nums), size(m) FROM s",
    "SELECT a, size(b.items), b.items[0].x FROM s",
    "SELECT a, b IS NULL, b.s IS NULL, b.items IS NULL, nums IS NOT NULL, m IS NULL FROM s",
    "SELECT a, b IS NULL, b.c, size(b.items) FROM s",
    "SELECT nums[1], nums[a % 3], grid[0][1], grid[1] FROM s",
    "SELECT m['k'].v, m['missing'].v, m['l'] FROM s",
    "SELECT map_keys(m), transform(map_values(m), v -> v.v) FROM s",
    "SELECT CASE WHEN a % 2 = 0 THEN b ELSE other END.c FROM s",
    # put together with fields that nobody looks at, beside one that is
    "SELECT array(b.c, b.s.u)[0], b IS NULL, b.s IS NULL FROM s",
    "SELECT struct(b.c AS p, b.s AS q).p, map('k', b.c, 'l', b.s.u)['k'], b IS NOT NULL FROM s",
    "SELECT transform(b.items, i -> struct(i.x AS p, i.y AS q).p), b IS NULL FROM s",
    "SELECT if(b IS NULL, NULL, array(b.c, b.s.u))[0], if(b IS NULL, NULL, b.s).u FROM s",
    "SELECT CASE WHEN a % 2 = 0 THEN b ELSE other END.c, b.s.t, other.items[0].y FROM s",
    "SELECT coalesce(b, other).c, coalesce(other, b).s.u FROM s",
    "SELECT coalesce(b, other).items[0].x, b.items[1].y FROM s",
    "SELECT if(ok, b.items, other.items)[0].x, b.items[2].y FROM s",
    "SELECT nvl2(b, 1, 2), coalesce(b.items, other.items)[1].x FROM s",
    "SELECT transform(b.items, i -> i.x + 1), exists(b.items, i -> i.y = 'y1') FROM s",
    "SELECT filter(b.items, i -> i.x % 2 = 0)[0].y, size(filter(b.items, i -> i.x > 3)) FROM s",
    "SELECT transform(b.items, i -> i IS NULL), forall(b.items, i -> i.x > 0) FROM s",
    "SELECT aggregate(b.items, 0L, (acc, i) -> acc + coalesce(i.x, 0)) FROM s",
    "SELECT zip_with(b.items, other.items, (p, q) -> coalesce(p.x, q.x)) FROM s",
    "SELECT element_at(b.items, 1).x, try_element_at(nums, -1), get(nums, 0) FROM s",
    "SELECT array(b, other)[1].c, named_struct('k', b).k.c, struct(a, b.c AS z).z FROM s",
    "SELECT slice(b.items, 1, 2)[0].x, reverse(b.items)[0].y FROM s",
    "SELECT i.x, i.y FROM s LATERAL VIEW explode(b.items) t AS i WHERE i.x > 5",
    "SELECT a, pos, i.y FROM s LATERAL VIEW OUTER posexplode(b.items) t AS pos, i",
    "SELECT a, key, value.v FROM s LATERAL VIEW explode(m) t AS key, value",
    "SELECT explode(nums) AS n FROM s",
    "SELECT name, sum(b.c), max(price), first(b).c IS NULL FROM s WHERE a < 50 GROUP BY name",
    "SELECT a % 3 AS k, count(*) AS n, collect_list(b.items[0].x) FROM s GROUP BY k HAVING n > 3",
    "SELECT sum(a) FILTER (WHERE ok), avg(price), min(b.s.t) FROM s",
    "SELECT DISTINCT name, ok FROM s",
    "SELECT name FROM s ORDER BY b.c DESC NULLS LAST, a LIMIT 7",
    "SELECT l.a, r.b.c FROM s l JOIN s r ON l.a = r.a + 1 WHERE l.ok AND r.b.s.u < 40",
    "SELECT l.a, r.name FROM s l LEFT JOIN s r ON l.a = r.b.c WHERE r.a IS NULL",
    "SELECT l.a FROM s l LEFT SEMI JOIN s r ON l.a = r.b.c",
    "SELECT a, l.name, r.name FROM s l FULL JOIN s r USING (a) WHERE a < 5",
    "SELECT a FROM s WHERE price > 10 AND price <> 12.5",
    "SELECT a FROM s WHERE price <= 3 OR name IN ('n1', 'n2') AND NOT ok",
    "SELECT a FROM s WHERE b.c BETWEEN 10 AND 20 OR b.s.t IS NULL",
    "SELECT a FROM s WHERE NOT (name = 'n1') AND a >= 3",
    "SELECT a FROM s WHERE ok AND b.items[0].x IS NOT NULL AND upper(name) = 'N2'",
    "SELECT a FROM s WHERE b.c <= other.c AND b.s.t <> name OR NOT a < b.s.u",
    "SELECT a FROM s WHERE name LIKE 'n%' AND b.s.t NOT LIKE '%1%' AND name NOT LIKE '%n%2'",
    "SELECT CAST(a AS STRING), a / 2, name || '-' || a, name LIKE 'n%' FROM s",
]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("queries") / "data"
    folder.mkdir()
    lines = [json.dumps(_document(i)) for i in range(120)]
    (folder / "one.json").write_text("\n".join(lines[:70]), encoding="utf-8")
    (folder / "two.json").write_text("\n".join(lines[70:]) + "\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def sessions(
    spark: SparkSession, data: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[narrows.Session, narrows.Session]]:
    """The same stream, pruned and not."""
    made = []
    for pruning in (True, False):
        session = narrows.connect(spark, state=tmp_path_factory.mktemp("state"), pruning=pruning)
        session.execute(f"CREATE STREAM s ({SCHEMA}) WITH (connector = 'file', path = '{data}')")
        made.append(session)
    yield made[0], made[1]
    for session in made:
        session.close()


@pytest.fixture(scope="module")
def spark_view(spark: SparkSession, data: Path) -> None:
    spark.read.schema(SCHEMA).json(str(data)).createOrReplaceTempView("s")


def _rows(frame: object) -> list[str]:
    return sorted(repr(row) for row in frame.toDF(*_names(frame)).collect())  # type: ignore[attr-defined]


def _names(frame: object) -> list[str]:
    return [f"c{i}" for i in range(len(frame.columns))]  # type: ignore[attr-defined]


@pytest.mark.parametrize("sql", QUERIES)
def test_like_spark_sql(
    sql: str,
    spark: SparkSession,
    sessions: tuple[narrows.Session, narrows.Session],
    spark_view: None,
) -> None:
    pruned, full = sessions
    expected = _rows(spark.sql(sql))
    assert _rows(pruned.query(sql)) == expected
    assert _rows(full.query(sql)) == expected
