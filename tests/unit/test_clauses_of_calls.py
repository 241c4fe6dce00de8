"""Clauses after a call come back in the one order that Spark reads."""

from __future__ import annotations

import pytest

import narrows
from narrows.expression_text import expression_text
from narrows.logical.nodes import Aggregation, topological
from narrows.schema import BIGINT
from narrows.spark.sql_text import SparkSql, Typed


@pytest.mark.parametrize(
    "call",
    [
        "first(a) FILTER (WHERE a > 1)",
        "first(a) IGNORE NULLS",
        "first(a) FILTER (WHERE a > 1) IGNORE NULLS",
    ],
)
def test_filter_stands_before_ignore_nulls(call: str) -> None:
    """`first(a) IGNORE NULLS FILTER (...)` is a syntax error, to Spark and to us."""
    catalog = narrows.Catalog()
    catalog.execute(
        "CREATE STREAM s (a BIGINT) WITH (connector = 'file', path = 'data', format = 'json')"
    )
    plan = narrows.plan(f"SELECT {call} AS x FROM s", catalog)
    (aggregation,) = [n for n in topological(plan.logical) if isinstance(n, Aggregation)]
    (bound,) = aggregation.expressions
    assert expression_text(bound) == call.replace("a)", "s.a)").replace("a >", "s.a >")
    (column,) = aggregation.child.outputs
    text = SparkSql({}, {column.id: Typed("a", BIGINT)}).text(bound)
    assert text.replace("((a > 1))", "(a > 1)").replace("(WHERE (a > 1))", "(WHERE a > 1)") == call
