"""All functions of one partition key, over some of its rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from narrows.stateful.functions.function import RowFunction, State
from narrows.stateful.values import Value


@dataclass(frozen=True)
class BoundFunction:
    """A function and the places of its arguments, and of its FILTER condition, in a row."""

    function: RowFunction
    args: tuple[int, ...]
    filter: int | None = None


@dataclass(frozen=True)
class RowCalls:
    """What to evaluate on the rows of a key: which columns they keep, which ones are arguments."""

    kept: tuple[str, ...]
    order: str
    args: tuple[str, ...]
    functions: tuple[BoundFunction, ...]
    results: tuple[str, ...]


def evaluate(
    functions: Sequence[BoundFunction],
    states: Sequence[State] | None,
    columns: Sequence[Sequence[Value]],
    rows: int,
) -> tuple[list[State], list[list[Value]]]:
    """What each function remembers after the rows, and its value on each of them.

    `columns` are the arguments, column by column, in the order of the source. `states` is what was
    remembered of earlier rows; None when there were none.
    """
    after: list[State] = []
    values: list[list[Value]] = []
    for place, bound in enumerate(functions):
        function = bound.function
        state = function.start() if states is None else states[place]
        given = [columns[arg] for arg in bound.args]
        args = list(zip(*given, strict=True)) if given else [()] * rows
        passes = [True] * rows if bound.filter is None else columns[bound.filter]
        made: list[Value] = []
        for row, counts in zip(args, passes, strict=True):
            if counts is True:
                state, value = function.step(state, row)
            else:
                value = function.excluded(state, row)
            made.append(value)
        after.append(state)
        values.append(made)
    return after, values
