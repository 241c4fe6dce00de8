"""Tables and functions that a catalog does not have, and a session does."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

import narrows
from narrows.catalog.elsewhere import ElsewhereTable
from narrows.errors import Code, NarrowsError
from narrows.expressions.function import Function
from narrows.planner.query import plan_query
from narrows.sql.parser.script import parse_query
from narrows.sql.parser.types import read_schema
from narrows.sql.scope import Name
from support.invariants import check


class Spark:
    """A session with one table and one function."""

    def table(self, parts: Sequence[Name]) -> ElsewhereTable | None:
        path = ("spark_catalog", "shop", "orders")
        names = [part.text.casefold() for part in parts]
        if names not in (["orders"], ["shop", "orders"], list(path)):
            return None
        schema = read_schema(
            "id BIGINT, who STRING, at STRUCT<x: INT, y: INT>, n ARRAY<INT>,"
            " _metadata STRUCT<file_name: STRING>"
        )
        return ElsewhereTable("orders", schema, "`shop`.`orders`", path, hidden=1)

    def function(self, name: str) -> Function | None:
        return Function(name, known=False) if name == "clean" else None


@pytest.fixture
def catalog() -> narrows.Catalog:
    made = narrows.Catalog()
    made.execute(
        "CREATE TABLE t (id BIGINT, s STRUCT<x: BIGINT, y: STRING>)"
        " WITH (connector = 'file', path = 'p')"
    )
    made.elsewhere = Spark()
    made.functions.elsewhere = made.elsewhere.function
    return made


def _logical(catalog: narrows.Catalog, sql: str) -> str:
    return plan_query(parse_query(sql), catalog, check=check).explain("logical")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id, at.x FROM orders",
        "SELECT shop.orders.id, orders.at.x FROM shop.orders",
        "SELECT spark_catalog.shop.orders.id, at.x FROM spark_catalog.shop.orders",
        "SELECT o.id, o.at.x FROM shop.orders o",
        "SELECT o.a, o.c.x FROM orders AS o(a, b, c, d)",
    ],
)
def test_reads_the_columns_that_are_used(catalog: narrows.Catalog, sql: str) -> None:
    text = _logical(catalog, sql)
    assert "SparkTable_0" in text
    assert "table=orders" in text
    assert "reads=2 of 4 columns" in text


def test_metadata_is_read_where_it_is_named(catalog: narrows.Catalog) -> None:
    text = _logical(catalog, "SELECT o._metadata.file_name FROM orders o WHERE id > 1")
    assert "schema=[id, _metadata], reads=2 of 4" in text
    assert "_metadata" not in _logical(catalog, "SELECT * FROM orders NATURAL JOIN orders AS o")


def test_with_a_table_of_ours(catalog: narrows.Catalog) -> None:
    sql = (
        "SELECT t.s.x FROM t JOIN orders o ON t.id = o.id"
        " WHERE o.who = 'me' AND EXISTS (SELECT 1 FROM orders p WHERE p.at.y = t.s.x)"
    )
    text = _logical(catalog, sql)
    assert "schema=[id, s{x}]" in text
    assert "schema=[id, who], reads=2 of 4" in text
    assert "schema=[at], reads=1 of 4" in text


def test_a_function_of_the_session_looks_at_everything(catalog: narrows.Catalog) -> None:
    assert "schema=[s{x, y}]" in _logical(catalog, "SELECT clean(s) FROM t")


def test_what_is_nowhere(catalog: narrows.Catalog) -> None:
    for sql in ("SELECT 1 FROM nowhere", "SELECT 1 FROM shop.nowhere"):
        with pytest.raises(NarrowsError) as caught:
            narrows.plan(sql, catalog)
        assert caught.value.code is Code.UNKNOWN_SOURCE
    with pytest.raises(NarrowsError) as caught:
        narrows.plan("SELECT dirty(id) FROM t", catalog)
    assert caught.value.code is Code.UNKNOWN_FUNCTION


def test_what_is_declared_goes_first(catalog: narrows.Catalog) -> None:
    catalog.execute("CREATE TABLE orders (own INT) WITH (connector = 'file', path = 'p')")
    assert "source=orders" in _logical(catalog, "SELECT own FROM orders")
