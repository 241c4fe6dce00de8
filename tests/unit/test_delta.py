"""Sinks that write what has changed: plans, and what is refused."""

from __future__ import annotations

import pytest

import narrows
from narrows.errors import Code, NarrowsError


@pytest.fixture
def catalog() -> narrows.Catalog:
    catalog = narrows.Catalog()
    catalog.execute("""
        CREATE STREAM s (k STRING, a BIGINT, b STRUCT<c: BIGINT, d: BIGINT>, t STRING, u STRING)
          WITH (connector = 'file', path = 'p');
        CREATE SINK by_key WITH (connector = 'memory', mode = 'delta', delta_key = 'K');
        CREATE SINK some WITH (connector = 'file', path = 'o', mode = 'delta', delta_key = 'k',
          delta_columns = 'b, A', delta_mask = 'changed', omit_if_empty = true);
        CREATE SINK routed WITH (connector = 'kafka', brokers = 'h:1', topic = '{t}', key = 'k',
          mode = 'delta');
        CREATE SINK full WITH (connector = 'memory', mode = 'full');
    """)
    return catalog


def _explained(catalog: narrows.Catalog, sink: str, query: str) -> str:
    catalog.execute(f"CREATE PIPELINE p INTO {sink} AS {query}")
    return catalog.plan_pipeline("p").explain("logical")


def test_all_columns_but_those_of_the_key_are_compared(catalog: narrows.Catalog) -> None:
    text = _explained(catalog, "by_key", "SELECT k, a, b->c AS c FROM s WHERE u > ''")
    assert "mode=delta, changed=[a, c]" in text
    assert "calls=[had_changed(false, a) OVER (PARTITION BY k); had_changed(false, c) OVER" in text
    assert "schema=[k, a, b{c}, u]" in text  # `u` by the filter, `d` and `t` by nobody


def test_the_columns_that_are_named(catalog: narrows.Catalog) -> None:
    text = _explained(catalog, "some", "SELECT t, b, a, k FROM s")
    assert "changed=[b, a]" in text
    assert "predicate=b has changed OR a has changed" in text
    assert (
        "fields=[t; if(b has changed, b, NULL) AS b; if(a has changed, a, NULL) AS a; k; " in text
    )
    assert "if(a has changed, 'a', NULL)) AS changed" in text


def test_columns_that_say_where_a_row_goes_are_always_there(catalog: narrows.Catalog) -> None:
    text = _explained(catalog, "routed", "SELECT k, t, a FROM s")
    assert "changed=[a]" in text
    assert "all rows of the stream go through one task" in text
    assert "hint: add `delta_key = '...'` to the sink" in text


def test_full_is_what_is_written_anyway(catalog: narrows.Catalog) -> None:
    assert "had_changed" not in _explained(catalog, "full", "SELECT k, a FROM s")


def test_what_is_compared_belongs_to_the_state(catalog: narrows.Catalog) -> None:
    from narrows.state.plan_shape import shape_of

    catalog.execute("CREATE PIPELINE p INTO by_key AS SELECT k, a FROM s")
    before = shape_of(catalog.plan_pipeline("p").physical)
    catalog.execute("CREATE PIPELINE q INTO by_key AS SELECT k, t, a FROM s WHERE a > 1")
    assert shape_of(catalog.plan_pipeline("q").physical) != before


WRONG = [
    ("by_key", "SELECT k, count(*) AS n FROM s GROUP BY k", Code.NOT_SUPPORTED, "an aggregation"),
    ("by_key", "SELECT DISTINCT k, a FROM s", Code.NOT_SUPPORTED, "rows of DISTINCT have no order"),
    ("by_key", "SELECT k, a FROM s UNION ALL SELECT t, a FROM s", Code.NOT_SUPPORTED, "of UNION"),
    ("by_key", "SELECT k, explode(array(a)) AS a FROM s", Code.NOT_SUPPORTED, "of `explode`"),
    (
        "by_key",
        "SELECT s.k, s.a FROM s JOIN s AS r ON s.k = r.k",
        Code.NOT_SUPPORTED,
        "of two joined streams",
    ),
    ("by_key", "SELECT a FROM s", Code.UNKNOWN_COLUMN, "the query gives no column `K`"),
    ("by_key", "SELECT k FROM s", Code.INVALID_OPTION, "there is no column left to compare"),
    ("some", "SELECT k, a FROM s", Code.UNKNOWN_COLUMN, "the query gives no column `b`"),
    ("some", "SELECT k, a, b, t AS changed FROM s", Code.DUPLICATE_COLUMN, "a column `changed`"),
    ("by_key, full", "SELECT k, a FROM s", Code.NOT_SUPPORTED, "want other rows of the same query"),
]


@pytest.mark.parametrize(("sinks", "query", "code", "message"), WRONG, ids=[w[3] for w in WRONG])
def test_refused(
    sinks: str, query: str, code: Code, message: str, catalog: narrows.Catalog
) -> None:
    with pytest.raises(NarrowsError) as raised:
        catalog.execute(f"CREATE PIPELINE p INTO {sinks} AS {query}")
    (problem,) = raised.value.problems
    assert problem.code is code
    assert message in problem.message
    assert problem.span is not None


def test_a_column_that_is_always_written_cannot_be_compared(catalog: narrows.Catalog) -> None:
    catalog.execute(
        "CREATE SINK x WITH (connector = 'memory', mode = 'delta', delta_key = 'k',"
        " delta_columns = 'a, k')"
    )
    with pytest.raises(NarrowsError, match="`k` says which row it is, or where it goes"):
        catalog.execute("CREATE PIPELINE p INTO x AS SELECT k, a FROM s")


@pytest.mark.parametrize("option", ["delta_key = 'a'", "omit_if_empty = true", "delta_mask = 'm'"])
def test_options_of_delta_need_the_mode(option: str, catalog: narrows.Catalog) -> None:
    with pytest.raises(NarrowsError) as raised:
        catalog.execute(f"CREATE SINK x WITH (connector = 'memory', {option})")
    (problem,) = raised.value.problems
    assert problem.hint == "add `mode = 'delta'`"
