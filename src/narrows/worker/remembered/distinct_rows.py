"""Rows that are written once, over the rows of a task: those that nobody has seen before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from narrows.worker.remembered.keys import KeyedRows, as_values
from narrows.worker.remembered.timeless import Timeless

_LOOKED_AT_TOGETHER = 65_536
"""Rows: a call costs as much as ten thousand of them."""


@dataclass(frozen=True)
class DistinctRows(Timeless):
    """A row is its key, and nothing else is kept of it than that it was there. Rows that are equal
    may differ in their bits (0.0 and -0.0): what is given is the key, as Spark gives it."""

    order: ClassVar[None] = None

    def needed(self, rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """About as many as are distinct of them; who is left over is found later on. Nested values
        Arrow does not compare."""
        waiting: list[pa.RecordBatch] = []
        distinct = 0
        for batch in rows:
            waiting.append(batch)
            # Where rows hardly repeat, each is looked at a few times, and not with every batch.
            count = sum(each.num_rows for each in waiting)
            nested = any(map(pa.types.is_nested, batch.schema.types))
            if not nested and count >= 2 * distinct + _LOOKED_AT_TOGETHER:
                table = pa.Table.from_batches(waiting)
                once = table.group_by(table.column_names, use_threads=False).aggregate([])
                distinct, waiting = once.num_rows, once.to_batches()
        yield from waiting

    def run(
        self, table: pa.Table, keyed: KeyedRows, kept: Sequence[Any]
    ) -> tuple[pa.Table, Sequence[Any]]:
        new = np.flatnonzero([seen is None for seen in kept])
        first_rows = keyed.rows[keyed.bounds[:-1]]
        new = pa.array(new[np.argsort(first_rows[new], kind="stable")])
        rows = as_values([key.take(new) for key in keyed.keys], table.schema)
        return pa.table(rows, schema=table.schema), [True] * len(kept)
