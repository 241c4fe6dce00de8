"""Stream windows and functions that remember rows, as functions that a query may call.

Each says itself what it is, in `narrows.stateful`; here that is put into the planner's words.
"""

from __future__ import annotations

from collections.abc import Sequence

from narrows.demand import ALL, PRESENCE
from narrows.expressions.function import Function, Kind, whole
from narrows.expressions.nodes import Expr
from narrows.functions.looks import ArgumentAspect, each, same_if_present
from narrows.schema import DataType
from narrows.stateful.arguments import Sees
from narrows.stateful.functions.function import RowFunction
from narrows.stateful.windows.window import StreamWindow

_ASPECTS: dict[Sees, ArgumentAspect] = {
    Sees.WHOLE: ALL,
    Sees.WANTED: same_if_present,
    Sees.PRESENCE: PRESENCE,
}


def remembering(function: type[RowFunction]) -> Function:
    """A function that remembers rows."""

    def result(args: Sequence[Expr]) -> DataType:
        taken = zip(args, function.takes(len(args)), strict=True)
        return function.result([arg.dtype for arg, takes in taken if not takes.is_constant])

    aspects = [_ASPECTS[takes.sees] for takes in function.arguments]
    return Function(
        function.name,
        Kind.STATEFUL,
        function.least_arguments(),
        function.most_arguments(),
        result=result,
        look=whole if all(aspect is ALL for aspect in aspects) else each(*aspects),
        remembers=function,
    )


def stream_window(window: type[StreamWindow]) -> Function:
    """A kind of window, for GROUP BY."""
    return Function(
        window.name,
        Kind.STREAM_WINDOW,
        window.least_arguments(),
        window.most_arguments(),
        window=window,
    )
