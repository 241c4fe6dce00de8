"""Constants of a query, as values that a reader computes with."""

from __future__ import annotations

from decimal import Context
from decimal import Decimal as DecimalValue
from typing import NamedTuple

from narrows.expressions.nodes import Expr, Literal
from narrows.projection.values import Arithmetic, ConstantValue, Value
from narrows.schema import DOUBLE, INT, INTEGRAL, STRING, VOID, DataType, Decimal

FIRST = Literal(value=1, text="1", dtype=INT)

_DIGITS = Context(prec=76)
_EXACT = {"+": _DIGITS.add, "-": _DIGITS.subtract, "*": _DIGITS.multiply}


class TypedValue(NamedTuple):
    value: Value
    dtype: DataType
    """What Spark says that it is; the binder does not always know."""


def constant_value(literal: Literal) -> TypedValue | None:
    value, dtype = literal.value, literal.dtype
    if dtype == VOID:
        return TypedValue(ConstantValue(None, VOID), VOID)
    if dtype in INTEGRAL and isinstance(value, int):
        return TypedValue(ConstantValue(value, dtype), dtype)
    if dtype == STRING and isinstance(value, str):
        return TypedValue(ConstantValue(value, STRING), STRING)
    if isinstance(dtype, Decimal):
        return TypedValue(ConstantValue(DecimalValue(number_text(literal)), dtype), dtype)
    if dtype == DOUBLE:
        return TypedValue(ConstantValue(float(number_text(literal)), DOUBLE), DOUBLE)
    return None


def number_text(literal: Literal) -> str:
    """A number without its suffix, `5` of `5L`."""
    return literal.text.rstrip("YSLDFBysldfb")


def small_number(expr: Expr | None) -> int | None:
    """A place in a text, or a number of characters."""
    value = expr.value if isinstance(expr, Literal) and expr.dtype == INT else None
    return value if isinstance(value, int) and 0 <= value < 2**30 else None


def exact_number(value: Value) -> DecimalValue | None:
    """What is computed of DECIMAL constants alone: `0.06 - 0.01`."""
    match value:
        case ConstantValue(value=DecimalValue() as number):
            return number
        case Arithmetic(operator=name, left=left, right=right) if name in _EXACT:
            one, other = exact_number(left), exact_number(right)
            return None if one is None or other is None else _EXACT[name](one, other)
        case _:
            return None
