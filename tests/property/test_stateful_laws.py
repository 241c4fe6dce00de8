"""Functions and windows that remember rows equal a plain reference, however the input is split."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from narrows.stateful.functions import (
    AccAvg,
    AccCount,
    AccMax,
    AccMin,
    AccSum,
    ChangedCol,
    HadChanged,
    Lag,
    Latest,
)
from narrows.stateful.functions.accumulations import Accumulation
from narrows.stateful.functions.evaluate import BoundFunction, evaluate
from narrows.stateful.functions.function import RowFunction
from narrows.stateful.rows import WindowRow
from narrows.stateful.stored import from_bytes, to_bytes
from narrows.stateful.windows import CountWindow, SlidingWindow, StateWindow
from narrows.stateful.windows.window import Closed, RowWindow, run_to_end
from support import stream_reference as reference

values = st.one_of(st.none(), st.integers(-3, 3))
flags = st.sampled_from([True, False, None])
rows = st.lists(st.tuples(values, values, flags, flags, flags), max_size=20)
cuts = st.lists(st.integers(0, 20), max_size=4)


def in_batches(items: Sequence[Any], places: Sequence[int]) -> list[Sequence[Any]]:
    bounds = [0, *sorted(min(place, len(items)) for place in places), len(items)]
    return [items[low:high] for low, high in pairwise(bounds)]


def over_batches(
    function: RowFunction, args: Sequence[Sequence[Any]], passes: Sequence[Any], cut: Sequence[int]
) -> list[Any]:
    """The function's values, its state going through a checkpoint between batches."""
    bound = [BoundFunction(function, tuple(range(len(args))), len(args))]
    states: list[Any] | None = None
    answers: list[Any] = []
    for batch in in_batches(list(zip(*args, passes, strict=True)), cut):
        columns = list(zip(*batch, strict=True)) or [()] * (len(args) + 1)
        made, got = evaluate(bound, states, columns, len(batch))
        states = from_bytes(to_bytes(made))
        answers += got[0]
    return answers


@given(rows, cuts, st.integers(1, 3), st.booleans())
def test_functions_of_earlier_values(
    data: list[tuple[Any, ...]], cut: list[int], back: int, ignore: bool
) -> None:
    x, y, passes, _, _ = (list(c) for c in zip(*data, strict=True)) if data else ([],) * 5
    assert over_batches(Lag(back, ignore), [x], passes, cut) == reference.lag(
        x, passes, back, ignore
    )
    assert over_batches(Latest(), [x], passes, cut) == reference.latest(x, passes)
    assert over_batches(ChangedCol(ignore), [x], passes, cut) == reference.changed_col(
        x, passes, ignore
    )
    assert over_batches(HadChanged(ignore), [x, y], passes, cut) == reference.had_changed(
        [x, y], passes, ignore
    )


@given(rows, cuts, st.sampled_from([0, 1, 2]))
def test_accumulations(data: list[tuple[Any, ...]], cut: list[int], conditions: int) -> None:
    x, _, passes, begin, reset = (list(c) for c in zip(*data, strict=True)) if data else ([],) * 5
    held = reference.accumulated(
        x, passes, begin if conditions else None, reset if conditions == 2 else None
    )
    args = [x, begin, reset][: conditions + 1]

    def values_of(kind: type[Accumulation]) -> list[Any]:
        return over_batches(kind.called_with(args), args, passes, cut)

    assert values_of(AccSum) == [sum(part) if part else None for part in held]
    assert values_of(AccCount) == [len(part) for part in held]
    assert values_of(AccMin) == [min(part, default=None) for part in held]
    assert values_of(AccMax) == [max(part, default=None) for part in held]
    assert values_of(AccAvg) == [sum(part) / len(part) if part else None for part in held]


# --- windows --------------------------------------------------------------------------------------

timed = st.lists(st.tuples(st.integers(0, 30), flags, flags), max_size=20)


def window_rows(data: Sequence[tuple[Any, ...]]) -> list[WindowRow]:
    """Times are milliseconds in the reference and in lengths, microseconds in rows."""
    return [WindowRow(1_000 * t, (i,), (o, e), (i,)) for i, (t, o, e) in enumerate(data)]


def numbers(closed: Sequence[Closed]) -> list[list[int]]:
    return [[row.values[0] for row in window.rows] for window in closed]


def over_window_batches(
    window: RowWindow, data: Sequence[WindowRow], cut: Sequence[int], lateness: int
) -> list[Closed]:
    """Windows of a stream that comes in batches; the watermark moves on after each, and stays
    `lateness` milliseconds behind."""
    state, closed, newest = window.start(), [], 0
    for batch in in_batches(data, cut):
        state, more = window.step(state, list(batch))
        newest = max([newest, *(row.time for row in batch)])
        state, due = window.advance(state, newest - 1_000 * lateness)
        state = from_bytes(to_bytes(state))
        closed += [*more, *due]
    return [*closed, *window.advance(state, None)[1]]


@given(timed, cuts, st.integers(1, 4))
def test_windows_that_rows_cut(data: list[tuple[Any, ...]], cut: list[int], size: int) -> None:
    stream = window_rows(data)
    plain = [reference.Row(*row) for row in data]
    for window, expected in (
        (CountWindow(size), reference.count_windows(plain, size)),
        (StateWindow(), reference.state_windows(plain)),
    ):
        closed = over_window_batches(window, stream, cut, lateness=0)
        assert numbers(closed) == expected
        assert numbers(run_to_end(window, stream)) == expected
        assert len({part.number for part in closed}) == len(closed)
        for part in closed:
            times = [row.time for row in part.rows]
            assert (part.start, part.end) == (min(times), max(times))


@given(timed, cuts, st.integers(0, 10), st.integers(0, 10))
def test_sliding_windows(
    data: list[tuple[Any, ...]], cut: list[int], lookback: int, lookahead: int
) -> None:
    """No row is later than the watermark allows, so every split gives the same windows."""
    stream = window_rows(data)
    expected = reference.sliding_windows([reference.Row(*row) for row in data], lookback, lookahead)
    window = SlidingWindow(lookback, lookahead)
    assert numbers(run_to_end(window, stream)) == expected
    closed = over_window_batches(window, stream, cut, lateness=31)
    assert sorted(numbers(closed)) == sorted(expected)
    ordered = sorted(stream, key=lambda row: row.time)
    expected = reference.sliding_windows(
        [reference.Row(row.time // 1_000) for row in ordered], lookback, lookahead
    )
    again = [row._replace(place=(i,), values=(i,)) for i, row in enumerate(ordered)]
    # In order, and the watermark right behind: equal times may stand on both sides of a cut, so
    # it stays one behind.
    assert numbers(over_window_batches(window, again, cut, lateness=1)) == expected
