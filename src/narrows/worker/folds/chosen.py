"""A value of one of the rows, which is found by a number: rows have one each, and that with the
largest number is chosen.

    first, last          the row's place, counted from the end or from the beginning
    max_by, min_by       what it goes by, and of rows where that is equal, the last one
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from narrows.arrow.float_order import in_order
from narrows.worker.folds.folding import Asked, only

Numbers = npt.NDArray[np.int64]
_LARGEST = 2**63


@dataclass(frozen=True)
class ByPlace:
    last: bool
    valid: bool
    """Of what is not NULL alone."""

    def alone(
        self, values: pa.Array, taken: pa.Array | None, beside: Sequence[pa.Array]
    ) -> pa.Array:
        return only(taken, values)

    def asked(self, values: pa.ChunkedArray, beside: Sequence[pa.ChunkedArray]) -> Asked:
        call = "max" if self.last else "min"
        if self.valid:
            return Asked(call, _places(values.is_valid()))
        if beside:  # what a test has let pass, be it NULL
            return Asked(call, _places(pc.greater(beside[0], 0)))
        return Asked(call)

    def folded(
        self,
        answer: pa.ChunkedArray,
        values: pa.ChunkedArray,
        beside: Sequence[pa.ChunkedArray],
        made: Sequence[pa.ChunkedArray],
    ) -> pa.ChunkedArray:
        return values.take(answer)


@dataclass(frozen=True)
class ByOther:
    largest: bool

    def alone(
        self, values: pa.Array, taken: pa.Array | None, beside: Sequence[pa.Array]
    ) -> pa.Array:
        # Where there is nothing to go by, no row is chosen. Of one row that is told by its value.
        return only(beside[0].is_valid(), values)

    def asked(self, values: pa.ChunkedArray, beside: Sequence[pa.ChunkedArray]) -> Asked:
        by = beside[0].combine_chunks()
        ranks = _ranks(by)
        if not self.largest:
            ranks = ranks.max(initial=0) - ranks
        numbers = ranks * len(ranks) + np.arange(len(ranks))
        return Asked("max", pa.chunked_array([pa.array(numbers, mask=_nulls(by))]))

    def folded(
        self,
        answer: pa.ChunkedArray,
        values: pa.ChunkedArray,
        beside: Sequence[pa.ChunkedArray],
        made: Sequence[pa.ChunkedArray],
    ) -> pa.ChunkedArray:
        chosen = answer.combine_chunks()
        places = np.asarray(chosen.fill_null(0)) % max(len(values), 1)
        return values.take(pa.array(places, mask=_nulls(chosen)))


def _places(taken: pa.ChunkedArray) -> pa.ChunkedArray:
    """The places of some rows, NULL for others."""
    places = pa.array(np.arange(len(taken)))
    return pc.if_else(taken, places, pa.scalar(None, places.type))


def _nulls(values: pa.Array) -> npt.NDArray[np.bool_] | None:
    return np.asarray(values.is_null()) if values.null_count else None


def _ranks(values: pa.Array) -> Numbers:
    """Small numbers from 0 in the order of values, equal where Spark says that these are."""
    if pa.types.is_floating(values.type):
        values = in_order(pa.chunked_array([pc.add(values, 0.0)])).combine_chunks()  # -0.0 is 0.0
    elif pa.types.is_timestamp(values.type):
        values = values.view(pa.int64())
    elif not pa.types.is_integer(values.type):
        values = pc.rank(values, sort_keys="ascending", tiebreaker="dense")
    if values.null_count:
        values = values.fill_null(pc.min(values) if values.null_count < len(values) else 0)
    numbers = np.asarray(values).astype(np.int64)
    if not len(numbers):
        return numbers
    low, high = int(numbers.min()), int(numbers.max())
    if (high - low + 1) * len(numbers) < _LARGEST:
        return numbers - low
    return np.unique(numbers, return_inverse=True)[1].astype(np.int64)
