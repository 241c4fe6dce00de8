"""The place of a row in its source: what "before" means to functions that remember rows.

Rows of a key come from several tasks and meet after a shuffle, in no order. So a plan that needs
their order has the reader ship it: the number of the batch that brought a row, and the row's place
among all rows of that batch - file by file, byte by byte, whichever task reads them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from narrows.schema import BIGINT, Field, Struct

ORDER_TYPE = Struct((Field("batch", BIGINT), Field("row", BIGINT)))

_ROWS_OF_A_RANGE = 40
"""Bits for the rows of one range; above them stands the range's number."""


class RangePlace(NamedTuple):
    """Where a range stands: the batch it belongs to, and its number there."""

    batch: int
    number: int


class RowOrder:
    """Numbers the rows of one range, batch after batch."""

    def __init__(self, place: RangePlace) -> None:
        self._batch = place.batch
        self._next = place.number << _ROWS_OF_A_RANGE

    def next(self, rows: int) -> pa.StructArray:
        numbers = pa.array(np.arange(self._next, self._next + rows, dtype=np.int64))
        batches = pa.repeat(pa.scalar(self._batch, pa.int64()), rows)
        self._next += rows
        return pa.StructArray.from_arrays([batches, numbers], names=["batch", "row"])


class RunsOrder:
    """Numbers the rows of a segment: those of one file range after the other."""

    def __init__(self, batch: int, runs: Sequence[tuple[int, int]]) -> None:
        self._batch = batch
        self._runs = [(RowOrder(RangePlace(batch, number)), rows) for number, rows in runs]

    def next(self, rows: int) -> pa.StructArray:
        parts = []
        while rows:
            order, left = self._runs[0]
            taken = min(rows, left)
            parts.append(order.next(taken))
            self._runs[0] = order, left - taken
            rows -= taken
            if not left - taken:
                del self._runs[0]
        return pa.concat_arrays(parts)


Order = RowOrder | RunsOrder
