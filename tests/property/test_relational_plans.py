"""Random relational queries: the rules change no answer, and they come to an end."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

import narrows
from narrows.logical.nodes import DecodedSource, Node
from narrows.logical.walk import topological
from narrows.optimizer.rules.predicate_pushdown import PredicatePushdown
from narrows.optimizer.rules.projection_pushdown import ProjectionPushdown
from narrows.physical.join_edges import Leaf, join_edges
from narrows.physical.nodes import PhysicalDecoder as Decoder
from narrows.planner.query import plan_query
from narrows.sql.parser.script import parse_query
from support.invariants import check
from support.join_filters import with_join_filters
from support.reference import Document, cut_row, evaluate, made_row, run
from support.relational_queries import TABLES, make_rows, write_query

seeds = st.integers(0, 2**64 - 1)


def catalog() -> narrows.Catalog:
    made = narrows.Catalog()
    made.disabled_rules = frozenset()
    for table, schema in TABLES.items():
        made.execute(f"CREATE TABLE {table} ({schema}) WITH (connector = 'file', path = 'data')")
    return made


CATALOG = catalog()
WITHOUT_JOIN_FILTERS = catalog()
WITHOUT_JOIN_FILTERS.disabled_rules = frozenset({"JoinFilterIntoReader"})


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
        found = run(stage, with_join_filters(stage, least))
        assert _sorted(found) == expected, f"{sql}\n{plan.explain()}"


@settings(max_examples=250)
@given(seeds)
def test_rows_that_find_no_partner_may_be_dropped_in_any_order(seed: int) -> None:
    """Whatever a rule makes of the edges: each may be followed, from what the last has left."""
    random = Random(seed)
    sql, rows = write_query(random), make_rows(random)
    plan = plan_query(parse_query(sql), WITHOUT_JOIN_FILTERS).physical
    readers = {node.relation.id: node for node in topological(plan) if isinstance(node, Decoder)}
    left = {relation: rows[node.source.name] for relation, node in readers.items()}
    edges = join_edges(plan)
    pairs = sorted(((a, b) for a, found in edges.droppable.items() for b in found), key=str)

    def values(leaf: Leaf) -> list[object]:
        node = readers[leaf.relation]
        made = [made_row(node, row) for row in left[leaf.relation]]
        return [evaluate(edges.exprs[leaf], row) for row in made]

    for keys, tested in random.choices(pairs, k=3) if pairs else ():
        among = set(values(keys)) - {None}
        found = zip(left[tested.relation], values(tested), strict=True)
        left[tested.relation] = [row for row, value in found if value in among]
    dropped = run(plan, lambda node: left[node.relation.id])
    assert _sorted(dropped) == _sorted(run(plan, lambda node: rows[node.source.name])), sql


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
