"""Rows that are written once, over the rows of a task: those that nobody has seen before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from narrows.worker.remembered.keys import KeyedRows, as_values
from narrows.worker.remembered.timeless import Timeless


@dataclass(frozen=True)
class DistinctRows(Timeless):
    """A row is its key, and nothing else is kept of it than that it was there. Rows that are equal
    may differ in their bits (0.0 and -0.0): what is given is the key, as Spark gives it."""

    order: ClassVar[None] = None

    def run(
        self, table: pa.Table, keyed: KeyedRows, kept: Sequence[Any]
    ) -> tuple[pa.Table, Sequence[Any]]:
        new = np.flatnonzero([seen is None for seen in kept])
        first_rows = keyed.rows[keyed.bounds[:-1]]
        new = pa.array(new[np.argsort(first_rows[new], kind="stable")])
        rows = as_values([key.take(new) for key in keyed.keys], table.schema)
        return pa.table(rows, schema=table.schema), [True] * len(kept)
