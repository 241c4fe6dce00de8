"""Bugs that are known and not mended yet, as the tests that will hold them mended.

Each is expected to fail; when one passes, pytest says so: then take it out of its list here and put
it where it belongs, most often into a golden file.
"""

from __future__ import annotations

import pytest
from _pytest.mark.structures import ParameterSet

import narrows
from narrows.errors import Code, NarrowsError
from narrows.expressions import Expr
from narrows.logical import stateful
from narrows.planner import plan_query
from narrows.sql.parse import parse_query
from support.golden import golden_catalog
from support.invariants import check, check_plan


def _bug(reason: str, *values: object) -> ParameterSet:
    return pytest.param(*values, id=str(values[0]), marks=pytest.mark.xfail(reason=reason))


PLANS = [
    _bug(
        "exp.Like and exp.ILike carry `negate`, which the binder does not look at",
        "SELECT name NOT LIKE 'x' AS c FROM t1",
        "fields=[NOT t1.name LIKE 'x' AS c]",
    ),
    _bug(
        "the same",
        "SELECT name NOT ILIKE 'x' AS c FROM t1",
        "fields=[NOT t1.name ILIKE 'x' AS c]",
    ),
    _bug(
        "the same, below exp.Escape",
        "SELECT name NOT LIKE 'x' ESCAPE '!' AS c FROM t1",
        "fields=[NOT t1.name LIKE 'x' ESCAPE '!' AS c]",
    ),
    _bug(
        "the same, in a form that is carried",
        "SELECT name NOT LIKE ANY ('x', 'y') AS c FROM t1",
        "fields=[NOT t1.name LIKE ANY ('x', 'y') AS c]",
    ),
    _bug(
        "a tuple in a tuple",
        "SELECT name LIKE ALL ('x', 'y') AS c FROM t1",
        "fields=[t1.name LIKE ALL ('x', 'y') AS c]",
    ),
    _bug(
        "whether there is an element is told by the length",
        "SELECT transform(items, x -> 1)[0] FROM stream_3",
        "schema=[items[#]]",
    ),
    _bug(
        "the same: the lambda makes something of an element that holds nothing",
        "SELECT transform(items, x -> coalesce(x->c, 0))[0] FROM stream_3",
        "schema=[items[#,0][struct{c}]]",
    ),
    _bug(
        "the merged column of a full join is named by its text",
        "SELECT id FROM t1 FULL JOIN t2 USING (id)",
        "fields=[coalesce(t1.id, t2.id) AS id]",
    ),
    _bug(
        "the same, of a star",
        "SELECT * EXCEPT (name, place) FROM t1 FULL JOIN t2 USING (id)",
        "fields=[coalesce(t1.id, t2.id) AS id; t1.a; t2.b]",
    ),
    _bug(
        "the parameters of two equal lambdas have different ids",
        "SELECT items.c FROM stream_3 GROUP BY items.c",
        "schema=[items[*][struct{c}]]",
    ),
    _bug(
        "in an expression ORDER BY means the select item first, as Spark does",
        "SELECT -a AS a FROM stream_4 ORDER BY a + 1",
        "keys=[-stream_4.a + 1]",
    ),
    _bug(
        "only a key that is random itself must be sorted after the projection",
        "SELECT rand() AS r FROM ev ORDER BY k",
        "Sort",
    ),
    _bug(
        "ORDER BY over the result may compute with it",
        "SELECT DISTINCT a FROM ev ORDER BY a + 1",
        "Sort",
    ),
    _bug(
        "a group key that is random must not be drawn twice",
        "SELECT count(*) FROM stream_4 GROUP BY rand() HAVING rand() > 0.5",
        "Filter_2           | predicate=rand() > 0.5",
    ),
    _bug(
        "`--` begins a comment",
        "SELECT -(-5) AS c FROM stream_4",
        "fields=[-(-5) AS c]",
    ),
    _bug(
        "the same, after folding",
        "SELECT -(1 - 2) AS c FROM stream_4",
        "fields=[-(-1) AS c]",
    ),
    _bug(
        "a branch that goes away may have decided the type: here DECIMAL",
        "SELECT CASE WHEN true THEN 1 ELSE 2.5 END AS c FROM stream_4",
        "fields=[CASE WHEN",
    ),
    _bug(
        "the same: a BIGINT becomes an INT",
        "SELECT CASE WHEN true THEN size(b->items) ELSE a END AS c FROM stream_4",
        "fields=[CASE WHEN",
    ),
    _bug(
        "a constant that is computed becomes the number of a select item",
        "SELECT a FROM stream_4 ORDER BY 0 + 1",
        "keys=[0 + 1]",
    ),
    _bug(
        "names that need quotes get none",
        "SELECT `dot.ted`, `from`->`odd name` FROM names",
        "fields=[names.`dot.ted`; names.from->`odd name`]",
    ),
    _bug(
        "a condition between WHEN and THEN needs no parentheses",
        "SELECT CASE WHEN a > 1 THEN 1 END AS c FROM stream_4",
        "CASE WHEN stream_4.a > 1 THEN",
    ),
]


@pytest.mark.parametrize(("sql", "text"), PLANS)
def test_plan(sql: str, text: str) -> None:
    assert text in narrows.plan(sql, golden_catalog()).explain("logical")


REFUSALS = [
    _bug(
        "only the caller's clause decides what may stand in a lambda",
        "SELECT transform(items, x -> sum(x->c)) FROM stream_3 GROUP BY items",
        Code.MISPLACED_FUNCTION,
    ),
    _bug(
        "the same: the call is put into a node without its parameter",
        "SELECT transform(items, x -> lag(x->c)) FROM stream_3",
        Code.MISPLACED_FUNCTION,
    ),
    _bug(
        "an alias in GROUP BY may stand for an aggregate",
        "SELECT count(*) AS n FROM stream_3 GROUP BY n",
        Code.MISPLACED_FUNCTION,
    ),
    _bug(
        "the same, by number",
        "SELECT count(*) FROM stream_3 GROUP BY 1",
        Code.MISPLACED_FUNCTION,
    ),
    _bug(
        "a lambda with too few parameters ends in a ValueError",
        "SELECT zip_with(items, items, x -> x.c) FROM stream_3",
        Code.WRONG_ARITY,
    ),
    _bug(
        "aliases beyond the first are ignored",
        "SELECT a AS (x, y) FROM stream_3",
        Code.WRONG_ARITY,
    ),
    _bug("nothing is selected", "SELECT FROM stream_4", Code.SYNTAX_ERROR),
    _bug("`b:c` is read as `b AS c`", "SELECT b:c FROM stream_4", Code.NOT_SUPPORTED),
    _bug("ALL is carried as a key", "SELECT a FROM stream_4 ORDER BY ALL", Code.NOT_SUPPORTED),
    _bug(
        "the arguments of windows are not checked",
        "SELECT a FROM ev GROUP BY tumblingwindow('parsecs', 10)",
        Code.INVALID_WINDOW,
    ),
    _bug(
        "the same",
        "SELECT a FROM ev GROUP BY tumblingwindow('ss', -5)",
        Code.INVALID_WINDOW,
    ),
    _bug(
        "the same",
        "SELECT a FROM ev GROUP BY tumblingwindow('ss', a)",
        Code.INVALID_WINDOW,
    ),
]


@pytest.mark.parametrize(("sql", "code"), REFUSALS)
def test_refusal(sql: str, code: Code) -> None:
    with pytest.raises(NarrowsError) as raised:
        narrows.plan(sql, golden_catalog())
    assert raised.value.code is code


GENERATED_TOO_EARLY = [
    _bug(
        "the generator stands above the aggregation that uses its column",
        "SELECT a, explode(items) AS x FROM stream_3 GROUP BY a, items, x",
    ),
    _bug(
        "and above the HAVING that does",
        "SELECT explode(nums) AS x, count(*) FROM deep GROUP BY nums HAVING x > 1",
    ),
]


@pytest.mark.parametrize("sql", GENERATED_TOO_EARLY)
def test_refused_or_sound(sql: str) -> None:
    try:
        plan = plan_query(parse_query(sql), golden_catalog(), check=check)
    except NarrowsError:
        return
    check_plan(plan.bound, "binding")


CARETS = [
    _bug("operators have no span", "SELECT a FROM stream_4 HAVING a > 1", "a > 1"),
    _bug("computed columns have no span", "SELECT lag(a), count(*) FROM ev", "lag"),
    _bug("operators have no span", "SELECT DISTINCT a FROM ev ORDER BY k + 1", "k + 1"),
    _bug(
        "the places of a hint's words are counted from the hint",
        "SELECT /*+ BROADCAST(t2) */ t1.a FROM t1 JOIN t2 USING (id)",
        "/*+ BROADCAST(t2) */",
    ),
    _bug("the caret stands at the end", "SELECT 'abc FROM stream_4", "'"),
]


@pytest.mark.parametrize(("sql", "under"), CARETS)
def test_caret(sql: str, under: str) -> None:
    with pytest.raises(NarrowsError) as raised:
        narrows.plan(sql, golden_catalog())
    span = raised.value.problems[0].span
    assert span is not None
    assert sql[span.start : span.end].startswith(under)


MESSAGES = [
    _bug("the parser's classes are nobody's business", "SELECT a + FROM stream_4", "sqlglot"),
    _bug("an aggregate *is* allowed in SELECT", "SELECT sum(count(*)) FROM stream_4", "in SELECT"),
    _bug("there is no DISTINCT", "SELECT rand() AS r FROM ev ORDER BY k", "DISTINCT"),
]


@pytest.mark.parametrize(("sql", "unwanted"), MESSAGES)
def test_message(sql: str, unwanted: str) -> None:
    try:
        narrows.plan(sql, golden_catalog())
    except NarrowsError as error:
        told = str(error.problems[0].message)
    else:
        return
    assert unwanted not in told


@pytest.mark.xfail(reason="a projection of all columns is not the same as no projection")
def test_verbose_shows_only_rules_that_changed_something() -> None:
    plan = narrows.plan("SELECT a, b->c FROM stream_4", golden_catalog())
    assert "TopLevelColumnPruning" not in plan.explain("verbose")


@pytest.mark.xfail(reason="presence is kept by the rule for structs, of lists too")
def test_lists_are_not_the_business_of_struct_field_pruning() -> None:
    plan = narrows.plan("SELECT items IS NULL FROM stream_3", golden_catalog())
    assert "StructFieldPruning" not in [run.rule for run in plan.rule_runs if run.changed]


@pytest.mark.xfail(reason="each of the pieces that a star spells out gets a notice")
@pytest.mark.parametrize("view", ["t AS x", "AS x"])
def test_no_notice_on_what_a_generator_made(view: str) -> None:
    sql = f"SELECT * FROM stream_3 LATERAL VIEW explode(items) {view}"
    notices = narrows.plan(sql, golden_catalog()).notices
    assert [n.message for n in notices if "`t`" in n.message or "None" in n.message] == []


@pytest.mark.xfail(reason="the level of a call is computed anew for each call inside it")
def test_nested_stateful_calls_take_linear_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted in visits, for a test should not look at the clock: n calls take 2 ** n of them."""
    visits: list[Expr] = []
    is_stateful = stateful._is_stateful

    def counted(expr: Expr) -> bool:
        visits.append(expr)
        return is_stateful(expr)

    monkeypatch.setattr(stateful, "_is_stateful", counted)
    narrows.plan(f"SELECT {'lag(' * 12}a{')' * 12} FROM ev", golden_catalog())
    assert len(visits) < 1_000
