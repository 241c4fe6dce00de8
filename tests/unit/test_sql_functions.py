"""CREATE FUNCTION: written out where it is called; and what a user's function says of itself."""

from __future__ import annotations

import pytest

import narrows
from narrows.catalog.describe import ResultTable
from narrows.errors import Code, NarrowsError
from narrows.schema import BIGINT, DOUBLE


@pytest.fixture
def catalog() -> narrows.Catalog:
    catalog = narrows.Catalog()
    catalog.execute("""
        CREATE STREAM s (a BIGINT, i INT, t STRING, b STRUCT<c: BIGINT, d: STRING>,
                         items ARRAY<STRUCT<x: BIGINT, y: STRING>>, m MAP<STRING, BIGINT>)
          WITH (connector = 'file', path = 'p');
        CREATE FUNCTION inc(x BIGINT) RETURNS BIGINT RETURN x + 1;
        CREATE TEMPORARY FUNCTION twice(x BIGINT COMMENT 'what') LANGUAGE SQL
          RETURN inc(x) + inc(x);
        CREATE FUNCTION c_of(v STRUCT<c: BIGINT, d: STRING>) RETURNS BIGINT
          RETURN CASE WHEN v.c > 1 THEN v.c ELSE 0L END;
        CREATE FUNCTION count_x(items ARRAY<STRUCT<x: BIGINT, y: STRING>>, x BIGINT)
          RETURN size(filter(items, i -> i.x > x));
        CREATE FUNCTION one() RETURN 1;
    """)
    return catalog


def _explained(sql: str, catalog: narrows.Catalog) -> str:
    return narrows.plan(sql, catalog).explain("logical")


WRITTEN_OUT = [
    ("inc(a)", "fields=[s.a + 1]", "schema=[a]"),
    ("INC(i)", "fields=[CAST(s.i AS BIGINT) + 1]", "schema=[i]"),
    ("twice(a)", "fields=[s.a + 1 + (s.a + 1)]", "schema=[a]"),
    ("c_of(b)", "CASE WHEN s.b->c > 1 THEN s.b->c ELSE 0L END", "schema=[b{c}]"),
    ("count_x(items, a)", "filter(s.items, i -> i->x > s.a)", "schema=[a, items[*][struct{x}]]"),
    ("transform(items, i -> inc(i.x))", "i -> i->x + 1", "schema=[items[*][struct{x}]]"),
    ("sum(inc(a))", "sum(s.a + 1)", "schema=[a]"),
    ("inc(sum(a))", "sum(s.a) + 1", "schema=[a]"),
    ("one()", "fields=[1]", "schema=[]"),
]


@pytest.mark.parametrize(("call", "text", "schema"), WRITTEN_OUT, ids=[w[0] for w in WRITTEN_OUT])
def test_calls_are_written_out(call: str, text: str, schema: str, catalog: narrows.Catalog) -> None:
    explained = _explained(f"SELECT {call} FROM s", catalog)
    assert text in explained
    assert schema in explained


def test_in_every_clause(catalog: narrows.Catalog) -> None:
    sql = "SELECT inc(a), count(*) FROM s WHERE inc(i) > 3 GROUP BY inc(a) HAVING inc(count(*)) > 1"
    explained = _explained(sql, catalog)
    assert "predicate=CAST(s.i AS BIGINT) + 1 > 3" in explained
    assert "keys=[s.a + 1]" in explained


def test_a_column_is_called_like_the_call(catalog: narrows.Catalog) -> None:
    outputs = narrows.plan("SELECT inc(i), inc(a) + 1, c_of(b) FROM s", catalog).logical.outputs
    assert [(str(c.name), c.dtype) for c in outputs] == [
        ("inc(i)", BIGINT),
        ("(inc(a) + 1)", BIGINT),
        ("c_of(b)", BIGINT),
    ]


def test_show_describe_drop(catalog: narrows.Catalog) -> None:
    (shown,) = catalog.execute("SHOW FUNCTIONS")
    assert isinstance(shown, ResultTable)
    assert ("inc", "x BIGINT", "BIGINT", "x + 1") in shown.rows
    assert ("one", "", "what its body gives", "1") in shown.rows
    (described,) = catalog.execute("DESCRIBE inc")
    assert isinstance(described, ResultTable)
    assert described.rows == (("PARAMETER x", "BIGINT"), ("returns", "BIGINT"), ("body", "x + 1"))
    catalog.execute("DROP FUNCTION one; DROP FUNCTION IF EXISTS one")
    with pytest.raises(NarrowsError, match="function `one` not found"):
        narrows.plan("SELECT one() FROM s", catalog)


WRONG = [
    ("CREATE FUNCTION f(x INT) RETURN f(x)", Code.NOT_SUPPORTED, "would call itself"),
    ("CREATE OR REPLACE FUNCTION inc(x INT) RETURN twice(x)", Code.NOT_SUPPORTED, "call itself"),
    ("CREATE FUNCTION inc(x INT) RETURN x", Code.DUPLICATE_OBJECT, "`inc` exists already"),
    ("CREATE FUNCTION upper(x INT) RETURN x", Code.DUPLICATE_OBJECT, "a function `upper` already"),
    ("CREATE FUNCTION keys(x INT) RETURN x", Code.DUPLICATE_OBJECT, "a function `keys` already"),
    ("CREATE FUNCTION f(x INT) RETURN x + y", Code.UNKNOWN_COLUMN, "column `y` not found"),
    ("CREATE FUNCTION f(x INT) RETURN sum(x)", Code.MISPLACED_FUNCTION, "in the body of function"),
    ("CREATE FUNCTION f(x INT) RETURN lag(x)", Code.MISPLACED_FUNCTION, "in the body of function"),
    ("CREATE FUNCTION f(x INT) RETURN (SELECT 1)", Code.NOT_SUPPORTED, "a subquery in the body"),
    ("CREATE FUNCTION f(x INT) RETURN SELECT 1", Code.NOT_SUPPORTED, "whose body is a query"),
    ("CREATE FUNCTION f() RETURNS TABLE (a INT) RETURN 1", Code.NOT_SUPPORTED, "return tables"),
    ("CREATE FUNCTION f(x INT) LANGUAGE PYTHON RETURN 1", Code.NOT_SUPPORTED, "other languages"),
    ("CREATE FUNCTION f(x INT DEFAULT 1) RETURN x", Code.NOT_SUPPORTED, "with a default"),
    ("CREATE FUNCTION f(x INT, X INT) RETURN x", Code.DUPLICATE_COLUMN, "declared twice"),
    ("CREATE FUNCTION f(x INT) RETURN x, 1", Code.SYNTAX_ERROR, "one expression for a body"),
    ("CREATE FUNCTION f(x INT) RETURN x FROM s", Code.SYNTAX_ERROR, "one expression for a body"),
    ("CREATE FUNCTION f(x INT) RETURN", Code.SYNTAX_ERROR, "an expression after `RETURN`"),
    ("CREATE FUNCTION f(x INT) x", Code.SYNTAX_ERROR, "expected `RETURN`"),
    ("DROP FUNCTION inc", Code.OBJECT_IN_USE, "is used by function `twice`"),
]


@pytest.mark.parametrize(("sql", "code", "message"), WRONG, ids=[w[0] for w in WRONG])
def test_refused(sql: str, code: Code, message: str, catalog: narrows.Catalog) -> None:
    before = catalog.snapshot()
    with pytest.raises(NarrowsError) as raised:
        catalog.execute(sql)
    (problem,) = raised.value.problems
    assert problem.code is code
    assert message in problem.message
    assert problem.span is not None
    assert catalog.snapshot() == before


def test_what_uses_a_function_holds_it(catalog: narrows.Catalog) -> None:
    catalog.execute(
        "CREATE SINK k WITH (connector = 'memory');"
        "CREATE VIEW v AS SELECT twice(a) AS a FROM s;"
        "CREATE PIPELINE p INTO k AS SELECT a FROM v"
    )
    with pytest.raises(
        NarrowsError, match="with this definition pipeline `p` could not be planned"
    ):
        catalog.execute("CREATE OR REPLACE FUNCTION inc(x BIGINT, y BIGINT) RETURN x")
    with pytest.raises(NarrowsError, match="is used by view `v`"):
        catalog.execute("DROP FUNCTION twice")
    catalog.execute("CREATE OR REPLACE FUNCTION inc(x BIGINT) RETURN x * 5")
    assert "s.a * 5 + s.a * 5" in catalog.plan_pipeline("p").explain("logical")


def test_a_random_argument_is_drawn_once(catalog: narrows.Catalog) -> None:
    assert "CAST(rand() * 10 AS BIGINT) + 1" in _explained(
        "SELECT inc(rand() * 10) FROM s", catalog
    )
    with pytest.raises(NarrowsError, match="would be another value each time"):
        narrows.plan("SELECT twice(CAST(rand() AS BIGINT)) FROM s", catalog)


# --- what a user's function says of itself -----------------------------------------------------


@pytest.mark.parametrize(
    ("looks", "call", "schema"),
    [
        (["STRUCT<C: BIGINT>"], "f(b)", "b?{c}"),
        (["STRUCT<c: INT>", "all"], "f(b, items)", "b?{c}, items[struct{x, y}]"),
        (["STRUCT<c: INT>"], "f(b, items)", "b?{c}, items[struct{x, y}]"),
        (["ARRAY<STRUCT<y: STRING>>"], "f(items)", "items[*][struct?{y}]"),
        (["length", "presence"], "f(items, b)", "b?, items[#]"),
        (["nothing"], "f(items)", ""),
        (["MAP<STRING, BIGINT>"], "f(m)", "m{*}"),
        (["length"], "f(t)", "t"),
        ([], "f(b)", "b{c, d}"),
    ],
)
def test_looks(looks: list[str], call: str, schema: str, catalog: narrows.Catalog) -> None:
    catalog.add_function("F", looks=looks, returns="DOUBLE")
    plan = narrows.plan(f"SELECT {call} AS x FROM s", catalog)
    assert f"schema=[{schema}]" in plan.explain("logical")
    assert plan.logical.outputs[0].dtype == DOUBLE


@pytest.mark.parametrize(
    ("look", "message"),
    [
        ("STRUCT<z: INT>", "`f` looks at the field `z`, which `s.b` has not"),
        ("ARRAY<INT>", "`f` looks at ARRAY<INT>, and `s.b` has STRUCT<c: BIGINT, d: STRING> there"),
    ],
)
def test_an_argument_that_is_something_else(
    look: str, message: str, catalog: narrows.Catalog
) -> None:
    catalog.add_function("f", looks=[look])
    with pytest.raises(NarrowsError) as raised:
        narrows.plan("SELECT f(b) FROM s", catalog)
    assert raised.value.problems[0].message == message
    assert raised.value.problems[0].span is not None


def test_a_look_that_is_no_type(catalog: narrows.Catalog) -> None:
    with pytest.raises(NarrowsError, match="unknown type `WIDTH`"):
        catalog.add_function("f", looks=["width"])
