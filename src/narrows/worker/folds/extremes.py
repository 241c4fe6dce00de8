"""The smallest and the largest value, in Spark's order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from narrows.arrow.float_order import as_floats, in_order
from narrows.worker.folds.folding import Asked, only


@dataclass(frozen=True)
class Extreme:
    call: str

    def alone(
        self, values: pa.Array, taken: pa.Array | None, beside: Sequence[pa.Array]
    ) -> pa.Array:
        return only(taken, values)

    def asked(self, values: pa.ChunkedArray, beside: Sequence[pa.ChunkedArray]) -> Asked:
        return Asked(self.call, in_order(values) if pa.types.is_floating(values.type) else values)

    def folded(
        self,
        answer: pa.ChunkedArray,
        values: pa.ChunkedArray,
        beside: Sequence[pa.ChunkedArray],
        made: Sequence[pa.ChunkedArray],
    ) -> pa.ChunkedArray:
        if pa.types.is_floating(values.type):
            return as_floats(answer, values.type)
        return answer.cast(values.type)
