"""Rows as windows keep them."""

from __future__ import annotations

from typing import Any, NamedTuple

from narrows.stateful.values import Value


class WindowRow(NamedTuple):
    """A row of the stream: its time in microseconds, its place in the source, what the arguments of
    the window are for it, itself."""

    time: int
    place: tuple[Any, ...]
    args: tuple[Value, ...]
    values: tuple[Value, ...]


def folded_row(values: tuple[Value, ...]) -> WindowRow:
    """A row that was made of others: no time and no place of the stream is its own."""
    return WindowRow(0, (), (), values)
