"""Aggregates that a window can keep up to date itself, where its rows cut it.

Windows that Spark cuts are Spark's to aggregate. The others are cut in Python, one key's rows after
the other, and there `stateful/folds` gives what Spark would give for the same rows. What it does
not have - collected lists, percentiles, `sum(DISTINCT x)` - Spark makes of the rows, which the
window then keeps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from narrows.expressions.nodes import (
    Call,
    Cast,
    Column,
    ElementAccess,
    Expr,
    FieldAccess,
    Literal,
    walk,
)
from narrows.expressions.text import expression_text
from narrows.logical.nodes import Aggregation, Node, RetractingAggregation, Window
from narrows.logical.streaming.retractions import is_operation
from narrows.logical.walk import topological
from narrows.schema import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INTEGRAL,
    SCALARS,
    UNKNOWN,
    DataType,
    Decimal,
)
from narrows.stateful.folds.chosen import (
    Extreme,
    First,
    FirstPresent,
    Last,
    LastPresent,
    LastRow,
)
from narrows.stateful.folds.counts import Count, CountDistinct, CountTrue
from narrows.stateful.folds.fold import Fold
from narrows.stateful.folds.spread import Spread
from narrows.stateful.folds.sums import Average, DecimalAverage, DecimalSum, FloatSum, WholeSum
from narrows.stateful.windows.window import RowWindow

_MOST_DIGITS = 38
_FLOATING: tuple[DataType, ...] = (FLOAT, DOUBLE)


class Folded(NamedTuple):
    """How an aggregate is folded, and the type of what comes out."""

    fold: Fold
    dtype: DataType


def why_not_folded(aggregation: Aggregation, window: Window, *, ansi: bool) -> str | None:
    """Why a window that rows cut has to keep them for this aggregation; None if it need not."""
    kind = window.kind
    assert issubclass(kind, RowWindow)
    if kind.folds_to is None:
        return f"`{kind.name}` keeps its rows until it closes"
    if aggregation.sets is not None:
        return "several groupings need all rows of a window"
    looked_at = []
    for _, key in aggregation.keys:
        if not can_be_carried(key.dtype):
            return f"`{expression_text(key)}` is no scalar, and groups rows"
        looked_at.append(key)
    for _, call in aggregation.calls:
        if not isinstance(call, Call) or folded(call, ansi=ansi) is None:
            return f"`{expression_text(call)}` needs all rows of a window"
        looked_at += [*call.args, *(() if call.filter is None else (call.filter,))]
    if not kind.takes_every_row:
        for expr in looked_at:
            if _may_fail(expr, ansi=ansi):
                return f"`{expression_text(expr)}` may fail in rows that are in no window"
    return None


def why_not_retracted(plan: Node) -> str | None:
    """Why a pipeline cannot take back rows that it has written of groups; None if it can."""
    for node in topological(plan):
        if not isinstance(node, RetractingAggregation):
            continue
        for _, key in node.keys:
            if not can_be_carried(key.dtype):
                return f"`{expression_text(key)}` is no scalar, and groups rows"
        for _, call in node.calls:
            if is_operation(call):
                continue
            if isinstance(call, Call) and call.distinct:
                return f"`{expression_text(call)}` would keep all values for ever"
            if not isinstance(call, Call) or folded(call, ansi=False) is None:
                return f"`{expression_text(call)}` needs all rows of a group"
    return None


def can_be_carried(dtype: DataType) -> bool:
    """Are its values the same in Python, and equal there when Spark says so?"""
    return dtype in SCALARS or isinstance(dtype, Decimal)


def folded(call: Call, *, ansi: bool) -> Folded | None:
    """How a call is folded; None for one that is not."""
    if call.order_by or not call.function.known:
        return None
    found = _distinct(call) if call.distinct else _plain(call, ansi=ansi)
    if found is None or call.dtype not in (found.dtype, UNKNOWN):
        return None
    if found.fold.takes_null and call.filter is not None:
        return None
    return found


def _distinct(call: Call) -> Folded | None:
    if call.function.name != "count" or len(call.args) != 1 or call.ignore_nulls:
        return None
    return Folded(CountDistinct(), BIGINT) if can_be_carried(call.args[0].dtype) else None


def _plain(call: Call, *, ansi: bool) -> Folded | None:
    name = call.function.name
    if name == "count":
        return None if call.ignore_nulls else Folded(Count(), BIGINT)
    if len(call.args) != 1:
        return None
    (arg,) = call.args
    if call.function.by_order or name in _FIRST or name in _LAST:
        fold = _chosen(call)
        return Folded(fold, arg.dtype) if can_be_carried(arg.dtype) else None
    taker = _TAKERS.get(name)
    return None if taker is None or call.ignore_nulls else taker(call, arg.dtype, ansi)


_FIRST = frozenset({"first", "first_value", "any_value"})
_LAST = frozenset({"last", "last_value"})


def _chosen(call: Call) -> Fold:
    if call.function.by_order:
        return LastRow()
    if call.function.name in _FIRST:
        return FirstPresent() if call.ignore_nulls else First()
    return LastPresent() if call.ignore_nulls else Last()


def _sum(call: Call, dtype: DataType, ansi: bool) -> Folded | None:
    if dtype in INTEGRAL:
        return Folded(WholeSum(wraps=not ansi, text=expression_text(call)), BIGINT)
    if dtype in _FLOATING:
        return Folded(FloatSum(), DOUBLE)
    if isinstance(dtype, Decimal) and dtype.precision + 10 <= _MOST_DIGITS:
        return Folded(DecimalSum(), Decimal(dtype.precision + 10, dtype.scale))
    return None


def _average(call: Call, dtype: DataType, ansi: bool) -> Folded | None:
    if dtype in INTEGRAL or dtype in _FLOATING:
        return Folded(Average(), DOUBLE)
    if isinstance(dtype, Decimal) and dtype.precision + 10 <= _MOST_DIGITS:
        made = Decimal(dtype.precision + 4, dtype.scale + 4)
        return Folded(DecimalAverage(made.scale), made)
    return None


def _extreme(*, largest: bool) -> Callable[[Call, DataType, bool], Folded | None]:
    def take(call: Call, dtype: DataType, ansi: bool) -> Folded | None:
        return Folded(Extreme(largest), dtype) if can_be_carried(dtype) else None

    return take


def _every(*, largest: bool) -> Callable[[Call, DataType, bool], Folded | None]:
    def take(call: Call, dtype: DataType, ansi: bool) -> Folded | None:
        return Folded(Extreme(largest), BOOLEAN) if dtype == BOOLEAN else None

    return take


def _spread(*, sample: bool, root: bool) -> Callable[[Call, DataType, bool], Folded | None]:
    def take(call: Call, dtype: DataType, ansi: bool) -> Folded | None:
        numbers = dtype in INTEGRAL or dtype in _FLOATING
        return Folded(Spread(sample, root), DOUBLE) if numbers else None

    return take


def _count_if(call: Call, dtype: DataType, ansi: bool) -> Folded | None:
    return Folded(CountTrue(), BIGINT) if dtype == BOOLEAN else None


_TAKERS: dict[str, Callable[[Call, DataType, bool], Folded | None]] = {
    "count_if": _count_if,
    "sum": _sum,
    "avg": _average,
    "mean": _average,
    "min": _extreme(largest=False),
    "max": _extreme(largest=True),
    "bool_and": _every(largest=False),
    "every": _every(largest=False),
    "bool_or": _every(largest=True),
    "any": _every(largest=True),
    "some": _every(largest=True),
    "std": _spread(sample=True, root=True),
    "stddev": _spread(sample=True, root=True),
    "stddev_samp": _spread(sample=True, root=True),
    "stddev_pop": _spread(sample=False, root=True),
    "variance": _spread(sample=True, root=False),
    "var_samp": _spread(sample=True, root=False),
    "var_pop": _spread(sample=False, root=False),
}


def _may_fail(expr: Expr, *, ansi: bool) -> bool:
    """May it be an error for some row? In ANSI mode any operator may overflow."""
    for part in walk(expr):
        if isinstance(part, (Column, FieldAccess, ElementAccess, Literal)):
            continue
        operator = isinstance(part, Cast) or (
            isinstance(part, Call) and part.function.syntax is not None
        )
        if ansi or not operator:
            return True
    return False
