"""No rule changes what a plan gives, or uses a column that is not there; held over all goldens."""

from __future__ import annotations

import pytest

import narrows
from narrows.expressions.nodes import Column, ColumnId
from narrows.logical.nodes import DataSource, Filter, NamedExpr, Node, Project, relation_of
from narrows.optimizer.runner import rule_name
from narrows.planner.query import plan_query
from narrows.planner.rules import LOGICAL_RULES, PHYSICAL_RULES
from narrows.schema import BIGINT, BOOLEAN, STRING
from narrows.sql.parser.script import parse_query
from support.golden import Block, all_blocks, golden_catalog
from support.invariants import check, check_plan, outputs

PLANS = [block for block in all_blocks() if not block.is_error]
QUERIES = [block for block in PLANS if not block.sql.upper().startswith("CREATE")]


@pytest.mark.parametrize("block", PLANS, ids=lambda block: block.id)
def test_rules_keep_the_invariants(block: Block) -> None:
    plan = block.plan(check)
    check_plan(plan.bound, "binding")
    check_plan(plan.logical, "the logical rules")
    check_plan(plan.physical, "lowering")
    assert outputs(plan.logical) == outputs(plan.bound)


@pytest.mark.parametrize("block", PLANS, ids=lambda block: block.id)
def test_a_rule_has_nothing_to_do_on_what_it_made(block: Block) -> None:
    rules = {rule_name(rule): rule for rule in (*LOGICAL_RULES, *PHYSICAL_RULES)}
    for run in block.plan().rule_runs:
        if run.plan is not None:
            assert rules[run.rule].apply(run.plan) is None, run.rule


@pytest.mark.parametrize("block", QUERIES, ids=lambda block: block.id)
def test_without_pruning_the_plan_gives_the_same(block: Block) -> None:
    pruned = block.plan()
    plain = narrows.plan(block.sql, golden_catalog(), pruning=False)
    check_plan(plain.logical, "planning without pruning")
    assert outputs(plain.logical) == outputs(pruned.logical)


# --- the checks themselves ------------------------------------------------------------------------


def _plan(sql: str) -> Node:
    return plan_query(parse_query(sql), golden_catalog()).bound


def _column(ordinal: int) -> Column:
    return Column(id=ColumnId(0, ordinal), name="z", dtype=BIGINT)


def test_a_reference_to_nowhere_is_found() -> None:
    before = _plan("SELECT a FROM stream_4")
    assert isinstance(before, Project)
    lost = Filter(child=before.child, predicate=_column(99))
    with pytest.raises(AssertionError, match="Filter uses"):
        check(before, before.with_children([lost]), "Broken")


def test_a_column_that_was_pruned_away_is_found() -> None:
    before = _plan("SELECT a FROM stream_4")
    assert isinstance(before, Project)
    other = plan_query(parse_query("SELECT b->c FROM stream_4"), golden_catalog()).logical
    (source,) = other.children
    assert isinstance(source, DataSource)
    with pytest.raises(AssertionError, match="Project uses"):
        check(before, before.with_children([source]), "Broken")


def test_another_name_is_found() -> None:
    before, after = _plan("SELECT a FROM stream_4"), _plan("SELECT a AS b FROM stream_4")
    with pytest.raises(AssertionError, match="changed what the plan gives"):
        check(before, after, "Broken")


def test_another_type_is_found() -> None:
    before, after = _plan("SELECT a FROM ev"), _plan("SELECT ts AS a FROM ev")
    with pytest.raises(AssertionError, match="changed what the plan gives"):
        check(before, after, "Broken")


def test_an_expression_of_another_type_than_its_column_is_found() -> None:
    before = _plan("SELECT a FROM stream_4")
    assert isinstance(before, Project)
    (named,) = before.fields
    other = Column(id=ColumnId(0, 0), name="a", dtype=STRING)
    wrong = Project(
        child=before.child,
        fields=(NamedExpr("a", other),),
        relation=relation_of(before.relation.id, None, [named]),
    )
    assert BOOLEAN not in (named.expr.dtype, other.dtype)
    with pytest.raises(AssertionError, match="Project makes STRING"):
        check(before, wrong, "Broken")
