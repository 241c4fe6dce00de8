"""Variances and deviations in two steps: moments, merged in pairs as Spark merges its own.

    stddev(x)     count(x), avg(x), regr_sxx(x, x)     the root of merge_squares(..) / (sum(..) - 1)

`regr_sxx(x, x)` is the sum of squared distances from the mean. That of several tasks together also
depends on how far apart their means are, which no aggregate of Spark's says: a lambda does, over
the list of a group's moments. That list is short, for readers fold such parts whatever it costs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from narrows.expressions.function import Function, Kind
from narrows.expressions.nodes import Call, Column, Expr, Literal
from narrows.functions.results import fixed
from narrows.physical.in_reader.partial_steps import (
    NONE,
    SQUARES,
    Steps,
    TypeOf,
    beside,
    called,
    merged,
    number,
    operation,
    part_of,
)
from narrows.schema import BIGINT, DOUBLE, FLOAT, INTEGRAL

_ONE = Literal(text="1L", value=1, dtype=BIGINT)


def spread(*, sample: bool, root: bool) -> Callable[[Call, TypeOf], Steps | None]:
    """Of a sample, or of all there is; the deviation, or its square."""

    def take(call: Call, type_of: TypeOf) -> Steps | None:
        (arg,) = call.args
        dtype = type_of(arg)
        if dtype not in (*INTEGRAL, FLOAT, DOUBLE):
            return None
        value = number(arg, dtype)
        squares = part_of(SQUARES, call, (value, value), DOUBLE)

        def merge(made: Sequence[Column]) -> Expr:
            count: Expr = merged("sum", made[0], BIGINT)
            if sample:
                count = operation("-", count, _ONE, dtype=BIGINT)
            # Of nothing there is no variance, nor of a sample of one; squares of nothing are NULL.
            some = called("nullif", count, NONE, dtype=BIGINT)
            together = Call(function=MERGE_SQUARES, args=tuple(made), dtype=DOUBLE)
            variance = operation("/", together, some, dtype=DOUBLE)
            return called("sqrt", variance, dtype=call.dtype) if root else variance

        return (*beside(squares), squares), merge

    return take


def _written(args: Sequence[str]) -> str:
    """As Spark merges moments, but for the first of them: there it would round the mean."""
    count, mean, squares = args
    part = _moments(f"CAST({count} AS DOUBLE)", mean, squares)
    apart = "(q.avg - p.avg)"
    both = _moments(
        "p.n + q.n",
        f"p.avg + {apart} / (p.n + q.n) * q.n",
        f"p.m2 + q.m2 + {apart} * ({apart} / (p.n + q.n)) * p.n * q.n",
    )
    return (
        f"aggregate(collect_list({part}) FILTER (WHERE {count} > 0), {_moments('0D', '0D', '0D')},"
        f" (p, q) -> if(p.n > 0, {both}, q), p -> if(p.n > 0, p.m2, NULL))"
    )


def _moments(count: str, mean: str, squares: str) -> str:
    return f"named_struct('n', {count}, 'avg', {mean}, 'm2', {squares})"


MERGE_SQUARES = Function(
    "merge_squares", Kind.AGGREGATE, 3, 3, result=fixed(DOUBLE), in_spark=_written
)
"""The squares of parts together, of how many values these are, their means and their squares; NULL
where there are no values."""
