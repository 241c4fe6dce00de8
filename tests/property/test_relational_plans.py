"""Random relational queries: the rules change no answer, and they come to an end."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

import narrows
from narrows.logical.nodes import DecodedSource, Node
from narrows.optimizer.rules.predicate_pushdown import PredicatePushdown
from narrows.optimizer.rules.projection_pushdown import ProjectionPushdown
from narrows.planner.query import plan_query
from narrows.sql.parser.script import parse_query
from support.invariants import check
from support.reference import Document, cut_row, run
from support.relational_queries import TABLES, make_rows, write_query

seeds = st.integers(0, 2**64 - 1)


def catalog() -> narrows.Catalog:
    made = narrows.Catalog()
    made.disabled_rules = frozenset()
    for table, schema in TABLES.items():
        made.execute(f"CREATE TABLE {table} ({schema}) WITH (connector = 'file', path = 'data')")
    return made


CATALOG = catalog()


@settings(max_examples=250)
@given(seeds)
def test_rows_are_the_same_before_and_after_the_rules(seed: int) -> None:
    random = Random(seed)
    sql, rows = write_query(random), make_rows(random)
    plan = plan_query(parse_query(sql), CATALOG, check=check)

    def whole(source: DecodedSource) -> Sequence[Document]:
        return rows[source.source.name]

    def least(source: DecodedSource) -> Sequence[Document]:
        return [cut_row(row, source.decode_projection) for row in rows[source.source.name]]

    expected = _sorted(run(plan.bound, whole))
    for stage in (plan.logical, plan.physical):
        assert _sorted(run(stage, least)) == expected, f"{sql}\n{plan.explain()}"


@settings(max_examples=150)
@given(seeds)
def test_the_pushdown_rules_come_to_an_end(seed: int) -> None:
    """Each finds nothing to do after itself, and neither undoes what the other did."""
    plan = plan_query(parse_query(write_query(Random(seed))), CATALOG)
    assert ProjectionPushdown().apply(plan.logical) is None
    assert PredicatePushdown().apply(_predicates(plan.bound)) is None
    current: Node | None = plan.bound
    for _ in range(4):
        assert current is not None
        last = current
        current = _predicates(current)
        current = ProjectionPushdown().apply(current) or current
        if current is last:
            return
    raise AssertionError("the two rules go on and on")


def _predicates(plan: Node) -> Node:
    return PredicatePushdown().apply(plan) or plan


def _sorted(rows: list[list[object]]) -> list[str]:
    return sorted(repr(row) for row in rows)
