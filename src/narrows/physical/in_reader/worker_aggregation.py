"""What a reader can aggregate: from bound expressions to `projection.partial_aggregation`."""

from __future__ import annotations

from collections.abc import Sequence

from narrows.expressions.nodes import Call, Expr
from narrows.logical.nodes import NamedExpr
from narrows.physical.in_reader.partial_steps import SQUARES, beside
from narrows.physical.in_reader.worker_predicate import (
    leaf_test,
    leaf_value,
    worker_predicate,
    worker_value,
)
from narrows.projection.columns import DecodeProjection
from narrows.projection.partial_aggregation import Fold, FoldKind, PartialAggregation
from narrows.schema import UNKNOWN, VOID, DataType

_KINDS = {
    "count": FoldKind.COUNT,
    "sum": FoldKind.SUM,
    "min": FoldKind.MIN,
    "max": FoldKind.MAX,
    "max_by": FoldKind.MAX_BY,
    "min_by": FoldKind.MIN_BY,
    "first": FoldKind.FIRST,
    "any_value": FoldKind.FIRST,
    "last": FoldKind.LAST,
    "avg": FoldKind.MEAN,
    SQUARES: FoldKind.SQUARES,
}
_OF_WHAT_IS_THERE = {FoldKind.FIRST: FoldKind.FIRST_VALID, FoldKind.LAST: FoldKind.LAST_VALID}


def computed_type(expr: Expr, relation: int, *, ansi: bool) -> DataType | None:
    """The type of a value that a reader of this relation can compute itself; None if it cannot, or
    it is not what the value was bound as, or no column can hold it: NULL."""
    value = leaf_value(expr, relation, ansi=ansi)
    if value is None or value.dtype == VOID:
        return None
    return value.dtype if expr.dtype in (value.dtype, UNKNOWN) else None


def can_compute(expr: Expr, relation: int, *, ansi: bool) -> bool:
    """Whether a reader of this relation can compute a key."""
    return expr.dtype == computed_type(expr, relation, ansi=ansi)


def can_fold(call: Call, relation: int, *, ansi: bool) -> bool:
    """Whether it can compute this aggregate of its rows."""
    tested = call.filter is None or leaf_test(call.filter, relation, ansi=ansi) is not None
    return tested and all(computed_type(arg, relation, ansi=ansi) for arg in call.args)


def worker_aggregation(
    keys: Sequence[NamedExpr],
    calls: Sequence[NamedExpr],
    relation: int,
    projection: DecodeProjection,
    names: Sequence[str],
) -> PartialAggregation:
    """Keys and calls of a partial aggregation, over the columns of its reader's projection."""

    parts = [expr for _, expr in calls]

    def fold(expr: Expr) -> Fold:
        assert isinstance(expr, Call)
        value = worker_value(expr.args[0], relation, projection).value if expr.args else None
        tests = () if expr.filter is None else (expr.filter,)
        test = worker_predicate(tests, relation, projection)
        kind = _KINDS[expr.function.name]
        kind = _OF_WHAT_IS_THERE[kind] if expr.ignore_nulls else kind
        places = tuple(parts.index(other) for other in beside(expr))
        return Fold(kind, value, expr.dtype, test, places)

    return PartialAggregation(
        keys=tuple(worker_value(expr, relation, projection) for _, expr in keys),
        folds=tuple(map(fold, parts)),
        names=tuple(names),
    )
