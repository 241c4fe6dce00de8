"""Our types as Spark's, and the other way round."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import types as T  # noqa: N812

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
    Scalar,
    Struct,
)

_SCALARS: dict[DataType, T.DataType] = {
    BOOLEAN: T.BooleanType(),
    TINYINT: T.ByteType(),
    SMALLINT: T.ShortType(),
    INT: T.IntegerType(),
    BIGINT: T.LongType(),
    FLOAT: T.FloatType(),
    DOUBLE: T.DoubleType(),
    STRING: T.StringType(),
    BINARY: T.BinaryType(),
    DATE: T.DateType(),
    TIMESTAMP: T.TimestampType(),
}


def spark_type(dtype: DataType) -> T.DataType:
    match dtype:
        case Decimal(precision, scale):
            return T.DecimalType(precision, scale)
        case Struct(members):
            return spark_struct((m.name, m.type) for m in members)
        case Array(element):
            return T.ArrayType(spark_type(element))
        case Map(key, value):
            return T.MapType(spark_type(key), spark_type(value))
        case _:
            found = _SCALARS.get(dtype)
            if found is None:
                raise InternalError(f"no Spark type for {dtype}")
            return found


_OURS = {spark: ours for ours, spark in _SCALARS.items()}


def our_type(dtype: T.DataType) -> DataType:
    """A type of Spark's as ours. One that we do not have is known by its name."""
    match dtype:
        case T.DecimalType():
            return Decimal(dtype.precision, dtype.scale)
        case T.StructType():
            return Struct(tuple(Field(part.name, our_type(part.dataType)) for part in dtype))
        case T.ArrayType():
            return Array(our_type(dtype.elementType))
        case T.MapType():
            return Map(our_type(dtype.keyType), our_type(dtype.valueType))
        case _:
            return _OURS.get(dtype) or Scalar(dtype.simpleString().upper())


def spark_struct(fields: Iterable[tuple[str, DataType]]) -> T.StructType:
    return T.StructType([T.StructField(name, spark_type(dtype)) for name, dtype in fields])
