"""Our types as Arrow types, exactly as Spark expects them from a Python data source."""

from __future__ import annotations

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
