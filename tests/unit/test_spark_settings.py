"""Settings of Spark's under which SQL means something else: refused where a query has such a piece,
passed over where it has none."""

from __future__ import annotations

import pytest

import narrows
from narrows.errors import Code, NarrowsError
from narrows.explain.plan import Plan
from narrows.planner.spark_settings import MEANINGS

TABLE = (
    "CREATE TABLE t (a INT, b INT, d DECIMAL(10, 2)) WITH (connector = 'file', path = 'nowhere');"
)

CONCERNED = {
    "spark.sql.legacy.ctePrecedencePolicy": (
        "LEGACY",
        "WITH x AS (SELECT 1) SELECT (WITH X AS (SELECT 2) SELECT * FROM x)",
        "WITH x AS (SELECT 1), y AS (SELECT 2) SELECT * FROM x, y",
    ),
    "spark.sql.legacy.setopsPrecedence.enabled": (
        "true",
        "SELECT a FROM t UNION SELECT b FROM t INTERSECT SELECT 1",
        "SELECT a FROM t UNION SELECT b FROM t EXCEPT SELECT 1",
    ),
    "spark.sql.legacy.parser.havingWithoutGroupByAsWhere": (
        "true",
        "SELECT 1 FROM t HAVING true",
        "SELECT a FROM t GROUP BY a HAVING a > 1",
    ),
    "spark.sql.legacy.consecutiveStringLiterals.enabled": (
        "true",
        "SELECT 'it''s' FROM t",
        "SELECT 'it', '', \"'\" FROM t -- that's ''it''",
    ),
    "spark.sql.ansi.doubleQuotedIdentifiers": (
        "true",
        'SELECT "a" FROM t',
        "SELECT 'a \" b' FROM t",
    ),
    "spark.sql.parser.escapedStringLiterals": (
        "true",
        r"SELECT '\\d' FROM t",
        "SELECT 'd' FROM t",
    ),
    "spark.sql.groupByOrdinal": (
        "false",
        "SELECT a FROM t GROUP BY CUBE(1, b)",
        "SELECT a FROM t GROUP BY a, a + 1 ORDER BY 1",
    ),
    "spark.sql.orderByOrdinal": (
        "false",
        "SELECT a FROM t ORDER BY 1 DESC",
        "SELECT a, row_number() OVER (ORDER BY 1) FROM t GROUP BY 1 ORDER BY a + 1",
    ),
    "spark.sql.ansi.relationPrecedence": (
        "true",
        "SELECT 1 FROM t, t x JOIN t y ON y.a = x.a",
        "SELECT 1 FROM t x JOIN t y ON y.a = x.a JOIN t z ON z.a = x.a",
    ),
    "spark.sql.legacy.exponentLiteralAsDecimal.enabled": (
        "true",
        "SELECT a > 1e3 FROM t",
        "SELECT a > 1.5, '1e3' FROM t",
    ),
    "spark.sql.caseSensitive": ("true", "SELECT A FROM t WHERE a > 1", "SELECT a FROM t"),
}


def planned(sql: str, settings: dict[str, str]) -> Plan:
    catalog = narrows.Catalog()
    catalog.execute(TABLE)
    catalog.setting = settings.get
    return narrows.plan(sql, catalog)


def test_every_setting_has_its_case() -> None:
    assert list(CONCERNED) == [meaning.key for meaning in MEANINGS]


@pytest.mark.parametrize("key", CONCERNED)
def test_a_query_that_a_setting_concerns_is_refused_and_no_other(key: str) -> None:
    value, concerned, other = CONCERNED[key]
    planned(other, {key: value})
    planned(concerned, {})
    with pytest.raises(NarrowsError) as refused:
        planned(concerned, {key: value})
    (problem,) = refused.value.problems
    assert problem.code is Code.NOT_SUPPORTED
    assert f"`{key}` is `{value}`" in problem.message
    assert key in (problem.hint or "")


def test_the_place_of_a_text_is_shown_where_a_script_has_other_statements_before_it() -> None:
    catalog = narrows.Catalog()
    catalog.setting = {"spark.sql.ansi.doubleQuotedIdentifiers": "true"}.get
    script = TABLE + ' EXPLAIN SELECT "a" FROM t;'
    with pytest.raises(NarrowsError) as refused:
        catalog.execute(script)
    span = refused.value.problems[0].span
    assert span is not None
    assert script[span.start : span.end] == '"a"'


def test_readers_leave_decimals_to_spark_where_it_computes_them_otherwise() -> None:
    sql = "SELECT a FROM t WHERE d * 2 > 3"
    loss = "spark.sql.decimalOperations.allowPrecisionLoss"
    for settings, done in ({}, True), ({loss: "true"}, True), ({loss: "false"}, False):
        text = planned(sql, settings).explain()
        assert ("filter=" in text) == done, text


PATTERNS = "spark.sql.parser.quotedRegexColumnNames"
MATCHED = [
    ("SELECT `(A)?+.+` FROM t", {}, "b, d"),
    ("SELECT x.`a|d`, b FROM t x", {}, "x.a, x.d, x.b"),
    ("SELECT `A|d` FROM t", {"spark.sql.caseSensitive": "true"}, "d"),
    ("SELECT coalesce(`a|b`) FROM t", {}, "coalesce(a, b)"),
    ("SELECT `a` FROM t", {}, "a"),
    ("SELECT `a|` FROM t", {}, "a"),
]


@pytest.mark.parametrize(("sql", "more", "same"), MATCHED, ids=[sql for sql, *_ in MATCHED])
def test_a_pattern_in_backticks_names_columns(sql: str, more: dict[str, str], same: str) -> None:
    found = planned(sql, {PATTERNS: "true", **more}).explain("logical")
    from_clause = sql[sql.index(" FROM") :]
    assert found == planned(f"SELECT {same}{from_clause}", {}).explain("logical")
    if "|" in sql or "+" in sql:
        with pytest.raises(NarrowsError):
            planned(sql, {PATTERNS: "false"})


def test_what_is_no_pattern_is_told() -> None:
    with pytest.raises(NarrowsError) as refused:
        planned("SELECT `a(` FROM t", {PATTERNS: "true"})
    assert "cannot be read as a pattern" in refused.value.problems[0].message
