"""What the two steps of an aggregate are made of: parts, which tasks compute, and their merging.

A part is an aggregate of its own, by a name that Spark has, too. Some cannot be folded without
others (`beside`): who looks for the value beside the largest has to know the largest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from narrows.errors import InternalError
from narrows.expressions.function import Function
from narrows.expressions.nodes import Call, Cast, Column, Expr, Literal
from narrows.functions import builtin_functions, operator
from narrows.schema import BIGINT, DOUBLE, UNKNOWN, DataType

TypeOf = Callable[[Expr], DataType]
"""The type of an argument; who computes it knows that better than who has bound it."""
Merge = Callable[[Sequence[Column]], Expr]
Steps = tuple[tuple[Call, ...], Merge]

NONE = Literal(text="0L", value=0, dtype=BIGINT)
SQUARES = "regr_sxx"
"""Of a value with itself, it is the sum of its squared distances from its mean."""


def beside(part: Call) -> tuple[Call, ...]:
    """The parts that this one cannot be folded without."""
    match part.function.name:
        case "max_by" | "min_by" as name:
            return (part_of(name.removesuffix("_by"), part, (part.args[1],), UNKNOWN),)
        case "first" | "last" | "any_value" if part.filter is not None and not part.ignore_nulls:
            return (part_of("count", part, (), BIGINT),)
        case "avg":
            return (part_of("count", part, part.args, BIGINT),)
        case "regr_sxx":
            mean = part_of("avg", part, part.args[:1], DOUBLE)
            return (*beside(mean), mean)
    return ()


def part_of(name: str, call: Call, args: tuple[Expr, ...], dtype: DataType) -> Call:
    """A part of an aggregate: of the same rows."""
    return Call(function=function(name), args=args, filter=call.filter, dtype=dtype, span=call.span)


def merged(name: str, column: Column, dtype: DataType) -> Call:
    return Call(function=function(name), args=(column,), dtype=dtype)


def number(arg: Expr, dtype: DataType) -> Expr:
    """A number as a DOUBLE."""
    return arg if dtype == DOUBLE else cast(arg, DOUBLE)


def operation(name: str, *args: Expr, dtype: DataType = UNKNOWN) -> Expr:
    return Call(function=operator(name), args=args, dtype=dtype)


def cast(expr: Expr, to: DataType) -> Expr:
    return Cast(operand=expr, to=to.sql(), dtype=to)


def called(name: str, *args: Expr, dtype: DataType) -> Call:
    return Call(function=function(name), args=args, dtype=dtype)


def function(name: str) -> Function:
    found = builtin_functions().find(name)
    if found is None:
        raise InternalError(f"no function {name}")
    return found
