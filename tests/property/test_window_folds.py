"""A window that folds its rows gives what one that keeps them gives, for every split into batches:
its rows are grouped and aggregated here once more, each aggregate by its definition."""

from __future__ import annotations

import decimal
import math
import statistics
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import reduce
from itertools import pairwise
from operator import add
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from narrows.errors import NarrowsError
from narrows.stateful.folds.chosen import (
    Extreme,
    First,
    FirstPresent,
    Last,
    LastPresent,
    LastRow,
)
from narrows.stateful.folds.counts import Count, CountDistinct
from narrows.stateful.folds.fold import Fold, Folding
from narrows.stateful.folds.spread import Spread
from narrows.stateful.folds.sums import (
    Average,
    DecimalAverage,
    DecimalSum,
    FloatSum,
    WholeSum,
)
from narrows.stateful.rows import WindowRow
from narrows.stateful.stored import from_bytes, to_bytes
from narrows.stateful.windows import CountWindow, SlidingWindow, StateWindow
from narrows.stateful.windows.window import Closed, Cutter, RowWindow, run_to_end

NAN, INFINITY = float("nan"), float("inf")
WHOLE = st.none() | st.sampled_from([0, 1, -1, 7, 2**53 + 1, 2**62, 2**63 - 1, -(2**63)])
SMALL = st.none() | st.integers(-5, 5)
FLOATS = st.none() | st.sampled_from([0.0, -0.0, 0.1, 0.7, -1.5, 1e16, 1e300, NAN, -INFINITY])
CENT = decimal.Decimal("0.01")
MONEY = st.none() | st.decimals(-99999, 99999, places=2).map(lambda d: d.quantize(CENT))
Values = Sequence[Any]


# --- what each aggregate is ----------------------------------------------------------------------


def present(values: Values) -> list[Any]:
    return [value for value in values if value is not None]


def wrapped(values: Values) -> int | None:
    total = sum(present(values))
    return (total + 2**63) % 2**64 - 2**63 if present(values) else None


def one_after_the_other(values: Values) -> float | None:
    return reduce(add, present(values), 0.0) if present(values) else None


def average(values: Values) -> float | None:
    numbers = [float(value) for value in present(values)]
    return reduce(add, numbers, 0.0) / len(numbers) if numbers else None


def exact(values: Values) -> Fraction | None:
    return sum(map(Fraction, present(values)), Fraction(0)) if present(values) else None


def exact_average(values: Values) -> Fraction | None:
    """To six digits behind the point; half a digit is rounded away from zero."""
    total = exact(values)
    if total is None:
        return None
    scaled = abs(total) / len(present(values)) * 10**6
    return Fraction(math.floor(scaled + Fraction(1, 2)) * (-1 if total < 0 else 1), 10**6)


def extreme(values: Values, *, largest: bool) -> Any:
    """NaN is the largest number; of equal ones the first."""
    kept = present(values)
    order = [(isinstance(value, float) and math.isnan(value), value) for value in kept]
    keys = [(nan, 0.0 if nan else value) for nan, value in order]
    if not kept:
        return None
    return kept[keys.index(max(keys) if largest else min(keys))]


def distinct(values: Values) -> int:
    kept = present(values)
    numbers = {value for value in kept if value == value}
    return len(numbers) + any(value != value for value in kept)


Case = tuple[st.SearchStrategy[Any], Fold, Callable[[Values], Any]]
CASES: dict[str, Case] = {
    "count": (WHOLE, Count(), lambda values: len(present(values))),
    "count distinct": (FLOATS, CountDistinct(), distinct),
    "sum that wraps": (WHOLE, WholeSum(wraps=True), wrapped),
    "sum of small ones": (SMALL, WholeSum(wraps=True), wrapped),
    "sum of floats": (FLOATS, FloatSum(), one_after_the_other),
    "sum of decimals": (MONEY, DecimalSum(), exact),
    "avg of whole": (WHOLE, Average(), average),
    "avg of small ones": (SMALL, Average(), average),
    "avg of floats": (FLOATS, Average(), average),
    "avg of decimals": (MONEY, DecimalAverage(6), exact_average),
    "min": (FLOATS, Extreme(largest=False), lambda values: extreme(values, largest=False)),
    "max": (FLOATS, Extreme(largest=True), lambda values: extreme(values, largest=True)),
    "first": (SMALL, First(), lambda values: values[0]),
    "first present": (SMALL, FirstPresent(), lambda values: next(iter(present(values)), None)),
    "last": (SMALL, Last(), lambda values: values[-1]),
    "last present": (SMALL, LastPresent(), lambda values: next(iter(present(values)[::-1]), None)),
}

KEYS = st.sampled_from([None, 0.0, -0.0, 1.0, NAN])
FLAGS = st.sampled_from([True, False, None])


@st.composite
def streams(draw: st.DrawFn) -> list[WindowRow]:
    """Rows whose values are a key, and one for each case."""
    values = st.tuples(KEYS, *(values for values, _, _ in CASES.values()))
    made = st.tuples(st.integers(0, 30), FLAGS, FLAGS, values)
    drawn = draw(st.lists(made, max_size=25))
    return [
        WindowRow(1_000 * time, ((place,),), (opens, emits), held)
        for place, (time, opens, emits, held) in enumerate(drawn)
    ]


def in_batches(
    window: Cutter, rows: Sequence[WindowRow], cuts: Sequence[int], lateness: int
) -> list[Closed]:
    """What a pipeline gives whose rows come in batches, with a restart after each."""
    state, closed, newest = window.start(), [], 0
    bounds = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    for low, high in pairwise(bounds):
        batch = rows[low:high]
        state, more = window.step(state, list(batch))
        newest = max([newest, *(row.time for row in batch)])
        state, due = window.advance(from_bytes(to_bytes(state)), newest - 1_000 * lateness)
        state = from_bytes(to_bytes(state))
        closed += [*more, *due]
    return [*closed, *window.advance(state, None)[1]]


def aggregated(window: Closed, keys: int) -> list[str]:
    """The groups of a window that has kept its rows."""
    groups: dict[str, list[WindowRow]] = {}
    for row in window.rows:
        groups.setdefault(shown_key(row, keys), []).append(row)
    results = []
    for key, rows in groups.items():
        columns = list(zip(*(row.values[1:] for row in rows), strict=True))
        made = [of(column) for (_, _, of), column in zip(CASES.values(), columns, strict=True)]
        results.append(f"{key} {[*map(shown, made)]}")
    return sorted(results)


def given_by(window: Closed, keys: int) -> list[str]:
    """The groups of a window that has folded them."""
    return sorted(
        f"{shown_key(row, keys)} {[*map(shown, row.values[keys:])]}" for row in window.rows
    )


def shown_key(row: WindowRow, keys: int) -> str:
    """Of the two zeros Spark groups by one."""
    return str([shown(0.0 if value == 0.0 else value) for value in row.values[:keys]])


def shown(value: Any) -> str:
    """A value with all its bits, so that -0.0 is not 0.0, and NaN is NaN."""
    if isinstance(value, (decimal.Decimal, Fraction)):
        return str(Fraction(value))
    return repr(value)


def holds(kept: Sequence[Closed], folded: Sequence[Closed], keys: int) -> None:
    assert [window[:3] for window in folded] == [window[:3] for window in kept]
    for one, other in zip(kept, folded, strict=True):
        assert given_by(other, keys) == aggregated(one, keys)


FOLDS = tuple(fold for _, fold, _ in CASES.values())
cuts = st.lists(st.integers(0, 25), max_size=5)


@given(streams(), cuts, st.integers(1, 6))
def test_windows_of_rows_that_are_gathered(
    rows: list[WindowRow], cut: list[int], size: int
) -> None:
    windows: list[RowWindow] = [CountWindow(size), StateWindow()]
    for window in windows:
        folding = window.folding(Folding(1, FOLDS))
        kept = run_to_end(window, rows)
        holds(kept, run_to_end(folding, rows), keys=1)
        holds(kept, in_batches(folding, rows, cut, lateness=0), keys=1)


@given(streams(), cuts, st.integers(0, 10), st.integers(0, 5))
def test_windows_that_slide(
    rows: list[WindowRow], cut: list[int], lookback: int, lookahead: int
) -> None:
    """Of one key each, so there is none among the values."""
    rows = [row._replace(values=(None, *row.values[1:])) for row in rows]
    window = SlidingWindow(lookback, lookahead)
    folding = window.folding(Folding(1, FOLDS))
    holds(run_to_end(window, rows), run_to_end(folding, rows), keys=1)
    kept = in_batches(window, rows, cut, lateness=31)
    holds(kept, in_batches(folding, rows, cut, lateness=31), keys=1)


@given(streams(), cuts, st.integers(1, 6), st.integers(0, 10))
def test_the_last_row_is_that_of_the_source(
    rows: list[WindowRow], cut: list[int], size: int, lookback: int
) -> None:
    rows = [row._replace(values=(number,)) for number, row in enumerate(rows)]
    for window in (CountWindow(size), SlidingWindow(lookback)):
        kept = in_batches(window, rows, cut, lateness=31)
        folded = in_batches(window.folding(Folding(0, (LastRow(),))), rows, cut, lateness=31)
        last = [max(row.values[0] for row in closed.rows) for closed in kept]
        assert [closed.rows[0].values for closed in folded] == [(number,) for number in last]


@given(st.lists(st.sampled_from([1, 2**63 - 1, -(2**63), -5]), min_size=1, max_size=6), cuts)
def test_a_sum_that_was_too_large_once_is_an_error_in_ansi_mode(
    values: list[int], cut: list[int]
) -> None:
    """As it is in Spark, which adds one value after the other."""
    rows = [WindowRow(0, ((place,),), (), (value,)) for place, value in enumerate(values)]
    total, fits = 0, True
    for value in values:
        total += value
        fits = fits and -(2**63) <= total < 2**63
    for window in (CountWindow(len(values)), SlidingWindow(0)):
        folding = window.folding(Folding(0, (WholeSum(wraps=False, text="sum(a)"),)))
        if fits:
            closed = in_batches(folding, rows, cut, lateness=1)
            assert closed[-1].rows[0].values == (total,)
        else:
            with pytest.raises(NarrowsError, match="too large for a BIGINT"):
                in_batches(folding, rows, cut, lateness=1)


@given(st.lists(st.none() | st.floats(-1e6, 1e6), max_size=20), st.booleans(), st.booleans())
def test_variances(values: list[float | None], sample: bool, root: bool) -> None:
    """To some digits; that they are Spark's, to the bit, is for a test with Spark."""
    numbers = [value for value in values if value is not None]
    found = Spread(sample, root).of(values, [()] * len(values))
    if len(numbers) < (2 if sample else 1):
        assert found is None
        return
    variance = statistics.variance(numbers) if sample else statistics.pvariance(numbers)
    largest = max(map(abs, numbers)) ** 2
    assert math.isclose(found**2 if root else found, variance, rel_tol=1e-6, abs_tol=1e-9 * largest)


def test_what_is_kept_does_not_grow_with_the_rows() -> None:
    folding = CountWindow(10**6).folding(Folding(1, (Count(), FloatSum(), Extreme(largest=True))))
    sizes = []
    for count in (10, 10_000):
        rows = [WindowRow(n, ((n,),), (), (n % 3, True, n / 2, n % 7)) for n in range(count)]
        state, closed = folding.step(folding.start(), rows)
        assert not closed
        sizes.append(len(to_bytes(state)))
    assert sizes[1] < sizes[0] + 50
