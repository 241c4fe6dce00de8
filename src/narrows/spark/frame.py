"""A data frame beside what its columns are to the plan, and how columns are named in it.

Columns get names of ours (`c3_0`: relation 3, ordinal 0), so that no user's name can collide with
another or with a keyword, and so that a name means the same column in a whole plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from narrows.expressions import ColumnId
from narrows.logical.nodes import NamedExpr
from narrows.spark.sql_text import ShippedSource, SparkSql, Typed, quote


@dataclass(frozen=True)
class Frame:
    """A data frame, and what its columns are to the plan."""

    data: DataFrame
    sources: Mapping[int, ShippedSource]
    columns: Mapping[ColumnId, Typed]
    fragments: tuple[str, ...] = ()
    """Columns that nobody computes with: what readers have encoded for the sinks."""

    @property
    def sql(self) -> SparkSql:
        return SparkSql(self.sources, self.columns)


def column_name(relation: int, ordinal: int) -> str:
    return f"c{relation}_{ordinal}"


def named_columns(
    frame: Frame, named: Sequence[NamedExpr], relation: int, first: int = 0
) -> list[SparkColumn]:
    """The expressions as columns of a relation, from an ordinal on."""
    return [
        F.expr(frame.sql.text(expr)).alias(column_name(relation, ordinal))
        for ordinal, (_, expr) in enumerate(named, start=first)
    ]


def relation_columns(named: Sequence[NamedExpr], relation: int) -> dict[ColumnId, Typed]:
    """What named expressions are, once they are columns of a relation."""
    return {
        ColumnId(relation, ordinal): Typed(quote(column_name(relation, ordinal)), expr.dtype)
        for ordinal, (_, expr) in enumerate(named)
    }
