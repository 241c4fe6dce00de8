"""Checks the arguments of stream windows and of functions that remember rows.

What is the same for all rows - sizes, units, flags - must be known when the query is planned.
"""

from __future__ import annotations

from narrows.errors import Code, fail
from narrows.expressions.nodes import Call, Literal
from narrows.expressions.text import expression_text
from narrows.stateful.arguments import Declared


def check_arguments(call: Call, declared: type[Declared], code: Code) -> None:
    name = call.function.name
    values = [arg.value if isinstance(arg, Literal) else None for arg in call.args]
    takes = declared.takes(len(call.args))
    for arg, value, taken in zip(call.args, values, takes, strict=True):
        if not taken.fits(arg.dtype, value):
            raise fail(
                code,
                f"`{name}` takes {taken.text}, not `{expression_text(arg)}`",
                arg.span or call.span,
            )
    constants = [value for value, taken in zip(values, takes, strict=True) if taken.is_constant]
    refusal = declared.refuses(constants)
    if refusal is not None:
        blamed = call.args[refusal.argument]
        raise fail(code, f"`{name}` {refusal.reason}", blamed.span or call.span, refusal.hint)
