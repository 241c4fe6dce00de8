"""Bugs that were found and mended, each held by the query that showed it."""

from __future__ import annotations

import pytest
from _pytest.mark.structures import ParameterSet

import narrows
from narrows.errors import Code, NarrowsError
from narrows.expressions.nodes import Expr
from narrows.logical.builder import stateful
from narrows.planner.query import plan_query
from narrows.sql.parser.script import parse_query
from support.golden import golden_catalog
from support.invariants import check, check_plan


def _bug(what: str, *values: object) -> ParameterSet:
    """`what` was wrong: for the reader."""
    return pytest.param(*values, id=str(values[0]))


PLANS = [
    _bug(
        "exp.Like and exp.ILike carry `negate`, which the binder refuses",
        "SELECT name NOT LIKE 'x' AS c FROM t1",
        "fields=[NOT t1.name LIKE 'x' AS c]",
    ),
    _bug(
        "the same",
        "SELECT name NOT ILIKE 'x' AS c FROM t1",
        "fields=[NOT t1.name ILIKE 'x' AS c]",
    ),
    _bug(
        "the same, below exp.Escape: here the NOT is lost, silently",
        "SELECT name NOT LIKE 'x' ESCAPE '!' AS c FROM t1",
        "fields=[NOT t1.name LIKE 'x' ESCAPE '!' AS c]",
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
        "a constant that is computed becomes the number of a select item",
        "SELECT a FROM stream_4 ORDER BY 0 + 1",
        "keys=[0 + 1]",
    ),
]


@pytest.mark.parametrize(("sql", "text"), PLANS)
def test_plan(sql: str, text: str) -> None:
    assert text in narrows.plan(sql, golden_catalog()).explain("logical")


REFUSALS = [
    _bug(
        "a lambda with too few parameters is left to Spark",
        "SELECT zip_with(items, items, x -> x.c) FROM stream_3",
        Code.WRONG_ARITY,
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
]


@pytest.mark.parametrize("sql", GENERATED_TOO_EARLY)
def test_refused_or_sound(sql: str) -> None:
    try:
        plan = plan_query(parse_query(sql), golden_catalog(), check=check)
    except NarrowsError:
        return
    check_plan(plan.bound, "binding")


CARETS = [
    _bug("computed columns have no span", "SELECT lag(a), count(*) FROM ev", "lag"),
    _bug("the caret stands at the end", "SELECT 'abc FROM stream_4", "'"),
]


@pytest.mark.parametrize(("sql", "under"), CARETS)
def test_caret(sql: str, under: str) -> None:
    with pytest.raises(NarrowsError) as raised:
        narrows.plan(sql, golden_catalog())
    span = raised.value.problems[0].span
    assert span is not None
    assert sql[span.start : span.end].startswith(under)


def test_folding_keeps_the_type_of_a_connector() -> None:
    plan_query(parse_query("SELECT NULL AND true AS c FROM ev"), golden_catalog(), check=check)


def test_verbose_shows_only_rules_that_changed_something() -> None:
    plan = narrows.plan("SELECT a, b->c FROM stream_4", golden_catalog())
    assert "TopLevelColumnPruning" not in plan.explain("verbose")


@pytest.mark.parametrize("view", ["t AS x", "AS x"])
def test_no_notice_on_what_a_generator_made(view: str) -> None:
    sql = f"SELECT * FROM stream_3 LATERAL VIEW explode(items) {view}"
    notices = narrows.plan(sql, golden_catalog()).notices
    assert [n.message for n in notices if "`t`" in n.message or "None" in n.message] == []


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
