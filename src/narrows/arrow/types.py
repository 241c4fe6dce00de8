"""Our types as Arrow types, exactly as Spark expects them from a Python data source; and the other
way round, for files that say of which types they are."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from narrows.errors import InternalError
from narrows.schema import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    Array,
    DataType,
    Decimal,
    Field,
    Map,
    Struct,
)

_SCALARS: dict[DataType, pa.DataType] = {
    BOOLEAN: pa.bool_(),
    TINYINT: pa.int8(),
    SMALLINT: pa.int16(),
    INT: pa.int32(),
    BIGINT: pa.int64(),
    FLOAT: pa.float32(),
    DOUBLE: pa.float64(),
    STRING: pa.string(),
    BINARY: pa.binary(),
    DATE: pa.date32(),
    TIMESTAMP: pa.timestamp("us", tz="UTC"),
}


def arrow_type(dtype: DataType) -> pa.DataType:
    match dtype:
        case Decimal(precision, scale):
            return pa.decimal128(precision, scale)
        case Struct(members):
            return pa.struct([pa.field(m.name, arrow_type(m.type)) for m in members])
        case Array(element):
            return pa.list_(pa.field("element", arrow_type(element)))
        case Map(key, value):
            return pa.map_(arrow_type(key), arrow_type(value))
        case _:
            found = _SCALARS.get(dtype)
            if found is None:
                raise InternalError(f"no Arrow type for {dtype}")
            return found


_OURS = {arrow: ours for ours, arrow in _SCALARS.items()}
_WIDENED = {
    pa.uint8(): SMALLINT,
    pa.uint16(): INT,
    pa.uint32(): BIGINT,
    pa.large_string(): STRING,
    pa.large_binary(): BINARY,
}


def our_type(dtype: pa.DataType) -> DataType | None:
    """A type of Arrow's as ours; None where we have none for it."""
    if pa.types.is_timestamp(dtype):
        return TIMESTAMP
    if pa.types.is_decimal128(dtype):
        return Decimal(dtype.precision, dtype.scale)
    if pa.types.is_dictionary(dtype):
        return our_type(dtype.value_type)
    if pa.types.is_struct(dtype):
        return our_struct(dtype)
    if pa.types.is_list(dtype) or pa.types.is_large_list(dtype):
        element = our_type(dtype.value_type)
        return None if element is None else Array(element)
    if pa.types.is_map(dtype):
        key, value = our_type(dtype.key_type), our_type(dtype.item_type)
        return None if key is None or value is None else Map(key, value)
    return _OURS.get(dtype) or _WIDENED.get(dtype)


def our_struct(fields: Iterable[pa.Field]) -> Struct:
    """The fields whose types we have."""
    found = ((field.name, our_type(field.type)) for field in fields)
    return Struct(tuple(Field(name, dtype) for name, dtype in found if dtype is not None))
