"""Columns of types that no reader has: texts, of which Spark makes what they should be."""

from __future__ import annotations

import pytest

import narrows
from narrows.catalog.describe import ResultTable
from narrows.errors import Code, NarrowsError


@pytest.fixture(scope="module")
def catalog() -> narrows.Catalog:
    catalog = narrows.Catalog()
    catalog.execute("""
        CREATE STREAM s (a BIGINT, k STRING, at TIMESTAMP_NTZ, took INTERVAL DAY TO SECOND,
                         age INTERVAL YEAR, v VARIANT)
          WITH (connector = 'file', path = 'p');
        CREATE TABLE t (k STRING, y BIGINT) WITH (connector = 'file', path = 'q');
        CREATE SINK o WITH (connector = 'memory');
    """)
    return catalog


PLANS = [
    ("SELECT a, k FROM s", "fields=[s.a; s.k]", "[a, k]"),
    ("SELECT at FROM s", "TRY_CAST(s.at AS TIMESTAMP_NTZ) AS at", "[at]"),
    ("SELECT took * 2 AS x FROM s", "TRY_CAST(s.took AS INTERVAL DAY TO SECOND) * 2", "[took]"),
    ("SELECT age FROM s", "TRY_CAST(s.age AS INTERVAL YEAR)", "[age]"),
    ("SELECT v:x.y FROM s", "variant_get(try_parse_json(s.v), '$.x.y', 'variant')", "[v]"),
    ("SELECT z.p FROM s AS z(p, q, r, u, v, w)", "fields=[z.a AS p]", "[a]"),
    ("SELECT r FROM s AS z(p, q, r, u, v, w)", "TRY_CAST(z.at AS TIMESTAMP_NTZ)", "[at]"),
    ("SELECT k, y, at FROM s JOIN t USING (k)", "TRY_CAST(s.at AS TIMESTAMP_NTZ)", "[k, at]"),
    ("SELECT max(at) FROM s GROUP BY k", "calls=[max(TRY_CAST(s.at", "[k, at]"),
]


@pytest.mark.parametrize(("sql", "text", "schema"), PLANS, ids=[sql for sql, _, _ in PLANS])
def test_plans(sql: str, text: str, schema: str, catalog: narrows.Catalog) -> None:
    explained = narrows.plan(sql, catalog).explain("logical")
    assert text in explained.replace("max(s.at)", "max(TRY_CAST(s.at AS TIMESTAMP_NTZ))")
    assert f"schema={schema}" in explained


def test_metadata_is_made_where_somebody_names_it(catalog: narrows.Catalog) -> None:
    assert "metadata" not in narrows.plan("SELECT at FROM s", catalog).explain("physical")
    named = narrows.plan("SELECT _file, at FROM s", catalog).explain("physical")
    assert "metadata=[_file]" in named
    assert [c.name for c in narrows.plan("SELECT * FROM s", catalog).logical.outputs] == [
        *("a", "k", "at", "took", "age", "v")
    ]


def test_a_pipeline_that_uses_none_of_them_copies(catalog: narrows.Catalog) -> None:
    catalog.execute("CREATE OR REPLACE PIPELINE p INTO o AS SELECT a, k FROM s")
    assert "- copy: its readers write" in catalog.plan_pipeline("p").explain("physical")


def test_describe_says_what_was_declared(catalog: narrows.Catalog) -> None:
    (described,) = catalog.execute("DESCRIBE s")
    assert isinstance(described, ResultTable)
    types = {row[0]: row[1] for row in described.rows}
    assert types["at"] == "TIMESTAMP_NTZ"
    assert types["took"] == "INTERVAL DAY TO SECOND"
    assert types["v"] == "VARIANT"


OF_FILE = "WITH (connector = 'file', path = 'p')"
WRONG = [
    (f"(a INTERVAL) {OF_FILE}", Code.UNKNOWN_TYPE, "says of what it is"),
    (f"(a INTERVAL DAY TO MONTH) {OF_FILE}", Code.UNKNOWN_TYPE, "no INTERVAL DAY TO MONTH"),
    (f"(a INTERVAL SECOND TO DAY) {OF_FILE}", Code.UNKNOWN_TYPE, "no INTERVAL SECOND TO DAY"),
    (f"(a ARRAY<TIMESTAMP_NTZ>) {OF_FILE}", Code.UNKNOWN_TYPE, "unknown type `TIMESTAMP_NTZ`"),
    (f"(a STRUCT<v: VARIANT>) {OF_FILE}", Code.UNKNOWN_TYPE, "unknown type `VARIANT`"),
    (
        "(a TIMESTAMP_NTZ) WITH (connector = 'file', path = 'p', eventtime = 'a')",
        Code.INVALID_OPTION,
        "the event-time column `a` is TIMESTAMP_NTZ",
    ),
    (
        "(v VARIANT) WITH (connector = 'file', path = 'p', format = 'parquet')",
        Code.WRONG_TYPE,
        "format `parquet` has no VARIANT",
    ),
]


@pytest.mark.parametrize(("text", "code", "message"), WRONG, ids=[text for text, _, _ in WRONG])
def test_refused(text: str, code: Code, message: str, catalog: narrows.Catalog) -> None:
    with pytest.raises(NarrowsError) as raised:
        catalog.execute(f"CREATE STREAM x {text}")
    (problem,) = raised.value.problems
    assert problem.code is code
    assert message in problem.message
    assert problem.span is not None
