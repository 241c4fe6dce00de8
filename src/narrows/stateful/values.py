"""How values compare: as in Spark, where NaN equals itself and is the largest number."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Value = Any
"""A value of a row: None, a scalar, or a nested value as Arrow gives it to Python."""


def same(left: Value, right: Value) -> bool:
    """Is it the same value, NULL and NaN included?"""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[k], right[k]) for k in left)
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(map(same, left, right))
    left, right = _moment(left), _moment(right)
    return bool(left == right) or (_is_nan(left) and _is_nan(right))


def less(left: Value, right: Value) -> bool:
    """Is a value smaller than another, neither of them NULL?"""
    if _is_nan(left):
        return False
    return True if _is_nan(right) else bool(_moment(left) < _moment(right))


def order_key(place: Value) -> tuple[Any, ...]:
    """A sort key of a row's place in its source: a struct, or structs in structs after a join."""
    if isinstance(place, dict):
        return tuple(order_key(part) for part in place.values())
    return (place is not None, place or 0)


def _moment(value: Value) -> Value:
    """A time as it is, whatever clock shows it: of one time zone, Python would compare what clocks
    show, and they show an hour twice when summer ends."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value - _EPOCH
    return value


def _is_nan(value: Value) -> bool:
    return isinstance(value, float) and value != value
