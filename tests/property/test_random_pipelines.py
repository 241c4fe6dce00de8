"""Random pipelines: the rules keep what they promise, and refusals are ours."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

import narrows
from narrows.planner.query import plan_query
from narrows.sql.parser.script import parse_query
from support.invariants import check
from support.random_pipelines import declarations, make_pipelines

CATALOG = narrows.Catalog()
CATALOG.execute(declarations("data"))


@settings(max_examples=60)
@given(st.integers(0, 2**64 - 1))
def test_every_rule_keeps_names_types_and_demands(seed: int) -> None:
    for sql, *_ in make_pipelines(Random(seed), CATALOG, 3).pipelines:
        pruned = plan_query(parse_query(sql), CATALOG, check=check)
        unpruned = plan_query(parse_query(sql), CATALOG, check=check, pruning=False)
        assert [c.name for c in pruned.physical.outputs] == [
            c.name for c in unpruned.physical.outputs
        ]
