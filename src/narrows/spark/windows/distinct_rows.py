"""Rows of a stream that are written once, however often they come, as tasks remember them."""

from __future__ import annotations

from narrows.logical.nodes import Distinct
from narrows.spark.sql.frame import Frame, column_name
from narrows.spark.sql.rows import select
from narrows.spark.sql.sql_text import Typed, quote
from narrows.spark.windows.task_memory import TaskMemory
from narrows.worker.remembered.distinct_rows import DistinctRows


def new_rows(frame: Frame, node: Distinct, memory: TaskMemory) -> Frame:
    """Those that were in no entry before."""
    names = [column_name(column.id.relation, column.id.ordinal) for column in node.outputs]
    named = zip(node.outputs, names, strict=True)
    listed = [f"{frame.sql.text(column)} AS {quote(name)}" for column, name in named]
    rows = frame.with_rows(select(listed, frame.text)).data
    made = memory.remembered(rows, names, DistinctRows(), rows.schema, node)
    columns = {
        column.id: Typed(quote(name), column.dtype)
        for column, name in zip(node.outputs, names, strict=True)
    }
    return Frame(frame.rows.then(made), {}, columns)
