"""How far the watermark of a join's rows is behind the watermark of the streams that it joins.

    ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + INTERVAL '10' MINUTE

A row of `a` may find its match, or be given up, ten minutes after it came. So Spark holds the
watermark back by that much for what stands above the join, and windows there close later.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from narrows.expressions.nodes import Call, Expr, columns_of
from narrows.functions import operator
from narrows.logical.conjuncts import split
from narrows.logical.nodes import Filter, Join, Node
from narrows.logical.walk import topological
from narrows.schema import TIMESTAMP
from narrows.spark.sql.parsed import parsed_query
from narrows.spark.sql.sql_text import SparkSql, Typed

_COMPARISONS = [operator(name) for name in ("=", "<", "<=", ">", ">=", "between")]
_START = "timestamp_micros(0)"


def join_lag(plan: Node, spark: SparkSession) -> int:
    """Milliseconds, and rather more than too few: all that is added to times and compared with
    those of another relation, together."""
    moved = [text for node in topological(plan) for text in _moved(node)]
    return sum(_milliseconds(text, spark) for text in moved)


def _milliseconds(moved: str, spark: SparkSession) -> int:
    """How far from the beginning of 1970; 0 for what is no time, as an hour's name."""
    try:
        asked = parsed_query(spark, f"SELECT abs(unix_micros(TRY_CAST({moved} AS TIMESTAMP))) AS m")
        found = asked.collect()[0]["m"]
    except PySparkException:
        return 0
    return 0 if found is None else found // 1_000 + 2


def _moved(node: Node) -> Iterator[str]:
    """Times that are compared, as Spark's text for when all of them are the beginning of 1970."""
    match node:
        case Filter(predicate=condition) | Join(condition=Expr() as condition):
            pass
        case _:
            return
    for conjunct in split(condition):
        if not (isinstance(conjunct, Call) and conjunct.function in _COMPARISONS):
            continue
        if len({column.id.relation for column in columns_of(conjunct)}) < 2:
            continue
        for side in conjunct.args:
            columns = list(columns_of(side))
            if columns and all(column.dtype == TIMESTAMP for column in columns):
                at_start = {column.id: Typed(_START, TIMESTAMP) for column in columns}
                yield SparkSql({}, at_start).text(side)
