"""What windows and functions that remember rows mean, said as plainly as possible.

Every definition looks at all rows at once: nothing is kept between rows, nothing is fast. The
evaluators in `narrows.stateful`, which see rows once and in batches, are held to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

Values = Sequence[Any]
Flags = Sequence[bool | None]


def lag(values: Values, passes: Flags, rows: int = 1, ignore_null: bool = False) -> list[Any]:
    answers = []
    for here in range(len(values)):
        before = [
            value
            for value, counts in zip(values[:here], passes[:here], strict=True)
            if counts is True and not (ignore_null and value is None)
        ]
        answers.append(before[-rows] if len(before) >= rows else None)
    return answers


def latest(values: Values, passes: Flags) -> list[Any]:
    answers = []
    for here in range(len(values)):
        seen = [
            value
            for value, counts in zip(values[: here + 1], passes[: here + 1], strict=True)
            if counts is True and value is not None
        ]
        answers.append(seen[-1] if seen else None)
    return answers


def changes(values: Values, passes: Flags, ignore_null: bool) -> list[bool]:
    """On which rows a value is another than the one before."""
    answers = []
    for here, value in enumerate(values):
        before = [
            other
            for other, counts in zip(values[:here], passes[:here], strict=True)
            if counts is True and not (ignore_null and other is None)
        ]
        looked_at = passes[here] is True and not (ignore_null and value is None)
        answers.append(looked_at and (not before or before[-1] != value))
    return answers


def changed_col(values: Values, passes: Flags, ignore_null: bool) -> list[Any]:
    changed = changes(values, passes, ignore_null)
    return [value if new else None for value, new in zip(values, changed, strict=True)]


def had_changed(columns: Sequence[Values], passes: Flags, ignore_null: bool) -> list[bool]:
    each = [changes(column, passes, ignore_null) for column in columns]
    return [any(row) for row in zip(*each, strict=True)]


def accumulated(
    values: Values, passes: Flags, begin: Flags | None = None, reset: Flags | None = None
) -> list[list[Any]]:
    """The values that an accumulation holds on each row."""
    answers = []
    for here in range(len(values)):
        rows = [row for row in range(here + 1) if passes[row] is True]
        if reset is not None:
            last = max((row for row in rows if reset[row] is True), default=0)
            rows = [row for row in rows if row >= last]
        if begin is not None:
            first = min((row for row in rows if begin[row] is True), default=here + 1)
            rows = [row for row in rows if row >= first]
        answers.append([values[row] for row in rows if values[row] is not None])
    return answers


class Row(NamedTuple):
    """A row of a stream: when it happened, and what its conditions say."""

    time: int
    opens: bool | None = None
    emits: bool | None = None


Window = list[int]
"""The numbers of the rows in it."""


def count_windows(rows: Sequence[Row], size: int) -> list[Window]:
    numbers = list(range(len(rows)))
    return [numbers[first : first + size] for first in range(0, len(rows), size)]


def state_windows(rows: Sequence[Row]) -> list[Window]:
    windows: list[Window] = []
    here = 0
    while here < len(rows):
        if rows[here].opens is not True:
            here += 1
            continue
        ends = (row for row in range(here, len(rows)) if rows[row].emits is True)
        last = next(ends, len(rows) - 1)
        windows.append(list(range(here, last + 1)))
        here = last + 1
    return windows


def sliding_windows(rows: Sequence[Row], lookback: int, lookahead: int = 0) -> list[Window]:
    by_time = sorted(range(len(rows)), key=lambda row: (rows[row].time, row))
    return [
        [
            other
            for other in by_time
            if rows[row].time - lookback <= rows[other].time <= rows[row].time + lookahead
        ]
        for row in by_time
    ]


def tumbling_windows(times: Sequence[int], size: int, hop: int | None = None) -> dict[int, Window]:
    """By the beginning of the window."""
    windows: dict[int, Window] = {}
    step = size if hop is None else hop
    for number, time in enumerate(times):
        start = time // step * step
        while start + size > time:
            windows.setdefault(start, []).append(number)
            start -= step
    return windows


def session_windows(times: Sequence[int], gap: int) -> dict[int, Window]:
    """By the time of the first row."""
    windows: dict[int, Window] = {}
    newest: int | None = None
    for number in sorted(range(len(times)), key=lambda number: times[number]):
        if newest is None or times[number] > newest + gap:
            start = times[number]
        newest = times[number]
        windows.setdefault(start, []).append(number)
    return windows
