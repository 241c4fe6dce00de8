"""Values that a reader computes of a row, by Arrow's kernels and in Spark's sense."""

from __future__ import annotations

import pyarrow as pa

from narrows.arrow.types import arrow_type
from narrows.errors import InternalError
from narrows.projection.partial_aggregation import CastValue, ColumnValue, Truth, Value


def evaluate(value: Value, rows: pa.RecordBatch) -> pa.Array:
    """The value of each row; the columns of the batch stand where the planner said."""
    match value:
        case ColumnValue(place):
            return rows.column(place)
        case CastValue(inner, to):
            return evaluate(inner, rows).cast(arrow_type(to), safe=False)
        case Truth(test):
            return test.evaluate(rows)
        case _:
            raise InternalError(f"no reader computes {type(value).__name__}")
