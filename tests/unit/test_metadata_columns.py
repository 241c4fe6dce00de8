"""Columns that nobody declares: which names mean them, and which go before them."""

from __future__ import annotations

import pytest

import narrows
from narrows.catalog.describe import ResultTable
from narrows.connectors import Connector, find_connector
from narrows.errors import Code, NarrowsError
from narrows.logical.walk import topological
from narrows.physical.nodes import PhysicalReader
from narrows.schema import BIGINT
from narrows.sql.scope import Name


@pytest.fixture
def catalog() -> narrows.Catalog:
    made = narrows.Catalog()
    made.execute(
        """
        CREATE STREAM s (a INT, b STRING) WITH (connector = 'file', path = 's');
        CREATE TABLE t (a INT, c STRING) WITH (connector = 'file', path = 't');
        CREATE TABLE own (a INT, _FILE INT) WITH (connector = 'file', path = 'own');
        """
    )
    return made


def _columns(sql: str, catalog: narrows.Catalog) -> list[str]:
    return [column.name for column in narrows.plan(sql, catalog).logical.outputs]


def test_stars_do_not_list_them(catalog: narrows.Catalog) -> None:
    assert _columns("SELECT * FROM s", catalog) == ["a", "b"]
    assert _columns("SELECT s.* FROM s JOIN t ON s.a = t.a", catalog) == ["a", "b"]
    assert _columns("SELECT *, _file FROM s", catalog) == ["a", "b", "_file"]
    assert _columns("SELECT * FROM s NATURAL JOIN t", catalog) == ["a", "b", "c"]
    assert _columns("SELECT struct(*).b FROM s", catalog) == ["named_struct(a, a, b, b).b"]
    assert _columns("SELECT * FROM s AS x(m, n)", catalog) == ["m", "n"]
    with pytest.raises(NarrowsError, match="3 names for 2 columns"):
        narrows.plan("SELECT * FROM s AS x(m, n, f)", catalog)


def test_a_subquery_hands_up_what_it_names(catalog: narrows.Catalog) -> None:
    assert _columns("SELECT _file FROM (SELECT _file FROM s)", catalog) == ["_file"]
    with pytest.raises(NarrowsError) as refused:
        narrows.plan("SELECT _file FROM (SELECT * FROM s)", catalog)
    assert refused.value.problems[0].code is Code.UNKNOWN_COLUMN


def test_what_is_shown_goes_before_it(catalog: narrows.Catalog) -> None:
    plan = narrows.plan(
        "SELECT _file FROM s JOIN (SELECT a, c AS _file FROM t) x USING (a)", catalog
    )
    assert "metadata=" not in plan.explain("logical")
    assert "metadata=[_file]" in narrows.plan("SELECT _FILE FROM s", catalog).explain("logical")


def test_a_declared_column_takes_its_place(catalog: narrows.Catalog) -> None:
    assert catalog.find_source(Name("own", None)).metadata.names == []
    plan = narrows.plan("SELECT _file FROM own", catalog)
    assert "schema=[_FILE], decodes=1 of 2 leaves" in plan.explain("logical")
    assert _columns("SELECT * FROM own", catalog) == ["a", "_FILE"]


def test_using_joins_by_it_where_it_is_named(catalog: narrows.Catalog) -> None:
    plan = narrows.plan("SELECT s.a, _file FROM s JOIN t USING (_file)", catalog)
    assert "on=s._file = t._file" in plan.explain("logical")


def test_describe_shows_them_apart(catalog: narrows.Catalog) -> None:
    (described,) = catalog.execute("DESCRIBE s")
    assert isinstance(described, ResultTable)
    assert described.rows[:3] == (("a", "INT"), ("b", "STRING"), ("METADATA _file", "STRING"))


def test_without_pruning_only_those_that_are_named_are_made(catalog: narrows.Catalog) -> None:
    catalog.execute("SET narrows.rule.top_level_column_pruning = off")
    catalog.execute("SET narrows.rule.struct_field_pruning = off")
    catalog.execute("SET narrows.rule.list_element_pruning = off")
    assert "metadata" not in narrows.plan("SELECT a FROM s", catalog).explain("physical")
    assert "metadata=[_file]" in narrows.plan("SELECT _file FROM s", catalog).explain("physical")


@pytest.mark.parametrize("pruning", ["on", "off"])
@pytest.mark.parametrize(
    ("sql", "alone"),
    [
        ("SELECT _file FROM s", True),
        ("SELECT count(*) FROM s WHERE _file LIKE 'x%'", True),
        ("SELECT count(*) FROM s", False),
        ("SELECT _file, a FROM s", False),
        ("SELECT _file FROM (SELECT _file, a FROM s)", False),  # it is named, if not used
        ("SELECT * FROM s", False),
    ],
)
def test_null_payloads_are_rows_by_what_is_named_and_not_by_what_is_pruned(
    sql: str, alone: bool, pruning: str, catalog: narrows.Catalog
) -> None:
    for rule in ("top_level_column_pruning", "struct_field_pruning", "list_element_pruning"):
        catalog.execute(f"SET narrows.rule.{rule} = {pruning}")
    (reader,) = (
        node
        for node in topological(narrows.plan(sql, catalog).physical)
        if isinstance(node, PhysicalReader)
    )
    assert reader.metadata_alone == alone


def test_their_names_cannot_be_mistaken_for_those_of_columns() -> None:
    file = find_connector("file")
    with pytest.raises(ValueError, match="metadata column `id` of connector `mine` must begin"):
        Connector(
            name="mine",
            source_options=(),
            source=file.source,
            reader=file.reader,
            metadata={"id": BIGINT},
        )
