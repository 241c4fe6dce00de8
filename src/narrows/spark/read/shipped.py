"""The columns that leave a reader.

Payloads are read *and decoded* in the executors' Python workers. What leaves are Arrow batches of
the demanded leaves; the payload itself never enters the JVM.
"""

from __future__ import annotations

from pyspark.sql.types import StructType

from narrows.schema import BIGINT, BINARY, BOOLEAN, INT, STRING, Array, DataType
from narrows.spark.sql.types import spark_struct
from narrows.worker.keys.handed_rows import ROWS, TASK
from narrows.worker.read_spec import ROWS_ONLY, Gathered, ReadSpec
from narrows.worker.row_order import ORDER_TYPE


def shipped_schema(spec: ReadSpec) -> StructType:
    """What leaves the reader."""
    end = [] if spec.end is None else [(spec.end.column, BIGINT)]
    return spark_struct([*shipped_columns(spec), *end])


def shipped_columns(spec: ReadSpec) -> list[tuple[str, DataType]]:
    """A data frame needs a column, also when only rows are counted."""
    if spec.gathers is Gathered.KEYS:
        return [(spec.gathers.value, Array(key_type(spec.projection.columns[0].dtype)))]
    if spec.gathers is Gathered.ROWS:
        return [(TASK, INT), (ROWS, BINARY)]
    if spec.partial is not None:
        return list(zip(spec.partial.names, spec.partial.types, strict=True))
    if spec.computed is not None:
        named = [(name, dtype) for name, _, dtype in spec.computed]
    else:
        columns = spec.projection.columns[: spec.projection.shipped]
        named = [(name, column.dtype) for name, column in zip(spec.names, columns, strict=True)]
    named += [(name, BINARY) for name in spec.fragments]
    if spec.order is not None:
        named.append((spec.order, ORDER_TYPE))
    return named or [(ROWS_ONLY, BOOLEAN)]


def key_type(dtype: DataType) -> DataType:
    """What join keys of a type are told as: whole numbers and dates as the largest of them."""
    return STRING if dtype == STRING else BIGINT
