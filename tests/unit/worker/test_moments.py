"""Means and squared distances from them are those of all values, however often they are folded."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ulp
from random import Random
from statistics import mean
from unittest.mock import patch

import pyarrow as pa
import pytest

from narrows.projection.partial_aggregation import Fold, FoldKind, PartialAggregation
from narrows.projection.predicate import IsNull
from narrows.projection.values import ColumnValue
from narrows.schema import BIGINT, DOUBLE
from narrows.worker import partial_aggregator
from narrows.worker.partial_aggregator import PartialAggregator, as_partial, fold

_X = ColumnValue(1)
_FOLDS = (
    Fold(FoldKind.COUNT, _X, BIGINT),
    Fold(FoldKind.MEAN, _X, DOUBLE, None, (0,)),
    Fold(FoldKind.SQUARES, _X, DOUBLE, None, (0, 1)),
)
_BY_KEY = PartialAggregation(((ColumnValue(0), BIGINT),), _FOLDS, ("k", "n", "avg", "m2"))
_OF_ALL = PartialAggregation((), _FOLDS, ("n", "avg", "m2"))


def _rows(keys: list[int], values: Sequence[float | None]) -> pa.RecordBatch:
    arrays = [pa.array(keys, pa.int64()), pa.array(values, pa.float64())]
    return pa.RecordBatch.from_arrays(arrays, names=["k", "x"])


def _folded(what: PartialAggregation, batches: list[pa.RecordBatch]) -> dict[str, list[object]]:
    parts = [fold(what, pa.Table.from_batches([as_partial(what, each)])) for each in batches]
    made: dict[str, list[object]] = fold(what, pa.concat_tables(parts)).to_pydict()
    return made


@pytest.mark.parametrize("far", [0.0, 1e9, -3e14])
def test_of_groups_in_several_batches(far: float) -> None:
    random = Random(1)
    keys = [random.randrange(20) for _ in range(2_000)]
    values = [None if random.random() < 0.1 else far + random.gauss(0, 1) for _ in keys]
    batches = [_rows(keys[at : at + 300], values[at : at + 300]) for at in range(0, 2_000, 300)]
    made = _folded(_BY_KEY, batches)
    assert len(made["k"]) == 20
    for key, count, average, squares in zip(*made.values(), strict=True):
        exact = [
            Fraction(x) for k, x in zip(keys, values, strict=True) if k == key and x is not None
        ]
        middle = mean(exact)
        assert count == len(exact)
        assert average == pytest.approx(float(middle), rel=1e-15)
        wanted = float(sum((x - middle) ** 2 for x in exact))
        # A mean is rounded to its last digit, and each value's distance with it: in Spark, too.
        assert squares == pytest.approx(wanted, rel=1e-12, abs=4 * len(exact) * ulp(far))


def test_equal_values_have_no_distance() -> None:
    batches = [_rows([1, 2, 1], [0.1, None, 0.1]), _rows([2, 1, 1], [0.7, None, 0.1])]
    assert _folded(_OF_ALL, [_rows([1] * 3, [0.1] * 3)] * 3)["m2"] == [0.0]
    made = _folded(_BY_KEY, batches)
    assert made == {"k": [1, 2], "n": [3, 1], "avg": [0.1, 0.7], "m2": [0.0, 0.0]}


def test_of_nothing() -> None:
    made = _folded(_BY_KEY, [_rows([1, 1], [None, None]), _rows([1], [None])])
    assert made == {"k": [1], "n": [0], "avg": [None], "m2": [None]}


@pytest.mark.parametrize("odd", [float("nan"), float("inf"), float("-inf")])
def test_from_infinity_nothing_has_a_distance(odd: float) -> None:
    for values in ([odd], [1.0, odd], [odd, 2.0, odd]):
        (squares,) = _folded(_OF_ALL, [_rows([1] * len(values), values), _rows([1], [3.0])])["m2"]
        assert squares != squares, values


def test_rows_that_a_test_drops() -> None:
    test = IsNull(ColumnValue(0))
    folds = tuple(Fold(f.kind, f.value, f.dtype, test, f.beside) for f in _FOLDS)
    what = PartialAggregation((), folds, _OF_ALL.names)
    assert _folded(what, [_rows([1, 2], [1.0, 2.0])]) == {"n": [0], "avg": [None], "m2": [None]}


def test_a_task_goes_on_folding_where_keys_hardly_repeat() -> None:
    """For what it ships is a list in Spark, of which one group might have most of the rows."""
    with patch.multiple(partial_aggregator, _FOLDED_TOGETHER=8, _ENOUGH_TO_TELL=8):
        task = PartialAggregator(_BY_KEY)
        shipped = []
        for first in range(0, 800, 8):
            keys = [*range(first + 1, first + 6), 0, 0, 0]
            shipped += list(task.add(_rows(keys, [1.0] * 8)))
        shipped += list(task.rest())
    of_one_key = sum(batch.column(0).to_pylist().count(0) for batch in shipped)
    assert of_one_key == 100
