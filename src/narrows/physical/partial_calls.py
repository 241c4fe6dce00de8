"""Aggregates in two steps: what each task makes of its rows, and how Spark merges what they made.

    count(*)      count(*)                 coalesce(sum(..), 0)
    sum(x)        sum(x)                   sum(..), as large as Spark makes a sum of x
    min(x)        min(x)                   min(..)
    avg(x)        sum of DOUBLEs, count    sum(..) / sum(..)
    avg(x)        sum of DECIMALs, count   the same, rounded once (`_quotient`)

What is merged is what Spark itself keeps for an aggregate while it runs, so the order of additions
is all that may differ, which it does in Spark from run to run, too. That is why deviations are not
here: Spark merges them as SQL cannot say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from narrows.errors import InternalError
from narrows.expressions.function import Function
from narrows.expressions.nodes import Call, Cast, Column, Expr, Literal, rewrite
from narrows.functions import builtin_functions, operator
from narrows.schema import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INTEGRAL,
    UNKNOWN,
    DataType,
    Decimal,
    is_scalar,
)


class Taken(NamedTuple):
    """An aggregate, taken apart."""

    keys: tuple[Expr, ...]
    """What rows are told apart by, beside the keys of their groups."""
    parts: tuple[Call, ...]
    """What each task computes."""
    merge: Callable[[Mapping[Expr, Column]], Expr]
    """The aggregate, of columns that hold keys and parts."""


TypeOf = Callable[[Expr], DataType]
"""The type of an argument; who computes it knows that better than who has bound it."""


def take_apart(expr: Expr, type_of: TypeOf) -> Taken | None:
    """The two steps of an aggregate; None for one that has no such steps, or none known."""
    if not isinstance(expr, Call) or not expr.function.known:
        return None
    if expr.function.names_keys:
        return Taken((), (), lambda made: rewrite(expr, made.get))
    if expr.order_by or expr.ignore_nulls:
        return None
    if expr.distinct:
        # Of the same set of values Spark makes the same, however often each of them is there.
        whole = expr.filter is None
        return Taken(expr.args, (), lambda made: rewrite(expr, made.get)) if whole else None
    taker = _TAKERS.get(expr.function.name)
    if taker is None or len(expr.args) > 1:
        return None
    parts, merge = taker(expr, type_of) or ((), None)
    if merge is None:
        return None
    return Taken((), parts, lambda made: merge([made[part] for part in parts]))


Merge = Callable[[Sequence[Column]], Expr]
Steps = tuple[tuple[Call, ...], Merge]


def _count(call: Call, type_of: TypeOf) -> Steps | None:
    counted = call
    if call.args and isinstance(call.args[0], Literal):
        if call.args[0].value is None:
            return None
        counted = replace(call, args=())
    return (_part("count", counted, BIGINT),), lambda made: _total(call, made[0])


def _count_if(call: Call, type_of: TypeOf) -> Steps | None:
    (test,) = call.args
    if call.filter is not None:
        test = Call(function=operator("and"), args=(test, call.filter), dtype=BOOLEAN)
    counted = replace(call, args=(), filter=test)
    return (_part("count", counted, BIGINT),), lambda made: _total(call, made[0])


def _total(call: Call, counts: Column) -> Expr:
    """Of no rows at all there is a count, too."""
    none = Literal(text="0L", value=0, dtype=BIGINT)
    summed = _merged("sum", counts, BIGINT)
    return Call(function=_function("coalesce"), args=(summed, none), dtype=call.dtype)


def _sum(call: Call, type_of: TypeOf) -> Steps | None:
    dtype = _sum_type(type_of(call.args[0]))
    if dtype is None:
        return None

    def merge(made: Sequence[Column]) -> Expr:
        if isinstance(dtype, Decimal):  # of a sum's type Spark makes a wider one
            return Cast(operand=_merged("sum", made[0], UNKNOWN), to=dtype.sql(), dtype=call.dtype)
        return _merged("sum", made[0], call.dtype)

    return (_part("sum", call, dtype),), merge


_MOST_DIGITS = 38


def _sum_type(dtype: DataType) -> DataType | None:
    if dtype in INTEGRAL:
        return BIGINT
    if dtype in (FLOAT, DOUBLE):
        return DOUBLE
    if isinstance(dtype, Decimal):
        return Decimal(min(dtype.precision + 10, _MOST_DIGITS), dtype.scale)
    return None


def _avg(call: Call, type_of: TypeOf) -> Steps | None:
    (arg,) = call.args
    dtype = type_of(arg)
    if isinstance(dtype, Decimal):
        return _decimal_avg(call, dtype)
    if dtype not in (*INTEGRAL, FLOAT, DOUBLE):
        return None
    number = arg if dtype == DOUBLE else Cast(operand=arg, to="DOUBLE", dtype=DOUBLE)
    parts = (
        _part("sum", replace(call, args=(number,)), DOUBLE),
        _part("count", call, BIGINT),
    )

    def merge(made: Sequence[Column]) -> Expr:
        none = Literal(text="0L", value=0, dtype=BIGINT)
        count = _merged("sum", made[1], BIGINT)
        # Of nothing there is no average, and in ANSI mode no division by zero.
        some = Call(function=_function("nullif"), args=(count, none), dtype=BIGINT)
        total = _merged("sum", made[0], DOUBLE)
        return Call(function=operator("/"), args=(total, some), dtype=call.dtype)

    return parts, merge


_AVERAGED = Decimal(20, 4)
"""No more digits than these, before the point and behind it, or the quotient may not be exact."""


def _decimal_avg(call: Call, dtype: Decimal) -> Steps | None:
    whole = dtype.precision - dtype.scale
    if dtype.scale > _AVERAGED.scale or whole + _AVERAGED.scale > _AVERAGED.precision:
        return None
    summed = Decimal(dtype.precision + 10, dtype.scale)
    parts = (_part("sum", call, summed), _part("count", call, BIGINT))

    def merge(made: Sequence[Column]) -> Expr:
        none = Literal(text="0L", value=0, dtype=BIGINT)
        count = _merged("sum", made[1], BIGINT)
        some = Call(function=_function("nullif"), args=(count, none), dtype=BIGINT)
        total = _cast(_merged("sum", made[0], UNKNOWN), summed)
        return _quotient(total, _cast(some, Decimal(20, 0)), dtype)

    return parts, merge


def _quotient(total: Expr, count: Expr, dtype: Decimal) -> Expr:
    """A sum by a count, as Spark rounds an average: once, to four digits more than values have.

    `/` rounds as well, and to fewer digits the more there are before the point. So what can be
    divided without a rest goes first, and the rest has a quotient of 18 digits behind the point:
    that is enough to tell on which side of a half it lies, for counts up to ten thousand million.
    """
    scale = dtype.scale + 4
    rest = _operation("%", total, count)
    whole = _operation("/", _operation("-", total, rest), count)
    part = _cast(_operation("/", rest, count), Decimal(scale + 1, scale))
    made = _operation("+", _cast(whole, Decimal(dtype.precision - dtype.scale + 1, 0)), part)
    return _cast(made, Decimal(dtype.precision + 4, scale))


def _operation(name: str, left: Expr, right: Expr) -> Expr:
    return Call(function=operator(name), args=(left, right), dtype=UNKNOWN)


def _cast(expr: Expr, to: DataType) -> Expr:
    return Cast(operand=expr, to=to.sql(), dtype=to)


def _extreme(name: str) -> Callable[[Call, TypeOf], Steps | None]:
    def take(call: Call, type_of: TypeOf) -> Steps | None:
        dtype = type_of(call.args[0])
        if not is_scalar(dtype):
            return None
        return (_part(name, call, dtype),), lambda made: _merged(name, made[0], call.dtype)

    return take


_TAKERS: dict[str, Callable[[Call, TypeOf], Steps | None]] = {
    "count": _count,
    "count_if": _count_if,
    "sum": _sum,
    "avg": _avg,
    "mean": _avg,
    "min": _extreme("min"),
    "max": _extreme("max"),
    "bool_and": _extreme("min"),
    "every": _extreme("min"),
    "bool_or": _extreme("max"),
    "any": _extreme("max"),
    "some": _extreme("max"),
}


def _part(name: str, call: Call, dtype: DataType) -> Call:
    return Call(
        function=_function(name), args=call.args, filter=call.filter, dtype=dtype, span=call.span
    )


def _merged(name: str, column: Column, dtype: DataType) -> Call:
    return Call(function=_function(name), args=(column,), dtype=dtype)


def _function(name: str) -> Function:
    found = builtin_functions().find(name)
    if found is None:
        raise InternalError(f"no function {name}")
    return found
