"""Views: queries by a name, planned where they are used, and pruned there."""

from __future__ import annotations

import pytest

import narrows
from narrows.catalog.describe import ResultTable
from narrows.errors import Code, NarrowsError

TABLE = "CREATE TABLE t (a BIGINT, b STRING, s STRUCT<x: BIGINT, y: STRING>)"


@pytest.fixture
def catalog() -> narrows.Catalog:
    made = narrows.Catalog()
    made.execute(f"{TABLE} WITH (connector = 'file', path = 'data')")
    made.execute("CREATE SINK out WITH (connector = 'file', path = 'out')")
    return made


def _schema(catalog: narrows.Catalog, sql: str) -> str:
    text = narrows.plan(sql, catalog).explain("logical")
    return text.partition("schema=")[2].partition(", decodes")[0]


def test_only_what_is_used_of_a_view_is_decoded(catalog: narrows.Catalog) -> None:
    catalog.execute("CREATE VIEW v AS SELECT a + 1 AS more, b, s FROM t WHERE a > 0")
    assert _schema(catalog, "SELECT s.x FROM v") == "[a, s{x}]"
    assert _schema(catalog, "SELECT q.b FROM v q") == "[a, b]"


def test_columns_get_other_names(catalog: narrows.Catalog) -> None:
    catalog.execute("CREATE TEMPORARY VIEW v (p, q) AS SELECT a, s FROM t")
    assert _schema(catalog, "SELECT q.y, p FROM v") == "[a, s{y}]"


def test_a_view_sees_nothing_of_the_query_around_it(catalog: narrows.Catalog) -> None:
    catalog.execute("CREATE VIEW v AS SELECT a FROM t")
    sql = "WITH t AS (SELECT 1 AS other) SELECT a FROM v WHERE EXISTS (SELECT 1 FROM v w)"
    assert "source=t" in narrows.plan(sql, catalog).explain("logical")


def test_views_of_views(catalog: narrows.Catalog) -> None:
    catalog.execute("CREATE VIEW v AS SELECT a, s FROM t; CREATE VIEW w AS SELECT s.x FROM v")
    assert _schema(catalog, "SELECT x FROM w") == "[s{x}]"


def test_show_and_describe(catalog: narrows.Catalog) -> None:
    catalog.execute("CREATE VIEW v (p) AS SELECT a FROM t")
    shown, described = catalog.execute("SHOW VIEWS; DESCRIBE VIEW v")
    assert isinstance(shown, ResultTable)
    assert isinstance(described, ResultTable)
    assert shown.rows == (("v", "SELECT a FROM t"),)
    assert described.rows == (("columns", "p"), ("query", "SELECT a FROM t"))


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("CREATE VIEW v AS SELECT nowhere FROM t", Code.UNKNOWN_COLUMN),
        ("CREATE VIEW t AS SELECT 1", Code.DUPLICATE_OBJECT),
        ("CREATE VIEW v AS SELECT 1; CREATE VIEW v AS SELECT 2", Code.DUPLICATE_OBJECT),
        ("CREATE VIEW v (a, b) AS SELECT 1", Code.WRONG_ARITY),
        ("CREATE VIEW v AS SELECT a FROM t; DROP TABLE t", Code.OBJECT_IN_USE),
        (
            "CREATE VIEW v AS SELECT a FROM t; CREATE OR REPLACE VIEW v AS SELECT a FROM v",
            Code.NOT_SUPPORTED,
        ),
        (
            "CREATE VIEW v AS SELECT a FROM t; CREATE VIEW w AS SELECT a FROM v;"
            " CREATE OR REPLACE VIEW v AS SELECT a FROM w",
            Code.NOT_SUPPORTED,
        ),
        (
            "CREATE VIEW v AS SELECT a FROM t; CREATE PIPELINE p INTO out AS SELECT a FROM v;"
            " DROP VIEW v",
            Code.OBJECT_IN_USE,
        ),
        ("CREATE TEMPORARY TABLE x (a INT)", Code.SYNTAX_ERROR),
    ],
)
def test_refused(catalog: narrows.Catalog, sql: str, code: Code) -> None:
    with pytest.raises(NarrowsError) as caught:
        catalog.execute(sql)
    assert caught.value.code is code


def test_what_a_view_reads_may_change(catalog: narrows.Catalog) -> None:
    catalog.execute("CREATE VIEW v AS SELECT a FROM t")
    catalog.execute("CREATE OR REPLACE TABLE t (b INT) WITH (connector = 'file', path = 'data')")
    with pytest.raises(NarrowsError, match="in view `v`: column `a` not found") as caught:
        narrows.plan("SELECT 1 FROM v", catalog)
    assert caught.value.code is Code.UNKNOWN_COLUMN
