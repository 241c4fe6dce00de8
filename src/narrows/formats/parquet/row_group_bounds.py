"""Which row groups of a Parquet file a test can hold in, by their least and greatest values."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from decimal import Decimal

import pyarrow.parquet

from narrows.projection.columns import Aspect, DecodeProjection
from narrows.projection.predicate import And, Compare, Constant, IsIn, Or, Predicate
from narrows.projection.values import ColumnValue

Bounds = Callable[[int], tuple[Constant, Constant] | None]
"""The least and greatest value of a column of the projection; None where they are not known."""

_COMPARABLE = (int, str, date, Decimal)


def bounds_of(group: pyarrow.parquet.RowGroupMetaData, projection: DecodeProjection) -> Bounds:
    names = {group.column(place).path_in_schema: place for place in range(group.num_columns)}

    def bounds(column: int) -> tuple[Constant, Constant] | None:
        wanted = projection.columns[column]
        place = names.get(str(wanted.path[0])) if len(wanted.path) == 1 else None
        if place is None or wanted.aspect is not Aspect.VALUE:
            return None
        statistics = group.column(place).statistics
        if statistics is None or not statistics.has_min_max:
            return None
        return statistics.min, statistics.max

    return bounds


def may_hold(predicate: Predicate, bounds: Bounds) -> bool:
    """False only if the test is certainly true for no row."""
    match predicate:
        case And(parts):
            return all(may_hold(part, bounds) for part in parts)
        case Or(parts):
            return any(may_hold(part, bounds) for part in parts)
        case Compare(ColumnValue(column), operator, constant):
            known = bounds(column)
            return known is None or _may_compare(operator, constant, *known)
        case IsIn(ColumnValue(column), constants):
            known = bounds(column)
            return known is None or any(_may_compare("=", one, *known) for one in constants)
        case _:
            return True


def _may_compare(operator: str, constant: Constant, low: Constant, high: Constant) -> bool:
    same = type(constant) is type(low) is type(high)
    if not same or not isinstance(constant, _COMPARABLE) or isinstance(constant, bool):
        return True  # floating point has NaN, which no bound tells of
    match operator:
        case "=":
            return low <= constant <= high  # type: ignore[operator]
        case "<":
            return low < constant  # type: ignore[operator]
        case "<=":
            return low <= constant  # type: ignore[operator]
        case ">":
            return high > constant  # type: ignore[operator]
        case ">=":
            return high >= constant  # type: ignore[operator]
        case _:
            return True
