"""Functions that remember rows, over the rows of a task: their values beside the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from narrows.arrow.types import arrow_type
from narrows.schema import DataType
from narrows.stateful.functions.evaluate import RowCalls, evaluate
from narrows.worker.remembered.keys import KeyedRows, in_source_order
from narrows.worker.remembered.timeless import Timeless


@dataclass(frozen=True)
class ResultType:
    """The type of a call's values: exactly that of an argument, or one of ours."""

    same_as: int | None
    """The argument's place."""
    dtype: DataType

    def in_arrow(self, args: Sequence[pa.DataType]) -> pa.DataType:
        return arrow_type(self.dtype) if self.same_as is None else args[self.same_as]


@dataclass(frozen=True)
class Functions(Timeless):
    calls: RowCalls
    types: tuple[ResultType, ...]

    @property
    def order(self) -> str:
        return self.calls.order

    def run(self, table: pa.Table, keyed: KeyedRows, kept: Sequence[Any]) -> tuple[pa.Table, Any]:
        """The rows in the order of their source, with the values of all calls; and what these
        remember of each key then."""
        calls = self.calls
        args = [table.column(name).take(pa.array(keyed.rows)).to_pylist() for name in calls.args]
        remembered: list[Any] = []
        values: list[list[Any]] = [[] for _ in calls.results]
        for (first, end), states in zip(keyed.ranges(), kept, strict=True):
            columns = [column[first:end] for column in args]
            states, made = evaluate(calls.functions, states, columns, end - first)
            remembered.append(states)
            for all_values, of_key in zip(values, made, strict=True):
                all_values += of_key
        order = in_source_order(table, calls.order)
        places = np.empty(len(order), np.int64)
        places[keyed.rows] = np.arange(len(order))
        result = table.select(list(calls.kept)).take(pa.array(order))
        types = [table.schema.field(name).type for name in calls.args]
        for name, made_of, column in zip(calls.results, self.types, values, strict=True):
            array = pa.array(column, made_of.in_arrow(types)).take(pa.array(places[order]))
            result = result.append_column(name, array)
        return result, remembered
