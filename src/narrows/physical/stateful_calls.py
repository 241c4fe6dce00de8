"""Calls of stream windows and stateful functions as what evaluates them, and what rows give it."""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

from narrows.errors import InternalError
from narrows.expressions.nodes import Call, Expr, Literal
from narrows.logical.nodes import window_kind
from narrows.stateful.arguments import Declared
from narrows.stateful.functions.function import RowFunction
from narrows.stateful.windows.window import StreamWindow

T = TypeVar("T", bound=Declared)


class StatefulCall(NamedTuple, Generic[T]):
    """A window or function with its constants, and the arguments that it looks at row by row."""

    evaluator: T
    args: tuple[Expr, ...]


def window_call(call: Call) -> StatefulCall[StreamWindow]:
    return _stateful_call(call, window_kind(call))


def row_call(call: Call) -> StatefulCall[RowFunction]:
    function = call.function.remembers
    if function is None:
        raise InternalError(f"`{call.function.name}` remembers nothing")
    return _stateful_call(call, function)


def _stateful_call(call: Call, declared: type[T]) -> StatefulCall[T]:
    takes = declared.takes(len(call.args))
    args = [arg for arg, taken in zip(call.args, takes, strict=True) if not taken.is_constant]
    values = [arg.value if isinstance(arg, Literal) else None for arg in call.args]
    return StatefulCall(declared.called_with(values), tuple(args))
