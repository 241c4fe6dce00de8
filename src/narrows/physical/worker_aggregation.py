"""What a reader can aggregate: from bound expressions to `projection.partial_aggregation`.

Keys and arguments are scalar leaves of the source, numbers of these cast to wider types, and tests
that a reader runs; of everything else nobody has shown that Arrow computes what Spark does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from narrows.expressions.nodes import Call, Cast, Expr
from narrows.logical.nodes import NamedExpr
from narrows.physical.paths import source_path
from narrows.physical.worker_predicate import ColumnPlace, leaf_test, placed_test, worker_predicate
from narrows.projection.columns import Aspect, DecodeProjection, Path
from narrows.projection.partial_aggregation import (
    CastValue,
    ColumnValue,
    Fold,
    FoldKind,
    PartialAggregation,
    Truth,
    Value,
)
from narrows.schema import BIGINT, DOUBLE, FLOAT, INTEGRAL, DataType, is_scalar

_KINDS = {kind.value: kind for kind in FoldKind}


def can_compute(expr: Expr, relation: int) -> bool:
    """Whether a reader of this relation can compute the value itself."""
    return _value(expr, relation, lambda path: 0) is not None


def can_fold(call: Call, relation: int) -> bool:
    """Whether it can compute this aggregate of its rows."""
    tested = call.filter is None or leaf_test(call.filter, relation) is not None
    return tested and all(can_compute(arg, relation) for arg in call.args)


def worker_aggregation(
    keys: Sequence[NamedExpr],
    calls: Sequence[NamedExpr],
    relation: int,
    projection: DecodeProjection,
    names: Sequence[str],
) -> PartialAggregation:
    """Keys and calls of a partial aggregation, over the columns of its reader's projection."""
    of_rows = _Folds(relation, projection)
    return PartialAggregation(
        keys=tuple((of_rows.value(expr), expr.dtype) for _, expr in keys),
        folds=tuple(of_rows.fold(expr) for _, expr in calls),
        names=tuple(names),
    )


@dataclass(frozen=True)
class _Folds:
    relation: int
    projection: DecodeProjection

    def fold(self, expr: Expr) -> Fold:
        assert isinstance(expr, Call)
        value = self.value(expr.args[0]) if expr.args else None
        tests = () if expr.filter is None else (expr.filter,)
        test = worker_predicate(tests, self.relation, self.projection)
        return Fold(_KINDS[expr.function.name], value, expr.dtype, test)

    def value(self, expr: Expr) -> Value:
        def place(path: Path) -> int:
            return self.projection.by_place[path, Aspect.VALUE]

        found = _value(expr, self.relation, place)
        assert found is not None, expr
        return found


def _value(expr: Expr, relation: int, place: ColumnPlace) -> Value | None:
    if isinstance(expr, Cast):
        inner = _value(expr.operand, relation, place)
        widens = inner is not None and _widens(expr.operand.dtype, expr.dtype)
        return CastValue(inner, expr.dtype) if inner is not None and widens else None
    path = source_path(expr, relation)
    if path is not None:
        return ColumnValue(place(path)) if is_scalar(expr.dtype) else None
    test = placed_test(expr, relation, place)
    return None if test is None else Truth(test)


def _widens(dtype: DataType, to: DataType) -> bool:
    """Casts that fail for no number, in no mode of Spark's."""
    if to == DOUBLE:
        return dtype in (*INTEGRAL, FLOAT, DOUBLE)
    return to == BIGINT and dtype in INTEGRAL
