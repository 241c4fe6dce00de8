"""Groups that never end, over the rows of a task: what has changed of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from narrows.arrow.types import arrow_type
from narrows.schema import DataType
from narrows.stateful.folds.changes import changed_group
from narrows.stateful.folds.fold import Folding
from narrows.stateful.rows import WindowRow
from narrows.stateful.values import order_key
from narrows.worker.remembered.keys import KeyedRows
from narrows.worker.remembered.timeless import Timeless


@dataclass(frozen=True)
class ChangedGroups(Timeless):
    folding: Folding
    taken: tuple[str, ...]
    """The columns that are folded."""
    order: str
    made: tuple[tuple[str, DataType], ...]
    """Of the rows that say what has changed."""

    def run(
        self, table: pa.Table, keyed: KeyedRows, kept: Sequence[Any]
    ) -> tuple[pa.Table, list[Any]]:
        ordered = table.take(pa.array(keyed.rows))
        places = map(order_key, ordered.column(self.order).to_pylist())
        values = zip(*(ordered.column(name).to_pylist() for name in self.taken), strict=True)
        pairs = zip(places, values if self.taken else [()] * ordered.num_rows, strict=True)
        rows = [WindowRow(0, place, (), taken) for place, taken in pairs]
        held: list[Any] = []
        changes: list[tuple[Any, ...]] = []
        for (first, end), stored in zip(keyed.ranges(), kept, strict=True):
            now, changed = changed_group(self.folding, stored, rows[first:end])
            held.append(now)
            changes += changed
        columns = zip(*changes, strict=True) if changes else [()] * len(self.made)
        arrays = [
            pa.array(column, arrow_type(dtype))
            for column, (_, dtype) in zip(columns, self.made, strict=True)
        ]
        return pa.table(arrays, [name for name, _ in self.made]), held
