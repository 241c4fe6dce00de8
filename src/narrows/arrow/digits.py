"""DECIMALs that are told to have more digits, or fewer: no number changes, nor is looked at."""

from __future__ import annotations

import pyarrow as pa


def of_type(values: pa.Array, dtype: pa.DataType) -> pa.Array:
    """The values in a type that has room for all of them."""
    if values.type == dtype:
        return values
    if _has_room(values.type, dtype):
        return with_digits(values, dtype.precision)
    return values.cast(dtype)


def with_digits(values: pa.Array, digits: int) -> pa.Array:
    """The same DECIMALs as such of so many digits, which they must not exceed. A cast would go
    through all of them to see."""
    return values.view(pa.decimal128(digits, values.type.scale))


def _has_room(dtype: pa.DataType, other: pa.DataType) -> bool:
    if not (pa.types.is_decimal128(dtype) and pa.types.is_decimal128(other)):
        return False
    return bool(dtype.scale == other.scale and dtype.precision <= other.precision)
