"""Stateful functions on Spark: `transformWithState` in a stream, groups of Arrow otherwise.

What they do stands in `narrows.stateful.functions`. The calls of a node that have the same
PARTITION BY are evaluated together, in one pass over each key's rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from narrows.errors import InternalError
from narrows.expressions.nodes import Call, Expr
from narrows.logical.nodes import StatefulFunction
from narrows.physical.row_functions import row_call
from narrows.spark.sql.frame import Frame, column_name
from narrows.spark.sql.grouping import group_columns
from narrows.spark.windows.function_processor import FunctionProcessor, RowCalls
from narrows.stateful.evaluate import BoundFunction, evaluate
from narrows.stateful.functions import Accumulate, Average, Count, HadChanged, Sum
from narrows.stateful.values import order_key


def remember_rows(frame: Frame, node: StatefulFunction) -> Frame:
    """Adds the values of all calls of the node to the rows."""
    if frame.order is None:
        raise InternalError("a function that remembers rows needs their order")
    groups: dict[tuple[Expr, ...], list[int]] = {}
    for ordinal, call in enumerate(node.calls):
        groups.setdefault(call.partition_by, []).append(ordinal)
    for partition, ordinals in groups.items():
        calls = [node.calls[ordinal] for ordinal in ordinals]
        names = [column_name(node.relation.id, ordinal) for ordinal in ordinals]
        frame = _evaluated(frame, partition, calls, names)
    return frame.with_made(frame.data, node.relation)


def _evaluated(
    frame: Frame, partition: Sequence[Expr], calls: Sequence[Call], names: Sequence[str]
) -> Frame:
    args: dict[str, str] = {}  # SQL text -> column
    functions = []
    for call in calls:
        bound = row_call(call)
        places = tuple(_place(args, frame.sql.text(arg)) for arg in bound.args)
        condition = None if call.filter is None else _place(args, frame.sql.text(call.filter))
        functions.append(BoundFunction(bound.function, places, condition))
    kept = tuple(frame.data.columns)
    keys, grouped = group_columns(frame, partition)
    prepared = grouped.select("*", *(F.expr(text).alias(name) for text, name in args.items()))
    for function in functions:
        prepared = _as_numbers(prepared, function)
    shape = RowCalls(kept, str(frame.order), tuple(args.values()), tuple(functions), tuple(names))
    schema = T.StructType(frame.data.schema.fields)
    for name, function in zip(names, functions, strict=True):
        schema = schema.add(name, _result_type(function, prepared.schema))
    if not frame.data.isStreaming:
        data = prepared.groupBy(*keys).applyInArrow(_in_one_go(shape), schema)
    elif frame.clock is None:
        data = prepared.groupBy(*keys).transformWithState(
            FunctionProcessor(shape), schema, "Append", "None"
        )
    else:
        # Something above goes by the watermark, so the time must come through.
        data = prepared.groupBy(*keys).transformWithState(
            FunctionProcessor(shape), schema, "Append", "EventTime", None, frame.clock
        )
    return frame.with_rows(data)


def _place(args: dict[str, str], text: str) -> int:
    args.setdefault(text, f"arg{len(args)}")
    return list(args).index(text)


# --- types ----------------------------------------------------------------------------------------


def _folds_numbers(function: BoundFunction) -> bool:
    inner = function.function
    return isinstance(inner, Accumulate) and isinstance(inner.fold, (Sum, Average))


def _as_numbers(data: Any, function: BoundFunction) -> Any:
    """Text that is to be added up becomes numbers, as in Spark's own sum."""
    name = f"arg{function.args[0]}"
    numeric = isinstance(data.schema[name].dataType, T.NumericType)
    if numeric or not _folds_numbers(function):
        return data
    return data.withColumn(name, F.col(name).cast("double"))


def _result_type(function: BoundFunction, schema: T.StructType) -> T.DataType:
    """The type of a call's value, from the types that its arguments really have."""
    inner = function.function
    value = schema[f"arg{function.args[0]}"].dataType
    if isinstance(inner, HadChanged):
        return T.BooleanType()
    if not isinstance(inner, Accumulate) or not isinstance(inner.fold, (Sum, Average, Count)):
        return value
    if isinstance(inner.fold, Count):
        return T.LongType()
    if isinstance(inner.fold, Average) or isinstance(value, T.FractionalType):
        if isinstance(inner.fold, Sum) and isinstance(value, T.DecimalType):
            return T.DecimalType(min(38, value.precision + 10), value.scale)
        return T.DoubleType()
    return T.LongType()


# --- evaluation -----------------------------------------------------------------------------------


def _in_one_go(shape: RowCalls) -> Any:
    def run(table: pa.Table) -> pa.Table:
        places = [order_key(place) for place in table.column(shape.order).to_pylist()]
        rows = sorted(range(len(places)), key=places.__getitem__)
        ordered = table.take(rows)
        columns = [ordered.column(name).to_pylist() for name in shape.args]
        _, values = evaluate(shape.functions, None, columns, len(rows))
        return _with_values(ordered, shape, values)

    return run


def _with_values(table: pa.Table, shape: RowCalls, values: Sequence[Sequence[Any]]) -> pa.Table:
    result = table.select(list(shape.kept))
    for name, function, column in zip(shape.results, shape.functions, values, strict=True):
        argument = table.schema.field(shape.args[function.args[0]]).type
        result = result.append_column(name, pa.array(column, _arrow_type(function, argument)))
    return result


def _arrow_type(function: BoundFunction, argument: pa.DataType) -> pa.DataType:
    inner = function.function
    if isinstance(inner, HadChanged):
        return pa.bool_()
    fold = inner.fold if isinstance(inner, Accumulate) else None
    if isinstance(fold, Count):
        return pa.int64()
    if isinstance(fold, Average):
        return pa.float64()
    if isinstance(fold, Sum):
        if pa.types.is_decimal(argument):
            return pa.decimal128(min(38, argument.precision + 10), argument.scale)
        return pa.int64() if pa.types.is_integer(argument) else pa.float64()
    return argument
