"""Forms of Spark's SQL that few queries have: what is decoded for them, and what is refused.

Their rows are compared with Spark's in `tests/spark/sql`.
"""

from __future__ import annotations

import pytest

import narrows
from narrows.errors import Code, NarrowsError
from narrows.planner.query import plan_query
from narrows.sql.parser.script import parse_query
from support.invariants import check


@pytest.fixture(scope="module")
def catalog() -> narrows.Catalog:
    made = narrows.Catalog()
    made.execute("""
        CREATE TABLE t (id BIGINT, s STRUCT<x: INT, y: STRUCT<p: INT, q: INT>>, n ARRAY<INT>,
                        note STRING)
          WITH (connector = 'file', path = 'p');
        CREATE TABLE u (id BIGINT, v INT, w STRUCT<a: INT, b: INT>)
          WITH (connector = 'file', path = 'q');
    """)
    return made


DECODED = [
    # What is given by name may be any argument, so `size` does not see to it that it is short.
    ("SELECT size(n), upper(note) FROM t", ["schema=[n[#], note]"]),
    ("SELECT size(expr => n) FROM t", ["schema=[n]"]),
    ("SELECT s.x, mask(str => note) FROM t WHERE id > 1", ["schema=[id, s{x}, note]"]),
    ("SELECT x.col FROM t, LATERAL explode(collection => n) x", ["schema=[n[*]]"]),
    ("FROM t |> WHERE id > 1 |> SELECT s.x", ["schema=[id, s{x}]"]),
    ("FROM t |> EXTEND s.y.p AS p |> DROP s, n, note", ["schema=[id, s{y{p}}]"]),
    ("FROM t |> SET s = s.x |> SELECT s", ["schema=[s{x}]"]),
    ("FROM t |> JOIN u ON t.id = u.id |> WHERE u.w.a > 1 |> SELECT t.s.x", ["[id, s{x}]", "w{a}"]),
    ("FROM t |> AGGREGATE max(s.x) GROUP BY id |> ORDER BY id |> LIMIT 1", ["schema=[id, s{x}]"]),
    ("FROM t |> AS a |> UNION ALL TABLE t |> SELECT id", ["schema=[id]"]),
    ("SELECT * EXCEPT (s.y, t.n) FROM t", ["schema=[id, s{x}, note]"]),
    ("SELECT t.* EXCEPT (s.y.p, n, note, id) FROM t", ["schema=[s{x, y{q}}]"]),
    (
        "SELECT j.x FROM (t JOIN (SELECT v AS x, id AS k FROM u) ON id = k) AS j",
        ["[id]", "[id, v]"],
    ),
    ("SELECT t.w.b FROM t JOIN u AS t ON t.v > 1", ["schema=[]", "schema=[v, w{b}]"]),
    ("SELECT explode(n) AS e, explode(array(e, s.x)) AS f FROM t", ["schema=[s{x}, n[*]]"]),
    (
        "SELECT id FROM t WHERE EXISTS (SELECT v FROM u WHERE u.w.a = t.s.x EXCEPT SELECT 1)",
        ["schema=[id, s{x}]", "schema=[v, w{a}]"],
    ),
    ("SELECT note FROM t SORT BY s.x", ["schema=[s{x}, note]"]),
    ("FROM t | WHERE id | 1 > 1 | SELECT s.x", ["schema=[id, s{x}]", "predicate=t.id | 1 > 1"]),
    ("SELECT builtin.upper(note), system.builtin.max(s.x) OVER () FROM t", ["schema=[s{x}, note]"]),
    (
        "SELECT (SELECT max(v) FROM u WHERE u.id = t.id) AS m FROM t ORDER BY m, s.x",
        ["Sort_", "keys=[m; x]", "schema=[id, s{x}]"],
    ),
    (
        "SELECT note FROM t TABLESAMPLE (5 PERCENT) WHERE s.x > 1",
        ["rand() < 0.05D", "[s{x}, note]"],
    ),
    ("SELECT x.s.x FROM t TABLESAMPLE (5 ROWS) REPEATABLE (1) AS x", ["count=5", "schema=[s{x}]"]),
    (
        "SELECT t.s.x FROM t JOIN u APPROX NEAREST BY DISTANCE u.v WHERE t.id > 1 AND u.v > 2",
        ["by=APPROX NEAREST 1 BY DISTANCE u.v", "[id, s{x}]", "=t.id > 1\n", "=u.v > 2\n"],
    ),
]


@pytest.mark.parametrize(("sql", "texts"), DECODED, ids=[sql for sql, _ in DECODED])
def test_decoded(sql: str, texts: list[str], catalog: narrows.Catalog) -> None:
    explained = plan_query(parse_query(sql), catalog, check=check).explain("logical")
    for text in texts:
        assert text in explained


REFUSED = [
    ("FROM t |> WHERE nope > 1", Code.UNKNOWN_COLUMN, "`nope` not found"),
    ("FROM t |> SET nope = 1", Code.UNKNOWN_COLUMN, "column `nope` of SET not found"),
    ("FROM t |> SET 1", Code.SYNTAX_ERROR, "SET takes `column = expression`"),
    ("FROM t |> FROBNICATE", Code.SYNTAX_ERROR, "this is no operator of a pipe"),
    ("FROM t |> SELECT id FROM u", Code.SYNTAX_ERROR, "takes a list and nothing else"),
    ("FROM t |> EXTEND 1 AS a |> WHERE t.id > 1", Code.UNKNOWN_QUALIFIER, "`t` is neither"),
    ("FROM t |> TABLESAMPLE (200 PERCENT)", Code.SYNTAX_ERROR, "at most all rows"),
    ("WITH x AS (SELECT 1) INSERT INTO y SELECT * FROM x", Code.NOT_SUPPORTED, "INSERT writes"),
    ("SELECT 1 FROM t TABLESAMPLE ()", Code.SYNTAX_ERROR, "takes a number"),
    ("SELECT 1 FROM t x TABLESAMPLE (5 ROWS)", Code.NOT_SUPPORTED, "after an alias"),
    ("SELECT 1 FROM t TABLESAMPLE (BUCKET 1 OUT OF 2 ON id)", Code.NOT_SUPPORTED, "BUCKET FIELD"),
    ("SELECT * EXCEPT (s.z) FROM t", Code.UNKNOWN_COLUMN, "`z` of EXCEPT not found"),
    ("SELECT * EXCEPT (note.z) FROM t", Code.NOT_A_STRUCT, "no struct"),
    (
        "SELECT 1 FROM (SELECT 1 AS a, 2 AS a) NATURAL JOIN (SELECT 1 AS a, 2 AS a)",
        Code.AMBIGUOUS_COLUMN,
        "both sides have two columns called `a`",
    ),
    ("SELECT t.id FROM t, t", Code.AMBIGUOUS_COLUMN, "two relations are called `t`"),
    ("SELECT TRANSFORM(id) USING 'cat' AS (a) FROM t", Code.NOT_SUPPORTED, "a script"),
    ("SELECT 1 FROM t JOIN u APPROX NEAREST 0 BY DISTANCE v", Code.WRONG_TYPE, "from 1 to 100000"),
    ("SELECT 1 FROM t JOIN u APPROX NEAREST DISTANCE v", Code.SYNTAX_ERROR, "after NEAREST"),
    (
        "SELECT 1 FROM t FULL JOIN u EXACT NEAREST BY DISTANCE v",
        Code.NOT_SUPPORTED,
        "full joins with the nearest rows",
    ),
    ("SELECT grouping__id FROM t", Code.UNKNOWN_COLUMN, "`grouping__id` not found"),
    ("SELECT id FROM t HAVING id > 1", Code.NOT_GROUPED, "HAVING needs GROUP BY"),
]


@pytest.mark.parametrize(("sql", "code", "message"), REFUSED, ids=[sql for sql, _, _ in REFUSED])
def test_refused(sql: str, code: Code, message: str, catalog: narrows.Catalog) -> None:
    with pytest.raises(NarrowsError) as raised:
        narrows.plan(sql, catalog)
    assert raised.value.code is code
    assert message in raised.value.problems[0].message


NAMES = [
    ("CAST(1 AS SMALLINT) + 1", "(CAST(1 AS SMALLINT) + 1)"),
    ("double('1') + int(note)", "(1 + note)"),
    ("acosh(id) * ceil(2.5) - ceil(2.5, 0)", "((ACOSH(id) * CEIL(2.5)) - ceil(2.5, 0))"),
    ("make_date(2021, 07, 1)", "make_date(2021, 7, 1)"),
    ("note COLLATE utf8_lcase = 'a'", "(collate(note, utf8_lcase) = a)"),
    ("timediff(HOUR, note, note)", "timestampdiff(HOUR, note, note)"),
    ("from_csv(note, 'a INT')", "from_csv(note)"),
    ("trim((SELECT max(note) FROM t AS x WHERE x.id = t.id))", "trim(scalarsubquery(id))"),
    ("NOT id IN (SELECT v FROM u WHERE u.id > t.s.x)", "(NOT (id IN (listquery(s))))"),
    ("EXISTS (SELECT 1 FROM u)", "exists()"),
    ("substr(note, 2)", "substr(note, 2, 2147483647)"),
    ("extract(MONTH FROM note)", "extract(MONTH FROM note)"),
    (
        "sum(id) OVER (ORDER BY id rows between 2 preceding and current row)",
        "sum(id) OVER (ORDER BY id ASC NULLS FIRST ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)",
    ),
]


@pytest.mark.parametrize(("sql", "name"), NAMES, ids=[sql for sql, _ in NAMES])
def test_names(sql: str, name: str, catalog: narrows.Catalog) -> None:
    """As Spark calls columns that are given no name."""
    (column,) = narrows.plan(f"SELECT {sql} FROM t", catalog).bound.outputs
    assert column.name == name


def test_a_column_called_all(catalog: narrows.Catalog) -> None:
    sql = "SELECT all, (SELECT all FROM (SELECT 2 AS all)) AS b FROM (SELECT id AS all FROM t)"
    assert [c.name for c in narrows.plan(sql, catalog).bound.outputs] == ["all", "b"]
    assert len(narrows.plan("SELECT ALL id, note FROM t", catalog).bound.outputs) == 2


def test_an_alias_and_a_column_of_one_name_are_told_apart_by_their_fields(
    catalog: narrows.Catalog,
) -> None:
    column = narrows.plan("SELECT 'a' AS s FROM t ORDER BY s.y.p", catalog)
    assert "keys=[t.s->y->p]" in column.explain("logical")
    alias = narrows.plan("SELECT named_struct('z', id) AS note FROM t ORDER BY note.z", catalog)
    assert "schema=[id]" in alias.explain("logical")
    narrows.plan("SELECT 'a' AS s FROM t GROUP BY s HAVING s.x > 0 ORDER BY s.y.p", catalog)
