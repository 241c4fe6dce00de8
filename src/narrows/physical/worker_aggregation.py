"""What a reader can aggregate: from bound expressions to `projection.partial_aggregation`."""

from __future__ import annotations

from collections.abc import Sequence

from narrows.expressions.nodes import Call, Expr
from narrows.logical.nodes import NamedExpr
from narrows.physical.worker_predicate import (
    leaf_test,
    leaf_value,
    worker_predicate,
    worker_value,
)
from narrows.projection.columns import DecodeProjection
from narrows.projection.partial_aggregation import Fold, FoldKind, PartialAggregation
from narrows.schema import UNKNOWN, DataType

_KINDS = {kind.value: kind for kind in FoldKind}


def computed_type(expr: Expr, relation: int, *, ansi: bool) -> DataType | None:
    """The type of a value that a reader of this relation can compute itself; None if it cannot, or
    it is not what the value was bound as."""
    value = leaf_value(expr, relation, ansi=ansi)
    known = value is not None and expr.dtype in (value.dtype, UNKNOWN)
    return value.dtype if value is not None and known else None


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

    def fold(expr: Expr) -> Fold:
        assert isinstance(expr, Call)
        value = worker_value(expr.args[0], relation, projection).value if expr.args else None
        tests = () if expr.filter is None else (expr.filter,)
        test = worker_predicate(tests, relation, projection)
        return Fold(_KINDS[expr.function.name], value, expr.dtype, test)

    return PartialAggregation(
        keys=tuple(worker_value(expr, relation, projection) for _, expr in keys),
        folds=tuple(fold(expr) for _, expr in calls),
        names=tuple(names),
    )
