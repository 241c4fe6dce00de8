"""A data frame while a plan is being compiled, and what its columns are to the plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

from pyspark.sql import DataFrame

from narrows.expressions import ColumnId
from narrows.spark.sql_text import ShippedSource, SparkSql, Typed, quote
from narrows.sql.scope import Relation


@dataclass(frozen=True)
class Frame:
    """A data frame, and what its columns are to the plan.

    Beside the plan's columns it may have hidden ones, for operators that go by time or order.
    """

    data: DataFrame
    sources: Mapping[int, ShippedSource]
    columns: Mapping[ColumnId, Typed]
    order: str | None = None
    """The hidden column that holds each row's place in its source."""
    stamp: str | None = None
    """The hidden column that says when a row happened: its event time, or when it was read."""
    clock: str | None = None
    """The hidden column that the watermark follows, in a stream; often the same as `stamp`."""

    @property
    def sql(self) -> SparkSql:
        return SparkSql(self.sources, self.columns, self.order)

    def with_data(self, data: DataFrame) -> Self:
        return replace(self, data=data)

    def with_made(self, data: DataFrame, relation: Relation) -> Self:
        """The frame with the columns that a node adds to each row."""
        made = {
            column.id: Typed(quote(column_name(relation.id, ordinal)), column.dtype)
            for ordinal, column in enumerate(relation.columns)
        }
        return replace(self, data=data, columns={**self.columns, **made})

    @property
    def hidden(self) -> list[str]:
        names = (self.order, self.stamp, self.clock)
        return list(dict.fromkeys(name for name in names if name is not None))


def column_name(relation: int, ordinal: int) -> str:
    """The name of a plan's column in a data frame."""
    return f"c{relation}_{ordinal}"
