"""Counts and sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from narrows.worker.folds.folding import Asked, only


@dataclass(frozen=True)
class Total:
    counts: bool = False
    """Each value that is there is one."""

    def alone(
        self, values: pa.Array, taken: pa.Array | None, beside: Sequence[pa.Array]
    ) -> pa.Array:
        if not self.counts:
            return only(taken, values)
        there = values.is_valid()
        return (there if taken is None else pc.and_(there, taken)).cast(pa.int64())

    def asked(self, values: pa.ChunkedArray, beside: Sequence[pa.ChunkedArray]) -> Asked:
        return Asked("sum", values)

    def folded(
        self,
        answer: pa.ChunkedArray,
        values: pa.ChunkedArray,
        beside: Sequence[pa.ChunkedArray],
        made: Sequence[pa.ChunkedArray],
    ) -> pa.ChunkedArray:
        return answer.cast(values.type)
