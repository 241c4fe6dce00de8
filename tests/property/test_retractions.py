"""Rows that are inserted, less those that are retracted, are the groups of all rows so far."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from narrows.stateful.folds.changes import INSERT, RETRACT, changed_group
from narrows.stateful.folds.chosen import Extreme
from narrows.stateful.folds.counts import Count
from narrows.stateful.folds.fold import Folding
from narrows.stateful.folds.sums import Average, FloatSum, WholeSum
from narrows.stateful.rows import WindowRow
from narrows.stateful.stored import from_bytes, to_bytes

NUMBERS = st.none() | st.sampled_from([0.0, -0.0, 0.1, 2.5, float("nan"), float("-inf")])
ROWS = st.tuples(st.none() | st.integers(-3, 3), NUMBERS)
FOLDING = Folding(1, (Count(), WholeSum(wraps=True), FloatSum(), Average(), Extreme(largest=False)))


@given(st.lists(st.lists(ROWS, min_size=1, max_size=5), min_size=1, max_size=6))
def test_what_is_left_is_the_group_of_all_rows(batches: list[list[tuple[Any, Any]]]) -> None:
    stored, left, rows = None, Counter[str](), list[WindowRow]()
    for batch in batches:
        new = [
            WindowRow(0, ((len(rows) + place,),), (), ("k", whole, whole, number, number, number))
            for place, (whole, number) in enumerate(batch)
        ]
        kept = None if stored is None else from_bytes(to_bytes(stored))
        stored, changes = changed_group(FOLDING, kept, new)
        rows += new
        assert [row[-1] for row in changes] in ([INSERT], [RETRACT, INSERT], [])
        for *values, operation in changes:
            left[repr(values)] += 1 if operation == INSERT else -1
        groups: Any = {}
        for row in rows:
            FOLDING.add(groups, row)
        (whole,) = FOLDING.results(groups)
        assert +left == Counter([repr(list(whole))])
        assert not -left
