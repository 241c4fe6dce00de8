"""Stateful functions on Spark: by tasks that keep what is remembered (`task_memory.py`), by
`transformWithState` where Spark keeps it; in a query, groups of Arrow.

What they do stands in `narrows.stateful.functions`. The calls of a node that have the same
PARTITION BY are evaluated together, in one pass over each key's rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from narrows.errors import InternalError
from narrows.expressions.nodes import Call, Expr
from narrows.logical.nodes import StatefulFunction
from narrows.physical.kept_by_tasks import partitions_of
from narrows.physical.stateful_calls import row_call
from narrows.spark.sql.frame import Frame, column_name
from narrows.spark.sql.grouping import group_columns
from narrows.spark.sql.parsed import parsed_column
from narrows.spark.sql.types import our_type, spark_type
from narrows.spark.windows.all_rows import with_values
from narrows.spark.windows.function_processor import FunctionProcessor
from narrows.spark.windows.task_memory import TaskMemory
from narrows.stateful.arguments import CONDITION, Argument
from narrows.stateful.functions.evaluate import BoundFunction, RowCalls
from narrows.stateful.functions.function import RowFunction
from narrows.worker.remembered.functions import Functions, ResultType
from narrows.worker.remembered.task import Remembers


def remember_rows(frame: Frame, node: StatefulFunction, memory: TaskMemory | None) -> Frame:
    """Adds the values of all calls of the node to the rows; with a memory, by tasks that keep what
    is remembered there."""
    if frame.order is None:
        raise InternalError("a function that remembers rows needs their order")
    for number, (partition, ordinals) in enumerate(partitions_of(node).items()):
        calls = [node.calls[ordinal] for ordinal in ordinals]
        names = [column_name(node.relation.id, ordinal) for ordinal in ordinals]
        keep = None if memory is None else partial(memory.remembered, node=node, number=number)
        frame = _evaluated(frame, partition, calls, names, keep)
    return frame.with_made(frame.data, node.relation)


def _evaluated(
    frame: Frame,
    partition: Sequence[Expr],
    calls: Sequence[Call],
    names: Sequence[str],
    keep: Callable[[DataFrame, Sequence[str], Remembers, T.StructType], DataFrame] | None,
) -> Frame:
    keys, grouped = group_columns(frame, partition)
    bound = [row_call(call) for call in calls]
    filters = [call.filter for call in calls if call.filter is not None]
    args = _Arguments(frame, grouped, [*(expr for one in bound for expr in one.args), *filters])
    functions, types = [], []
    for call, (function, exprs) in zip(calls, bound, strict=True):
        takes = [taken for taken in function.takes(len(call.args)) if not taken.is_constant]
        places = tuple(map(args.place, exprs, takes))
        passes = None if call.filter is None else args.place(call.filter, CONDITION)
        functions.append(BoundFunction(function, places, passes))
        types.append(args.result(function, places))
    shape = RowCalls(
        tuple(frame.data.columns),
        str(frame.order),
        tuple(args.names),
        tuple(functions),
        tuple(names),
    )
    schema = T.StructType(frame.data.schema.fields)
    for name, made in zip(names, types, strict=True):
        schema = schema.add(name, args.spark_type(made))
    if keep is not None:
        return frame.with_rows(keep(args.data, keys, Functions(shape, tuple(types)), schema))
    rows = args.data.groupBy(*keys)
    if not frame.data.isStreaming:
        data = rows.applyInArrow(with_values(shape, types), schema)
    elif frame.clock is None:
        data = rows.transformWithState(FunctionProcessor(shape), schema, "Append", "None")
    else:
        # Something above goes by the watermark, so the time must come through.
        data = rows.transformWithState(
            FunctionProcessor(shape), schema, "Append", "EventTime", None, frame.clock
        )
    return frame.with_rows(data)


# --- arguments and types --------------------------------------------------------------------------


class _Arguments:
    """The columns that functions look at, with the types that they really have. The same expression
    is one column, however many functions look at it."""

    def __init__(self, frame: Frame, rows: DataFrame, exprs: Sequence[Expr]) -> None:
        self._sql = frame.sql
        self._texts = list(dict.fromkeys(map(self._sql.text, exprs)))
        self.names = [f"arg{place}" for place in range(len(self._texts))]
        columns = zip(self._texts, self.names, strict=True)
        self.data = rows.select("*", *(parsed_column(text).alias(name) for text, name in columns))
        schema = self.data.schema
        self.types = [schema[name].dataType for name in self.names]

    def place(self, expr: Expr, taken: Argument) -> int:
        """The place of an argument as a function takes it: some take everything as numbers."""
        place = self._texts.index(self._sql.text(expr))
        if not taken.as_number or isinstance(self.types[place], T.NumericType):
            return place
        name = f"number{place}"
        if name not in self.names:
            self.data = self.data.withColumn(name, F.col(self.names[place]).cast("double"))
            self.names.append(name)
            self.types.append(T.DoubleType())
        return self.names.index(name)

    def result(self, function: RowFunction, places: Sequence[int]) -> ResultType:
        ours = [our_type(self.types[place]) for place in places]
        made = function.result(ours)
        same_as = places[ours.index(made)] if made in ours else None
        return ResultType(same_as, made)

    def spark_type(self, made: ResultType) -> T.DataType:
        return spark_type(made.dtype) if made.same_as is None else self.types[made.same_as]
