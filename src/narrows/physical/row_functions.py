"""Stateful calls as the functions that evaluate them, and the types that these give."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from narrows.expressions.function import RowArgument
from narrows.expressions.nodes import Call, Expr, Literal
from narrows.stateful.functions import (
    Accumulate,
    Average,
    ChangedCol,
    Count,
    Extreme,
    Fold,
    HadChanged,
    Lag,
    Latest,
    RowFunction,
    Sum,
)


@dataclass(frozen=True)
class RowCall:
    """A function, and the arguments that it looks at row by row."""

    function: RowFunction
    args: tuple[Expr, ...]


def row_call(call: Call) -> RowCall:
    constants: list[object] = []
    args: list[Expr] = []
    for arg, takes in zip(call.args, call.function.row_arguments(len(call.args)), strict=True):
        if takes in (RowArgument.COUNT, RowArgument.FLAG):
            constants.append(arg.value if isinstance(arg, Literal) else None)
        else:
            args.append(arg)
    return RowCall(_MAKE[call.function.name](constants, args), tuple(args))


Make = Callable[[Sequence[object], Sequence[Expr]], RowFunction]


def _lag(constants: Sequence[object], args: Sequence[Expr]) -> RowFunction:
    rows = constants[0] if constants else 1
    assert isinstance(rows, int)
    return Lag(rows, len(constants) > 1 and constants[1] is True)


def _accumulate(fold: Fold) -> Make:
    def make(constants: Sequence[object], args: Sequence[Expr]) -> RowFunction:
        return Accumulate(fold, has_begin=len(args) > 1, has_reset=len(args) > 2)

    return make


_MAKE: dict[str, Make] = {
    "lag": _lag,
    "latest": lambda constants, args: Latest(),
    "changed_col": lambda constants, args: ChangedCol(constants[0] is True),
    "had_changed": lambda constants, args: HadChanged(constants[0] is True),
    "acc_sum": _accumulate(Sum()),
    "acc_min": _accumulate(Extreme(largest=False)),
    "acc_max": _accumulate(Extreme(largest=True)),
    "acc_count": _accumulate(Count()),
    "acc_avg": _accumulate(Average()),
}
"""By the name of the function, as the registry declares it."""
