"""What tasks keep of rows until their windows close: partial results, or the rows themselves.

Either way it is a table of *groups* (`cut.py`). Rows are groups of one row each, which nothing
folds: a count(DISTINCT) needs all of them, and is Spark's to compute.

    keys ...   place ...   folds ...               partial results
    keys ...   place ...   columns of the row ...  rows; keys where they cut windows apart: sessions
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import pyarrow as pa

from narrows.arrow.digits import of_type
from narrows.arrow.types import arrow_type
from narrows.projection.partial_aggregation import PartialAggregation
from narrows.projection.values import Value
from narrows.schema import DataType
from narrows.worker.evaluate import evaluate


@dataclass(frozen=True)
class KeptRows:
    """Rows as they were read."""

    keys: tuple[tuple[Value, DataType], ...] = ()
    """What cuts windows apart; none where a row's time alone puts it into its windows."""


Kept: TypeAlias = PartialAggregation | KeptRows


class Folds(Protocol):
    """Takes the rows of a task with their places, and gives groups: some when it must, the rest at
    the end."""

    def add(self, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch | pa.Table]: ...

    def rest(self) -> Iterator[pa.RecordBatch | pa.Table]: ...


class AsTheyAre:
    """Folds nothing."""

    def __init__(self, kept: KeptRows, places: int) -> None:
        self._kept, self._places = kept, places

    def add(self, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        yield row_groups(self._kept, self._places, rows)

    def rest(self) -> Iterator[pa.RecordBatch]:
        return iter(())


def row_groups(kept: KeptRows, places: int, rows: pa.RecordBatch) -> pa.RecordBatch:
    """Each row, whose last columns are its place, as a group of its own."""
    width = rows.num_columns - places
    keys = [of_type(evaluate(value, rows), arrow_type(dtype)) for value, dtype in kept.keys]
    names = [f"key{place}" for place in range(len(keys))]
    return pa.RecordBatch.from_arrays(
        [*keys, *rows.columns[width:], *rows.columns[:width]],
        names=[*names, *rows.schema.names[width:], *rows.schema.names[:width]],
    )
