"""Windows that rows cut, and functions that remember them, where all rows are there: what
`applyInArrow` calls for each key.

It stands alone for the same reason as `window_processor`: workers load it, and need no planner.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from narrows.arrow.types import arrow_type
from narrows.schema import DataType
from narrows.stateful.functions.evaluate import RowCalls, evaluate
from narrows.stateful.values import order_key
from narrows.stateful.windows.window import Cutter, run_to_end
from narrows.worker.remembered.functions import ResultType
from narrows.worker.remembered.windows import BOUNDS, RowShape, rows_of_window

OfKey = Callable[[pa.Table], pa.Table]


def with_values(shape: RowCalls, types: Sequence[ResultType]) -> OfKey:
    """Adds the values of functions to the rows of a key."""

    def run(table: pa.Table) -> pa.Table:
        places = [order_key(place) for place in table.column(shape.order).to_pylist()]
        rows = sorted(range(len(places)), key=places.__getitem__)
        ordered = table.take(rows)
        columns = [ordered.column(name).to_pylist() for name in shape.args]
        _, values = evaluate(shape.functions, None, columns, len(rows))
        args = [ordered.schema.field(name).type for name in shape.args]
        result = ordered.select(list(shape.kept))
        for name, made, column in zip(shape.results, types, values, strict=True):
            result = result.append_column(name, pa.array(column, made.in_arrow(args)))
        return result

    return run


def cut(window: Cutter, shape: RowShape, made: Mapping[str, DataType] | None = None) -> OfKey:
    """The windows of a key, each with its rows. `made` are the types of what it gives and does not
    have from its rows."""
    types = {name: arrow_type(dtype) for name, dtype in (made or {}).items()}

    def run(table: pa.Table) -> pa.Table:
        made = [shape.window_row(row) for row in table.to_pylist()]
        rows = sorted(made, key=lambda row: row.place)
        values: list[tuple[Any, ...]] = []
        for closed in run_to_end(window, rows):
            values.extend(rows_of_window(closed))
        schema = pa.schema(
            [
                *(
                    pa.field(name, types[name]) if name in types else table.schema.field(name)
                    for name in shape.given
                ),
                *(pa.field(name, pa.int64()) for name in BOUNDS),
            ]
        )
        columns = zip(*values, strict=True) if values else [()] * len(schema)
        arrays = [
            pa.array(list(column), field.type)
            for column, field in zip(columns, schema, strict=True)
        ]
        return pa.Table.from_arrays(arrays, schema=schema)

    return run
