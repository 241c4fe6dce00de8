"""Hints help, or are not given."""

from __future__ import annotations

import pytest

from narrows.errors import NarrowsError, nearest
from narrows.planner.catalog import Catalog
from narrows.planner.query import plan

STREAM = "CREATE STREAM s (a INT, b STRING) WITH (connector = 'file', path = 'x')"


def _hint(error: NarrowsError) -> str:
    return error.problems[0].hint or ""


@pytest.mark.parametrize(
    ("statements", "hint"),
    [
        (
            "CREATE STREAM t (a ARRAY<VARIANT>) WITH (connector = 'file', path = 'x')",
            "STRING holds any",
        ),
        ("CREATE STREAM t (a INT) WITH (conector = 'file')", "did you mean `connector`?"),
        ("CREATE SINK k WITH (connector = 'memory') CREATE SINK l WITH ()", "`;`"),
        ("CREATE SINK k WITH (connector = 'memory'); EXPLAIN SELECT a FROM s SHOW SINKS", "`;`"),
        ("EXPLAIN SELECT a FROM s CREATE SINK k WITH (connector = 'memory')", "`;`"),
        ("INSERT INTO s VALUES (1)", "CREATE PIPELINE"),
        ("CRAETE SINK k", "did you mean `CREATE`?"),
    ],
)
def test_statements(statements: str, hint: str) -> None:
    catalog = Catalog()
    catalog.execute(STREAM)
    with pytest.raises(NarrowsError) as caught:
        catalog.execute(statements)
    assert hint in _hint(caught.value)


@pytest.mark.parametrize(
    ("query", "hint"),
    [
        ("SELECT a FORM s", "did you mean `FROM` in place of `FORM`?"),
        ("SELECT a FROM s WERE a > 1", "did you mean `WHERE` in place of `WERE`?"),
        ("SELECT a FROM s SELECT a FROM s", "`;`"),
        ("SELECT trycast(b AS INT) FROM s", "did you mean `try_cast`?"),
        ("INSERT INTO s SELECT 1", "CREATE PIPELINE"),
        ("SELECT input_file_name() FROM s", "streams of their own"),
    ],
)
def test_queries(query: str, hint: str) -> None:
    catalog = Catalog()
    catalog.execute(STREAM)
    with pytest.raises(NarrowsError) as caught:
        plan(query, catalog)
    assert hint in _hint(caught.value)


@pytest.mark.parametrize("query", ["SELECT a FROM (SELECT FROM s)", "SELECT ( FROM s"])
def test_no_semicolon_is_missing_inside_brackets(query: str) -> None:
    with pytest.raises(NarrowsError) as caught:
        plan(query, Catalog())
    assert "`;`" not in _hint(caught.value)


def test_try_cast_is_a_cast() -> None:
    catalog = Catalog()
    catalog.execute(STREAM)
    assert "TRY_CAST(s.b AS INT)" in plan("SELECT try_cast(b AS INT) FROM s", catalog).explain()


def test_what_is_inside_a_word_is_not_near_it() -> None:
    assert nearest("variant", ["int"]) is None
    assert nearest("insert", ["set"]) is None
    assert nearest("tims", ["ts"]) == "ts"
