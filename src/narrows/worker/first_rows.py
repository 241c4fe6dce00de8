"""The rows that a LIMIT leaves of a task: those that come first, or those that are first in an
order.

    SELECT ... LIMIT 10               hands on 10 rows, and then reading can stop
    SELECT ... ORDER BY x LIMIT 10    keeps 10 rows; the next ones are looked at if they may be
                                      among them, which few are once some have been seen

Spark sorts and counts what the tasks have left once more, so of rows that are equal to it any may
go; here the earlier stay. What is kept is bounded: a task whose rows are too large for that hands
them on as they are.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from narrows.arrow.float_order import in_order
from narrows.projection.row_limit import RowLimit, SortValue
from narrows.worker.evaluate import evaluate

_SORTED_TOGETHER = 16_384
"""Rows that wait until they are sorted."""
_KEPT_BYTES = 32 << 20
_SHIPPED_ROWS = 8_192
_COMPARE = {"<": pc.less, "<=": pc.less_equal, ">": pc.greater, ">=": pc.greater_equal}


class FirstRows:
    """Hands on as many rows as there may be."""

    def __init__(self, count: int) -> None:
        self.wanted = count

    def add(self, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        taken = rows.slice(0, self.wanted)
        self.wanted -= taken.num_rows
        if taken.num_rows:
            yield taken

    def rest(self) -> Iterator[pa.RecordBatch]:
        return iter(())


class TopRows:
    """Keeps the rows that are first in an order, and hands them on at the end."""

    wanted: int | None = None  # the last of all rows may be the first

    def __init__(self, limit: RowLimit) -> None:
        self._limit = limit
        self._waiting: list[pa.RecordBatch] = []
        self._worst: pa.Scalar | None = None
        """What the last of as many rows as there may be has as its first key."""
        self._keeps = True

    def add(self, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        if not self._keeps:
            yield rows
            return
        if self._worst is not None:
            rows = rows.filter(_may_be_before(self._worst, self._limit, rows))
        if not rows.num_rows:
            return
        self._waiting.append(rows)
        count, size = _count(self._waiting), _size(self._waiting)
        if count >= self._limit.count + _SORTED_TOGETHER or size > _KEPT_BYTES:
            self._sort()
            if 2 * _size(self._waiting) > _KEPT_BYTES:
                self._keeps = False
                yield from self._take()

    def rest(self) -> Iterator[pa.RecordBatch]:
        if self._keeps and _count(self._waiting) > self._limit.count:
            self._sort()
        yield from self._take()

    def _sort(self) -> None:
        """Leaves the first of what is waiting."""
        rows = pa.concat_batches(self._waiting)
        columns, orders = [], []
        for key in self._limit.keys:
            values = _ordered(key, rows)
            if values.null_count:
                # Arrow knows one place for NULLs, whatever the key.
                columns.append(values.is_null().cast(pa.int8()))
                orders.append("descending" if key.nulls_first else "ascending")
            columns.append(values)
            orders.append("descending" if key.descending else "ascending")
        names = [f"k{place}" for place in range(len(columns))]
        places = pc.sort_indices(pa.table(columns, names), list(zip(names, orders, strict=True)))
        kept = places.slice(0, self._limit.count)
        self._waiting = [rows.take(kept)]
        if len(kept) == self._limit.count:
            self._worst = _ordered(self._limit.keys[0], self._waiting[0])[-1]

    def _take(self) -> Iterator[pa.RecordBatch]:
        waiting, self._waiting = self._waiting, []
        for rows in waiting:
            for start in range(0, rows.num_rows, _SHIPPED_ROWS):
                yield rows.slice(start, _SHIPPED_ROWS)


def _ordered(key: SortValue, rows: pa.RecordBatch) -> pa.Array:
    """The key of each row, as something that Arrow orders as Spark orders the key."""
    values = evaluate(key.value, rows)
    if pa.types.is_floating(values.type):
        zero = pa.scalar(0.0, values.type)
        return in_order(pa.chunked_array([pc.add(values, zero)])).combine_chunks()  # 0.0 for -0.0
    return values.cast(pa.int8()) if pa.types.is_boolean(values.type) else values


def _may_be_before(worst: pa.Scalar, limit: RowLimit, rows: pa.RecordBatch) -> pa.Array:
    """Which rows may come before the last that is kept, by the first key."""
    key = limit.keys[0]
    values = _ordered(key, rows)
    if not worst.is_valid:
        return values.is_null() if key.nulls_first else pa.repeat(pa.scalar(True), len(values))
    before, or_with = (">", ">=") if key.descending else ("<", "<=")
    # Where there are no more keys to tell them apart, the earlier row stays.
    compare = _COMPARE[before if len(limit.keys) == 1 else or_with]
    return pc.fill_null(compare(values, worst), key.nulls_first)


def _count(batches: list[pa.RecordBatch]) -> int:
    return sum(batch.num_rows for batch in batches)


def _size(batches: list[pa.RecordBatch]) -> int:
    return sum(int(batch.nbytes) for batch in batches)
