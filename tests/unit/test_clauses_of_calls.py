"""Clauses after a call come back in the one order that Spark reads."""

from __future__ import annotations

import narrows
from narrows.expressions.text import expression_text
from narrows.logical.nodes import Aggregation
from narrows.logical.walk import topological
from narrows.schema import BIGINT
from narrows.spark.sql.sql_text import SparkSql, Typed


def test_filter_stands_before_ignore_nulls() -> None:
    """`first(a) IGNORE NULLS FILTER (...)` is a syntax error, to Spark and to us."""
    catalog = narrows.Catalog()
    catalog.execute(
        "CREATE STREAM s (a BIGINT) WITH (connector = 'file', path = 'data', format = 'json')"
    )
    plan = narrows.plan("SELECT first(a) FILTER (WHERE a > 1) IGNORE NULLS FROM s", catalog)
    (aggregation,) = [n for n in topological(plan.logical) if isinstance(n, Aggregation)]
    (call,) = aggregation.expressions
    (column,) = aggregation.child.outputs
    in_spark = SparkSql({}, {column.id: Typed("a", BIGINT)}).text(call)
    for text in (expression_text(call), in_spark):
        assert text.index("FILTER (") < text.index("IGNORE NULLS")
