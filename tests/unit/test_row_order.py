"""What goes by the order or the time of rows, above rows that have none."""

from __future__ import annotations

import pytest

import narrows
from narrows.errors import Code, NarrowsError

DECLARED = """
CREATE STREAM s (k BIGINT, a BIGINT, ts TIMESTAMP)
  WITH (connector = 'file', path = 'in/s', eventtime = 'ts', watermark = '1 hour');
CREATE STREAM r (k BIGINT, a BIGINT, ts TIMESTAMP)
  WITH (connector = 'file', path = 'in/r', eventtime = 'ts', watermark = '1 hour');
CREATE TABLE t (k BIGINT, a BIGINT) WITH (connector = 'file', path = 'in/t');
CREATE SINK out WITH (connector = 'memory');
CREATE SINK taken_back WITH (connector = 'memory', mode = 'retract');
"""

UNORDERED = [
    ("SELECT k, a FROM s UNION ALL SELECT k, a FROM r", "UNION"),
    ("SELECT k, explode(array(a)) AS a FROM s", "a generator"),
    ("SELECT k, count(*) AS a FROM s GROUP BY k", "an aggregation"),
    ("SELECT k, max(a) AS a FROM s GROUP BY k, tumblingwindow('ss', 5)", "an aggregation"),
    ("SELECT DISTINCT k, a FROM s", "DISTINCT"),
    ("SELECT k, a FROM t EXCEPT SELECT k, a FROM s", "INTERSECT or EXCEPT"),
    ("SELECT k, a FROM VALUES (1, 2) AS v(k, a)", "VALUES"),
    ("SELECT id AS k, id AS a FROM range(5)", "a table function"),
    ("SELECT 1 AS k, 2 AS a", "a query without FROM"),
    (
        "SELECT s.k, t.a FROM s JOIN (SELECT k, max(a) AS a FROM t GROUP BY k) t ON s.k = t.k",
        "an aggregation",
    ),
]
ORDERED = [
    "SELECT k, a FROM s WHERE a > 0",
    "SELECT k, lag(a) OVER (PARTITION BY k) AS a FROM s",
    "SELECT s.k, t.a FROM s JOIN t ON s.k = t.k",
    "SELECT s.k, s.a FROM s LEFT SEMI JOIN (SELECT DISTINCT k FROM t) u ON s.k = u.k",
    "SELECT k, a FROM s WHERE a > (SELECT max(a) FROM t)",
    "SELECT k, a FROM s WHERE lag(a) OVER (PARTITION BY k) > 0",
]
ONE_STREAM = "SELECT k, a FROM s UNION ALL SELECT a, k FROM s WHERE k > 0"
BY_ORDER = {
    "lag": "SELECT k, lag(a) OVER (PARTITION BY k) AS b FROM ({}) x",
    "countwindow": "SELECT k, count(*) AS n FROM ({}) x GROUP BY k, countwindow(3)",
    "last_row": "SELECT k, last_row(a) AS n FROM ({}) x GROUP BY k",
}
BY_TIME = "SELECT k, count(*) AS n FROM ({}) x GROUP BY k, tumblingwindow('ss', 10)"


@pytest.fixture
def catalog() -> narrows.Catalog:
    declared = narrows.Catalog()
    declared.execute(DECLARED)
    return declared


def _problem(sql: str, catalog: narrows.Catalog) -> str:
    with pytest.raises(NarrowsError) as raised:
        narrows.plan(sql, catalog)
    (problem,) = raised.value.problems
    assert problem.code is Code.NOT_SUPPORTED
    assert problem.span is not None
    assert problem.hint is not None
    return problem.message


@pytest.mark.parametrize("name", BY_ORDER)
@pytest.mark.parametrize(("below", "rows"), UNORDERED)
def test_no_order(below: str, rows: str, name: str, catalog: narrows.Catalog) -> None:
    said = _problem(BY_ORDER[name].format(below), catalog)
    assert said == f"`{name}` goes by the order of rows, and the rows of {rows} have none"


@pytest.mark.parametrize("name", BY_ORDER)
@pytest.mark.parametrize("below", ORDERED)
def test_an_order(below: str, name: str, catalog: narrows.Catalog) -> None:
    narrows.plan(BY_ORDER[name].format(below), catalog)


@pytest.mark.parametrize(("below", "rows"), UNORDERED[2:-1])
def test_no_time(below: str, rows: str, catalog: narrows.Catalog) -> None:
    said = _problem(BY_TIME.format(below), catalog)
    assert said == f"`tumblingwindow` goes by the time of rows, and the rows of {rows} have none"


def test_a_table_has_no_time_to_give(catalog: narrows.Catalog) -> None:
    groups = "(SELECT k, max(a) AS a FROM s GROUP BY k, tumblingwindow('ss', 5))"
    said = _problem(BY_TIME.format(f"SELECT g.k FROM {groups} g JOIN t ON g.k = t.k"), catalog)
    assert said.endswith("goes by the time of rows, and the rows of an aggregation have none")
    narrows.plan(
        BY_TIME.format("SELECT g.k FROM (SELECT DISTINCT k FROM t) g JOIN s USING (k)"), catalog
    )


@pytest.mark.parametrize("below", [*ORDERED, ONE_STREAM, *(UNORDERED[at][0] for at in (1, -1))])
def test_a_time(below: str, catalog: narrows.Catalog) -> None:
    catalog.execute(f"CREATE PIPELINE p INTO out AS {BY_TIME.format(below)}")


def test_pairs_of_two_streams_have_an_order_where_all_of_them_are_there(
    catalog: narrows.Catalog,
) -> None:
    pairs = "SELECT s.k, r.a FROM s JOIN r ON s.k = r.k AND s.ts = r.ts"
    sql = BY_ORDER["lag"].format(pairs)
    narrows.plan(sql, catalog)
    with pytest.raises(NarrowsError, match="the rows of two joined streams have none"):
        catalog.execute(f"CREATE PIPELINE p INTO out AS {sql}")
    catalog.execute(f"CREATE PIPELINE p INTO out AS {BY_TIME.format(pairs)}")


def test_a_window_cuts_several_streams(catalog: narrows.Catalog) -> None:
    catalog.execute(f"CREATE PIPELINE p INTO out AS {BY_TIME.format(UNORDERED[0][0])}")
    joined = "SELECT s.k, t.a FROM s JOIN t ON s.k = t.k UNION ALL SELECT k, a FROM s"
    catalog.execute(f"CREATE PIPELINE q INTO out AS {BY_TIME.format(joined)}")


def test_what_is_taken_back_goes_by_order(catalog: narrows.Catalog) -> None:
    groups = "SELECT k, count(*) AS n FROM ({}) x GROUP BY k"
    catalog.execute(f"CREATE PIPELINE p INTO taken_back AS {groups.format(ORDERED[0])}")
    with pytest.raises(NarrowsError, match="`mode = 'retract'` goes by the order of rows"):
        catalog.execute(f"CREATE PIPELINE q INTO taken_back AS {groups.format(UNORDERED[0][0])}")
