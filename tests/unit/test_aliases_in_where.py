"""Aliases in WHERE; functions that remember rows beside the aggregates of a window."""

from __future__ import annotations

import pytest

import narrows
from narrows.errors import Code, NarrowsError


@pytest.fixture(scope="module")
def catalog() -> narrows.Catalog:
    catalog = narrows.Catalog()
    catalog.execute("""
        CREATE STREAM s (a BIGINT, k STRING, x BIGINT, b STRUCT<c: BIGINT, d: STRING>, n ARRAY<INT>)
          WITH (connector = 'file', path = 'p');
        CREATE TABLE t (k STRING, y BIGINT) WITH (connector = 'file', path = 'q');
    """)
    return catalog


def _explained(sql: str, catalog: narrows.Catalog) -> str:
    return narrows.plan(sql, catalog).explain("logical")


@pytest.mark.parametrize(
    ("sql", "predicate", "schema"),
    [
        ("SELECT a + x AS total FROM s WHERE TOTAL > 1", "s.a + s.x > 1", "[a, x]"),
        ("SELECT b AS q FROM s WHERE q.c > 1", "s.b->c > 1", "[b{c, d}]"),
        ("SELECT b->c AS q FROM s WHERE q IS NULL", "s.b->c IS NULL", "[b{c}]"),
        ("SELECT lag(a) AS p FROM s WHERE p > 1", "lag(s.a) > 1", "[a]"),
        ("SELECT now() AS p FROM s WHERE p IS NULL", "now() IS NULL", "[]"),
        # what is there already goes first
        ("SELECT a + 1 AS x FROM s WHERE x > 1", "s.x > 1", "[a, x]"),
        ("SELECT a AS y FROM t WHERE EXISTS (SELECT 1 AS y FROM s WHERE y > 1)", "t.y > 1", None),
    ],
)
def test_an_alias_stands_for_its_expression(
    sql: str, predicate: str, schema: str | None, catalog: narrows.Catalog
) -> None:
    explained = _explained(sql.replace("SELECT a AS y FROM t", "SELECT k FROM t"), catalog)
    assert f"predicate={predicate}" in explained
    assert schema is None or f"schema={schema}" in explained


@pytest.mark.parametrize(
    ("sql", "code", "message"),
    [
        ("SELECT sum(a) AS m FROM s WHERE m > 1", Code.MISPLACED_FUNCTION, "is made by `sum`"),
        (
            "SELECT rank() OVER (ORDER BY a) AS r FROM s WHERE r = 1",
            Code.MISPLACED_FUNCTION,
            "is made by `rank`",
        ),
        (
            "SELECT explode(n) AS e FROM s WHERE e > 1",
            Code.MISPLACED_FUNCTION,
            "is made by `explode`",
        ),
        (
            "SELECT rand() AS r FROM s WHERE r > 1",
            Code.NOT_SUPPORTED,
            "would be another value in WHERE",
        ),
        ("SELECT a + 1 FROM s WHERE `(a + 1)` > 1", Code.UNKNOWN_COLUMN, "not found"),
        (
            "SELECT a AS p FROM s WHERE EXISTS (SELECT 1 FROM t WHERE y = p)",
            Code.UNKNOWN_COLUMN,
            "`p` not found",
        ),
    ],
)
def test_refused(sql: str, code: Code, message: str, catalog: narrows.Catalog) -> None:
    with pytest.raises(NarrowsError) as raised:
        narrows.plan(sql, catalog)
    (problem,) = raised.value.problems
    assert problem.code is code
    assert message in problem.message
    assert problem.span is not None


# --- functions that remember, beside aggregates ------------------------------------------------


def test_beside_aggregates_of_a_window_it_is_the_last_row(catalog: narrows.Catalog) -> None:
    explained = _explained(
        "SELECT k, sum(a) AS n, lag(b)->c AS c, acc_sum(x) + count(*) AS y, max(latest(a)) AS m"
        " FROM s GROUP BY k, countwindow(3) HAVING latest(x) > 1",
        catalog,
    )
    calls = "sum(s.a); last_row(lag(s.b)); last_row(acc_sum(s.x)); count(*); max(latest(s.a))"
    assert f"calls=[{calls}; last_row(latest(s.x))]" in explained
    assert "schema=[a, k, x, b?{c}]" in explained


def test_keys_that_remember_stay_keys(catalog: narrows.Catalog) -> None:
    sql = "SELECT lag(a) AS p, count(*) AS n FROM s GROUP BY lag(a), countwindow(3)"
    assert "last_row" not in _explained(sql, catalog)


def test_without_aggregates_a_window_emits_its_rows(catalog: narrows.Catalog) -> None:
    assert "last_row" not in _explained("SELECT lag(a) FROM s GROUP BY countwindow(3)", catalog)


def test_groups_without_window_must_say_which_row(catalog: narrows.Catalog) -> None:
    with pytest.raises(NarrowsError, match="neither in GROUP BY nor inside an aggregate"):
        narrows.plan("SELECT k, lag(a), count(*) FROM s GROUP BY k", catalog)
    explained = _explained("SELECT k, last_row(lag(a)), count(*) FROM s GROUP BY k", catalog)
    assert "last_row(lag(s.a))" in explained
