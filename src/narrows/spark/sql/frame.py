"""Rows beside what their columns are to the plan, and how columns are named in them.

Columns get names of ours (`c3_0`: relation 3, ordinal 0), so that no user's name can collide with
another or with a keyword, and so that a name means the same column in a whole plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

from pyspark.sql import DataFrame

from narrows.expressions.nodes import ColumnId
from narrows.logical.nodes import NamedExpr
from narrows.spark.sql.rows import SparkRows, SqlText
from narrows.spark.sql.sql_text import ShippedSource, SparkSql, Typed, quote
from narrows.sql.scope import Relation


@dataclass(frozen=True)
class Frame:
    """Rows, and what their columns are to the plan.

    Beside the plan's columns there may be hidden ones, for operators that go by time or order, and
    fragments that readers have encoded for the sinks.
    """

    rows: SparkRows
    sources: Mapping[int, ShippedSource]
    columns: Mapping[ColumnId, Typed]
    fragments: tuple[str, ...] = ()
    """Columns that nobody computes with: what readers have encoded for the sinks."""
    order: str | None = None
    """The hidden column that holds each row's place in its source."""
    stamp: str | None = None
    """The hidden column that says when a row happened: its event time, or when it was read."""
    clock: str | None = None
    """The hidden column that the watermark follows, in a stream; often the same as `stamp`."""

    @property
    def data(self) -> DataFrame:
        return self.rows.data

    @property
    def text(self) -> str:
        """The rows in a FROM clause."""
        return self.rows.text

    @property
    def sql(self) -> SparkSql:
        return SparkSql(self.sources, self.columns, self.order)

    def with_rows(self, made: SqlText | DataFrame) -> Self:
        return replace(self, rows=self.rows.then(made))

    def with_made(self, made: SqlText | DataFrame, relation: Relation) -> Self:
        """The frame with the columns that a node adds to each row."""
        columns = {
            column.id: Typed(quote(column_name(relation.id, ordinal)), column.dtype)
            for ordinal, column in enumerate(relation.columns)
        }
        return replace(self, rows=self.rows.then(made), columns={**self.columns, **columns})

    @property
    def hidden(self) -> list[str]:
        names = (self.order, self.stamp, self.clock)
        return list(dict.fromkeys(name for name in names if name is not None))


def column_name(relation: int, ordinal: int) -> str:
    """The name of a plan's column in a data frame."""
    return f"c{relation}_{ordinal}"


def fragment_name(relation: int, place: int) -> str:
    """The column of a source's fragment; nobody computes with it, so it keeps its name."""
    return f"f{relation}_{place}"


def select_list(
    sql: SparkSql, named: Sequence[NamedExpr], relation: int, first: int = 0
) -> list[str]:
    """The expressions as columns of a relation, from an ordinal on."""
    return [
        f"{sql.text(expr)} AS {quote(column_name(relation, ordinal))}"
        for ordinal, (_, expr) in enumerate(named, start=first)
    ]


def relation_columns(named: Sequence[NamedExpr], relation: int) -> dict[ColumnId, Typed]:
    """What named expressions are, once they are columns of a relation."""
    return {
        ColumnId(relation, ordinal): Typed(quote(column_name(relation, ordinal)), expr.dtype)
        for ordinal, (_, expr) in enumerate(named)
    }
