"""Windows that the rows themselves cut: every so many rows, between two conditions, around a row.

A window function takes what is open and the new rows of its key, in the order of the source, to
what is open afterwards and the windows that closed. Times are microseconds. State is plain data.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from narrows.stateful.values import Value

Open = Any
"""What a key's open windows hold: plain data."""


class WindowRow(NamedTuple):
    """A row of the stream: its time, its place in the source, what its conditions say, itself."""

    time: int
    place: tuple[Any, ...]
    conditions: tuple[Value, ...]
    values: tuple[Value, ...]


class Closed(NamedTuple):
    """A window that closed. Its number is unique among the windows of its key."""

    number: int
    start: int
    end: int
    rows: Sequence[WindowRow]


class RowWindow(Protocol):
    def start(self) -> Open: ...

    def step(self, state: Open, rows: Sequence[WindowRow]) -> tuple[Open, list[Closed]]:
        """New rows, in the order of the source."""

    def advance(self, state: Open, until: int | None) -> tuple[Open, list[Closed]]:
        """The time moves on: no row before `until` will come. None: no row will come at all."""

    def due(self, state: Open) -> int | None:
        """The next time at which something closes without another row; None for never."""


@dataclass(frozen=True)
class CountWindow:
    """`size` rows each, one window after the other."""

    size: int

    def start(self) -> Open:
        return (0, [])

    def step(self, state: Open, rows: Sequence[WindowRow]) -> tuple[Open, list[Closed]]:
        number, waiting = state
        waiting = [*waiting, *rows]
        closed = []
        while len(waiting) >= self.size:
            closed.append(_closed(number, waiting[: self.size]))
            waiting = waiting[self.size :]
            number += 1
        return (number, waiting), closed

    def advance(self, state: Open, until: int | None) -> tuple[Open, list[Closed]]:
        return _close_rest(state, until)

    def due(self, state: Open) -> int | None:
        return None


@dataclass(frozen=True)
class StateWindow:
    """Opens with a row where the first condition is true, closes with one where the second is.

    Both rows belong to it, and may be the same. Rows outside of windows belong to none; while a
    window is open, the first condition is not looked at.
    """

    def start(self) -> Open:
        return (0, [])

    def step(self, state: Open, rows: Sequence[WindowRow]) -> tuple[Open, list[Closed]]:
        number, waiting = state
        waiting = list(waiting)
        closed = []
        for row in rows:
            opens, emits = row.conditions
            if not waiting and opens is not True:
                continue
            waiting.append(row)
            if emits is True:
                closed.append(_closed(number, waiting))
                waiting = []
                number += 1
        return (number, waiting), closed

    def advance(self, state: Open, until: int | None) -> tuple[Open, list[Closed]]:
        return _close_rest(state, until)

    def due(self, state: Open) -> int | None:
        return None


@dataclass(frozen=True)
class SlidingWindow:
    """One window for each row: the rows from `lookback` before it to `lookahead` after it.

    The window of a row closes when time has passed the row's by `lookahead`. Its rows stand in the
    order of their times; the order of the source decides between equal ones.
    """

    lookback: int
    lookahead: int = 0

    def start(self) -> Open:
        return (0, 0, [])

    def step(self, state: Open, rows: Sequence[WindowRow]) -> tuple[Open, list[Closed]]:
        number, emitted, kept = state
        # Rows that may still come are later than those whose windows have closed, so the new ones
        # stand behind the first `emitted`.
        return (number, emitted, sorted([*kept, *rows], key=_by_time)), []

    def advance(self, state: Open, until: int | None) -> tuple[Open, list[Closed]]:
        number, emitted, kept = state
        closed = []
        for row in kept[emitted:]:
            if until is not None and row[0] + self.lookahead > until:
                break
            low, high = row[0] - self.lookback, row[0] + self.lookahead
            first, last = bisect_left(kept, low, key=_time), bisect_right(kept, high, key=_time)
            closed.append(Closed(number, low, high, kept[first:last]))
            number, emitted = number + 1, emitted + 1
        if until is None:
            return (number, 0, []), closed
        oldest = min([until, *(row[0] for row in kept[emitted:])]) - self.lookback
        gone = sum(1 for row in kept[:emitted] if row[0] < oldest)
        return (number, emitted - gone, kept[gone:]), closed

    def due(self, state: Open) -> int | None:
        _, emitted, kept = state
        if emitted < len(kept):
            time: int = kept[emitted][0] + self.lookahead
            return time
        # Nothing closes then, but the rows that no window needs any more can go.
        return kept[-1][0] + self.lookback + 1 if kept else None


def _time(row: WindowRow) -> int:
    return row[0]


def _by_time(row: WindowRow) -> tuple[Any, ...]:
    return (row[0], row[1])


def _closed(number: int, rows: Sequence[WindowRow]) -> Closed:
    times = [row[0] for row in rows]
    return Closed(number, min(times), max(times), rows)


def _close_rest(state: Open, until: int | None) -> tuple[Open, list[Closed]]:
    """At the end of the input an open window closes with the rows that it has."""
    number, waiting = state
    if until is not None or not waiting:
        return state, []
    return (number + 1, []), [_closed(number, waiting)]


def run_to_end(window: RowWindow, rows: Iterable[WindowRow]) -> list[Closed]:
    """All windows of a key whose rows are all there."""
    state, closed = window.step(window.start(), list(rows))
    _, rest = window.advance(state, None)
    return [*closed, *rest]
