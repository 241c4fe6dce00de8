"""Rows of a stream that are written once, however often they come, as tasks remember them."""

from __future__ import annotations

from pyspark.sql import types as T  # noqa: N812

from narrows.errors import Code, fail
from narrows.logical.nodes import Distinct
from narrows.spark.sql.frame import Frame, column_name
from narrows.spark.sql.rows import select
from narrows.spark.sql.sql_text import Typed, quote
from narrows.spark.windows.task_memory import TaskMemory
from narrows.worker.remembered.distinct_rows import DistinctRows

_PLAIN = (
    T.BooleanType,
    T.NumericType,
    T.BinaryType,
    T.DateType,
    T.TimestampType,
    T.TimestampNTZType,
    T.DayTimeIntervalType,
)


def new_rows(frame: Frame, node: Distinct, memory: TaskMemory) -> Frame:
    """Those that were in no entry before."""
    names = [column_name(column.id.relation, column.id.ordinal) for column in node.outputs]
    named = zip(node.outputs, names, strict=True)
    listed = [f"{frame.sql.text(column)} AS {quote(name)}" for column, name in named]
    rows = frame.with_rows(select(listed, frame.text)).data
    schema = rows.distinct().schema  # Spark says what it does not compare
    for column, dtype in zip(node.outputs, (field.dataType for field in schema), strict=True):
        if not _is_told_apart(dtype):
            raise fail(
                Code.NOT_SUPPORTED,
                f"tasks cannot tell apart values of type {dtype.simpleString()}: `{column.name}`",
                column.span,
                "cast them, or see whether Spark can: `SET narrows.rule.memory_into_tasks = off`",
            )
    made = memory.remembered(rows, names, DistinctRows(), schema, node)
    columns = {
        column.id: Typed(quote(name), column.dtype)
        for column, name in zip(node.outputs, names, strict=True)
    }
    return Frame(frame.rows.then(made), {}, columns)


def _is_told_apart(dtype: T.DataType) -> bool:
    """Are values equal if they have the same bits, or are the same in Python? Texts may be equal
    that differ (`COLLATE`), and Python knows one field of a name."""
    match dtype:
        case T.StructType():
            apart = len(set(dtype.names)) == len(dtype.names)
            return apart and all(_is_told_apart(field.dataType) for field in dtype.fields)
        case T.ArrayType():
            return _is_told_apart(dtype.elementType)
        case T.StringType():
            return dtype == T.StringType()
    return isinstance(dtype, _PLAIN)
