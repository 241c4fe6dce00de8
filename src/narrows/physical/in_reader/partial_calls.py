"""Aggregates in two steps: what each task makes of its rows, and how Spark merges what they made.

    count(*)      count(*)                 coalesce(sum(..), 0)
    sum(x)        sum(x)                   sum(..), as large as Spark makes a sum of x
    min(x)        min(x)                   min(..)
    avg(x)        sum of DOUBLEs, count    sum(..) / sum(..)
    avg(x)        sum of DECIMALs, count   the same, rounded once (`_quotient`)

and so on: `partial_chosen.py` has those that take the value of a row, `partial_moments.py`
variances and deviations. What is merged is what Spark itself keeps for an aggregate while it runs,
so the order of additions is all that may differ, which it does in Spark from run to run, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from narrows.expressions.nodes import Call, Column, Expr, Literal, rewrite
from narrows.physical.in_reader.partial_chosen import by_place, extreme, extreme_by
from narrows.physical.in_reader.partial_moments import MERGE_SQUARES, spread
from narrows.physical.in_reader.partial_steps import (
    NONE,
    Steps,
    TypeOf,
    called,
    cast,
    merged,
    number,
    operation,
    part_of,
)
from narrows.schema import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INTEGRAL,
    UNKNOWN,
    DataType,
    Decimal,
)


class Taken(NamedTuple):
    """An aggregate, taken apart."""

    keys: tuple[Expr, ...]
    """What rows are told apart by, beside the keys of their groups."""
    parts: tuple[Call, ...]
    """What each task computes."""
    merge: Callable[[Mapping[Expr, Column]], Expr]
    """The aggregate, of columns that hold keys and parts."""
    by_order: bool = False
    """Does it go by the order of rows? Groups keep that, but not parts of several groups."""


def take_apart(expr: Expr, type_of: TypeOf) -> Taken | None:
    """The two steps of an aggregate; None for one that has no such steps, or none known."""
    if not isinstance(expr, Call) or not expr.function.known:
        return None
    if expr.function.names_keys:
        return Taken((), (), lambda made: rewrite(expr, made.get))
    if expr.order_by:
        return None
    if expr.distinct:
        # Of the same set of values Spark makes the same, however often each of them is there.
        whole = expr.filter is None and not expr.ignore_nulls
        return Taken(expr.args, (), lambda made: rewrite(expr, made.get)) if whole else None
    if expr.function.name in _OF_A_SET:
        return _of_a_set(expr)
    return _in_steps(expr, type_of)


def _in_steps(call: Call, type_of: TypeOf) -> Taken | None:
    name = call.function.name
    taker = _TAKERS.get(name)
    if taker is None or len(call.args) > (2 if name in _OF_TWO else 1):
        return None
    if call.ignore_nulls and name not in _BY_PLACE:
        return None
    parts, merge = taker(call, type_of) or ((), None)
    if merge is None:
        return None
    by_order = name in _BY_PLACE and name != "any_value"
    return Taken((), parts, lambda made: merge([made[part] for part in parts]), by_order)


def _of_a_set(call: Call) -> Taken | None:
    """What is made of a set of values needs each of them once: it becomes a key, NULL in rows that
    do not count, as it would be there."""
    value, *settings = call.args
    if call.ignore_nulls:
        return None
    if call.filter is not None:
        value = operation("case", call.filter, value, dtype=value.dtype)

    def merge(made: Mapping[Expr, Column]) -> Expr:
        return replace(call, args=(made[value], *settings), filter=None)

    return Taken((value,), (), merge)


_MERGING = frozenset({"sum", "min", "max", "max_by", "min_by", "any_value"})


def merged_part(call: Call) -> Column | None:
    """The part that a call merges, which is what it comes to where there is one of each. It is not
    said of `first` and `last`: whose parts come when, only Spark's rows tell."""
    columns = [arg for arg in call.args if isinstance(arg, Column)]
    if not columns or len(columns) < len(call.args):
        return None
    if call.function == MERGE_SQUARES:
        return columns[-1]
    return columns[0] if call.function.name in _MERGING else None


def _count(call: Call, type_of: TypeOf) -> Steps | None:
    counted = call
    if call.args and isinstance(call.args[0], Literal):
        if call.args[0].value is None:
            return None
        counted = replace(call, args=())
    return (part_of("count", counted, counted.args, BIGINT),), lambda made: _total(call, made[0])


def _count_if(call: Call, type_of: TypeOf) -> Steps | None:
    (test,) = call.args
    if call.filter is not None:
        test = operation("and", test, call.filter, dtype=BOOLEAN)
    counted = replace(call, args=(), filter=test)
    return (part_of("count", counted, counted.args, BIGINT),), lambda made: _total(call, made[0])


def _total(call: Call, counts: Column) -> Expr:
    """Of no rows at all there is a count, too."""
    return called("coalesce", merged("sum", counts, BIGINT), NONE, dtype=call.dtype)


def _sum(call: Call, type_of: TypeOf) -> Steps | None:
    dtype = _sum_type(type_of(call.args[0]))
    if dtype is None:
        return None

    def merge(made: Sequence[Column]) -> Expr:
        if isinstance(dtype, Decimal):  # of a sum's type Spark makes a wider one
            return replace(cast(merged("sum", made[0], UNKNOWN), dtype), dtype=call.dtype)
        return merged("sum", made[0], call.dtype)

    return (part_of("sum", call, call.args, dtype),), merge


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
    parts = (
        part_of("sum", call, (number(arg, dtype),), DOUBLE),
        part_of("count", call, call.args, BIGINT),
    )

    def merge(made: Sequence[Column]) -> Expr:
        count = merged("sum", made[1], BIGINT)
        # Of nothing there is no average, and in ANSI mode no division by zero.
        some = called("nullif", count, NONE, dtype=BIGINT)
        total = merged("sum", made[0], DOUBLE)
        return operation("/", total, some, dtype=call.dtype)

    return parts, merge


_AVERAGED = Decimal(20, 4)
"""No more digits than these, before the point and behind it, or the quotient may not be exact."""


def _decimal_avg(call: Call, dtype: Decimal) -> Steps | None:
    whole = dtype.precision - dtype.scale
    if dtype.scale > _AVERAGED.scale or whole + _AVERAGED.scale > _AVERAGED.precision:
        return None
    summed = Decimal(dtype.precision + 10, dtype.scale)
    parts = (part_of("sum", call, call.args, summed), part_of("count", call, call.args, BIGINT))

    def merge(made: Sequence[Column]) -> Expr:
        count = merged("sum", made[1], BIGINT)
        some = called("nullif", count, NONE, dtype=BIGINT)
        total = cast(merged("sum", made[0], UNKNOWN), summed)
        return _quotient(total, cast(some, Decimal(20, 0)), dtype)

    return parts, merge


def _quotient(total: Expr, count: Expr, dtype: Decimal) -> Expr:
    """A sum by a count, as Spark rounds an average: once, to four digits more than values have.

    `/` rounds as well, and to fewer digits the more there are before the point. So what can be
    divided without a rest goes first, and the rest has a quotient of 18 digits behind the point:
    that is enough to tell on which side of a half it lies, for counts up to ten thousand million.
    """
    scale = dtype.scale + 4
    rest = operation("%", total, count)
    whole = operation("/", operation("-", total, rest), count)
    part = cast(operation("/", rest, count), Decimal(scale + 1, scale))
    made = operation("+", cast(whole, Decimal(dtype.precision - dtype.scale + 1, 0)), part)
    return cast(made, Decimal(dtype.precision + 4, scale))


_OF_A_SET = frozenset({"approx_count_distinct"})
_OF_TWO = frozenset({"max_by", "min_by"})
_BY_PLACE = {
    "first": by_place("first"),
    "first_value": by_place("first"),
    "last": by_place("last"),
    "last_value": by_place("last"),
    "any_value": by_place("any_value"),
}
_TAKERS: dict[str, Callable[[Call, TypeOf], Steps | None]] = {
    "count": _count,
    "count_if": _count_if,
    "sum": _sum,
    "avg": _avg,
    "mean": _avg,
    "min": extreme("min"),
    "max": extreme("max"),
    "bool_and": extreme("min"),
    "every": extreme("min"),
    "bool_or": extreme("max"),
    "any": extreme("max"),
    "some": extreme("max"),
    "max_by": extreme_by("max_by"),
    "min_by": extreme_by("min_by"),
    **_BY_PLACE,
    "std": spread(sample=True, root=True),
    "stddev": spread(sample=True, root=True),
    "stddev_samp": spread(sample=True, root=True),
    "stddev_pop": spread(sample=False, root=True),
    "variance": spread(sample=True, root=False),
    "var_samp": spread(sample=True, root=False),
    "var_pop": spread(sample=False, root=False),
}
