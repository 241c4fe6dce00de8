"""Folds rows in the task that decoded them: what is shipped is a row for each group, not each row.

    rows        (a, x=1) (b, x=2) (a, x=3)                      decoded, tested
    as partial  (a, n=1, s=1) (b, n=1, s=2) (a, n=1, s=3)       results of one row each
    folded      (a, n=2, s=4) (b, n=1, s=2)                     shipped

Folding is the same whether rows are folded or what was folded before, so memory is bounded by
shipping what there is and going on. Where keys hardly repeat, folding costs more than it saves: a
task that sees this stops folding, and ships rows in their partial form, unless many of these would
be too much for who merges them. Under a LIMIT some groups may be enough: then there is no need to
read on.

Groups need not be Spark's groups, only parts of them: 0.0 and -0.0 may be two here. Sums of whole
numbers and of DECIMALs are only made where they fit: if they overflow, that is for Spark to say,
which wraps them, makes them NULL or fails.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from narrows.arrow.digits import of_type
from narrows.arrow.types import arrow_type
from narrows.projection.partial_aggregation import Fold, FoldKind, PartialAggregation
from narrows.worker.evaluate import evaluate
from narrows.worker.folds.chosen import ByOther, ByPlace
from narrows.worker.folds.extremes import Extreme
from narrows.worker.folds.folding import LIST, Asked, Folding
from narrows.worker.folds.moments import Mean, Squares
from narrows.worker.folds.totals import Total

_FOLDED_TOGETHER = 65_536
"""Rows that are folded at once: a call costs as much as ten thousand of them."""
_FOLDED_BYTES = 8 << 20
"""Or so much of them: more would not stay in the processor's memory."""
_ENOUGH_TO_TELL = 16_384
"""After so many rows it is known whether keys repeat."""
_KEPT_GROUPS = 65_536
_KEPT_BYTES = 32 << 20
_SHIPPED_ROWS = 16_384

FOLDINGS: dict[FoldKind, Folding] = {
    FoldKind.COUNT: Total(counts=True),
    FoldKind.SUM: Total(),
    FoldKind.MIN: Extreme("min"),
    FoldKind.MAX: Extreme("max"),
    FoldKind.MIN_BY: ByOther(largest=False),
    FoldKind.MAX_BY: ByOther(largest=True),
    FoldKind.FIRST: ByPlace(last=False, valid=False),
    FoldKind.LAST: ByPlace(last=True, valid=False),
    FoldKind.FIRST_VALID: ByPlace(last=False, valid=True),
    FoldKind.LAST_VALID: ByPlace(last=True, valid=True),
    FoldKind.MEAN: Mean(),
    FoldKind.SQUARES: Squares(),
}


class PartialAggregator:
    """Takes the rows of a task, and gives partial results: some when it must, the rest at the
    end."""

    def __init__(self, what: PartialAggregation) -> None:
        self._what = what
        self._waiting: list[pa.RecordBatch] = []
        self._groups: list[pa.Table] = []
        self._bounds = [0] * len(what.folds)
        """For each sum that may not fit: what it may have come to, at most."""
        self._folds = True
        self._is_done = False
        # Where some groups are enough, it is to be known soon that they are there.
        sooner = what.enough is not None
        self._together = min(_FOLDED_TOGETHER, _ENOUGH_TO_TELL) if sooner else _FOLDED_TOGETHER

    @property
    def wanted(self) -> int | None:
        return 0 if self._is_done else None

    def add(self, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Takes rows; answers with what has to be shipped now."""
        if not rows.num_rows:
            return
        made = as_partial(self._what, rows)
        if not self._folds:
            yield made
            return
        self._waiting.append(made)
        if _rows(self._waiting) >= self._together or _size(self._waiting) >= _FOLDED_BYTES:
            yield from self._fold()

    def rest(self) -> Iterator[pa.RecordBatch]:
        """What has not been shipped."""
        if self._waiting:
            yield from self._fold()
        yield from self._take()

    def _fold(self) -> Iterator[pa.RecordBatch]:
        rows = pa.Table.from_batches(self._waiting)
        self._waiting.clear()
        if not self._fits(rows):
            yield from self._take()
            if not self._fits(rows):
                yield from _shipped(rows)
                return
        folded = fold(self._what, rows)
        self._groups.append(folded)
        if self._what.enough is not None and _rows(self._groups) >= self._what.enough:
            self._groups = [fold(self._what, pa.concat_tables(self._groups))]
            self._is_done = _rows(self._groups) >= self._what.enough
        if 2 * folded.num_rows > rows.num_rows and rows.num_rows >= _ENOUGH_TO_TELL:
            self._folds = self._what.always_folds
            yield from self._take()
        elif _rows(self._groups) > _KEPT_GROUPS or _size(self._groups) > _KEPT_BYTES:
            kept = fold(self._what, pa.concat_tables(self._groups))
            self._groups = [kept]
            if 2 * kept.num_rows > _KEPT_GROUPS or 2 * kept.nbytes > _KEPT_BYTES:
                yield from self._take()

    def _fits(self, rows: pa.Table) -> bool:
        """Adds what sums come to, at most; False if that may be too large for their type."""
        bounds = list(self._bounds)
        for place, made in enumerate(self._what.folds):
            values = rows.column(len(self._what.keys) + place)
            largest = _largest_sum(values.type) if made.kind is FoldKind.SUM else None
            if largest is not None:
                bounds[place] += int(_largest(values) * rows.num_rows)
                if bounds[place] > largest:
                    return False
        self._bounds = bounds
        return True

    def _take(self) -> Iterator[pa.RecordBatch]:
        groups, self._groups = self._groups, []
        self._bounds = [0] * len(self._bounds)
        if groups:
            together = groups[0] if len(groups) == 1 else pa.concat_tables(groups)
            yield from _shipped(together if len(groups) == 1 else fold(self._what, together))


def as_partial(what: PartialAggregation, rows: pa.RecordBatch) -> pa.RecordBatch:
    """Each row as the partial result of itself."""
    keys = [of_type(evaluate(value, rows), arrow_type(dtype)) for value, dtype in what.keys]
    folds: list[pa.Array] = []
    for made in what.folds:
        folds.append(_folded_alone(made, rows, folds))
    return pa.RecordBatch.from_arrays([*keys, *folds], names=list(what.names))


def _folded_alone(made: Fold, rows: pa.RecordBatch, before: Sequence[pa.Array]) -> pa.Array:
    """What a fold is of one row, for each row; `before` are the folds before it."""
    dtype = arrow_type(made.dtype)
    taken = None if made.test is None else pc.fill_null(evaluate(made.test, rows), False)
    if made.value is None:
        values = pa.repeat(pa.scalar(1, dtype), rows.num_rows)
    else:
        values = evaluate(made.value, rows)
        values = values if made.kind is FoldKind.COUNT else of_type(values, dtype)
    return FOLDINGS[made.kind].alone(values, taken, [before[place] for place in made.beside])


def fold(what: PartialAggregation, rows: pa.Table) -> pa.Table:
    """A row for each group of keys, and of what was folded before."""
    return fold_by(len(what.keys), what.folds, rows)


def fold_by(width: int, folds: Sequence[Fold], rows: pa.Table) -> pa.Table:
    """The same, of rows whose first so many columns are keys."""
    values = rows.columns[width:]
    beside = [[values[place] for place in made.beside] for made in folds]
    foldings = [FOLDINGS[made.kind] for made in folds]
    asked = [
        folding.asked(column, others)
        for folding, column, others in zip(foldings, values, beside, strict=True)
    ]
    keys, answers = _grouped(rows.columns[:width], asked, rows.num_rows)
    folded: list[pa.ChunkedArray] = []
    for made, folding, answer, column, others in zip(
        folds, foldings, answers, values, beside, strict=True
    ):
        before = [folded[place] for place in made.beside]
        folded.append(folding.folded(answer, column, others, before))
    return pa.table([*keys, *folded], names=rows.column_names)


def _grouped(
    keys: Sequence[pa.ChunkedArray], asked: Sequence[Asked], rows: int
) -> tuple[list[pa.ChunkedArray], list[pa.ChunkedArray]]:
    """The keys of groups, and what was asked of each of these."""
    columns = {f"k{place}": column for place, column in enumerate(keys)}
    if not columns and any(each.call == LIST for each in asked):
        columns["k"] = pa.chunked_array([pa.repeat(pa.scalar(0, pa.int8()), rows)])
    names = list(columns)
    if any(each.of is None for each in asked):
        columns["row"] = pa.chunked_array([pa.array(np.arange(rows))])
    calls = []
    for place, each in enumerate(asked):
        name = "row" if each.of is None else f"c{place}"
        columns |= {} if each.of is None else {name: each.of}
        calls.append((name, each.call))
    grouped = pa.table(columns).group_by(names, use_threads=False)
    groups = grouped.aggregate(list(dict.fromkeys(calls)))
    return (
        [groups.column(f"k{place}") for place in range(len(keys))],
        [groups.column(f"{name}_{call}") for name, call in calls],
    )


# --- sizes ----------------------------------------------------------------------------------------


_MOST_DIGITS = 38


def _largest_sum(dtype: pa.DataType) -> int | None:
    """What a sum of the type can be, at most, before the point; None where none is too large."""
    if pa.types.is_int64(dtype):
        return 2**63 - 1
    # Of fewer digits, ten thousand million of the largest values make a sum that has a place.
    if pa.types.is_decimal(dtype) and dtype.precision == _MOST_DIGITS:
        return int(10 ** (_MOST_DIGITS - dtype.scale) - 1)
    return None


def _largest(values: pa.ChunkedArray) -> int | Decimal:
    ends = pc.min_max(values)
    return max((abs(end.as_py()) for end in ends.values() if end.is_valid), default=0)


def _rows(parts: Sequence[pa.RecordBatch | pa.Table]) -> int:
    return sum(part.num_rows for part in parts)


def _size(parts: Sequence[pa.RecordBatch | pa.Table]) -> int:
    return sum(part.nbytes for part in parts)


def _shipped(rows: pa.Table) -> Iterator[pa.RecordBatch]:
    yield from rows.combine_chunks().to_batches(max_chunksize=_SHIPPED_ROWS)
