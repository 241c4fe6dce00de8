"""Groups of a stream that no window ends, with rows that take back what was written before."""

from __future__ import annotations

from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StringType

from narrows.errors import InternalError
from narrows.expressions.nodes import ColumnId
from narrows.logical.nodes import RetractingAggregation
from narrows.logical.streaming.retractions import OPERATION, is_operation
from narrows.schema import STRING
from narrows.spark.sql.frame import Frame, column_name
from narrows.spark.sql.grouping import group_columns
from narrows.spark.sql.sql_text import Typed, quote
from narrows.spark.windows.folded_rows import folded_rows
from narrows.spark.windows.retraction_processor import GroupShape, RetractionProcessor
from narrows.spark.windows.task_memory import TaskMemory
from narrows.worker.remembered.groups import ChangedGroups


def retract_groups(frame: Frame, node: RetractingAggregation, memory: TaskMemory | None) -> Frame:
    """What changes of groups; with a memory, by tasks that keep them there."""
    if frame.order is None:
        raise InternalError("groups that are folded need the order of their rows")
    group = [expr for _, expr in node.keys]
    calls = [expr for _, expr in node.calls if not is_operation(expr)]
    rows = folded_rows(frame, group, calls)
    keys, grouped = group_columns(frame, group)
    prepared = grouped.select(*keys, frame.order, *rows.columns)
    schema = rows.schema.add(OPERATION, StringType())
    if memory is not None:
        made = (*rows.made.items(), (OPERATION, STRING))
        groups = ChangedGroups(rows.folding, rows.taken, frame.order, made)
        changes = memory.remembered(prepared, keys, groups, schema, node)
    else:
        processor = RetractionProcessor(
            rows.folding, GroupShape(rows.taken, frame.order, tuple(schema.names))
        )
        changes = prepared.groupBy(*keys).transformWithState(processor, schema, "Append", "None")
    named = [expr for _, expr in (*node.keys, *node.calls)]
    names = [column_name(node.relation.id, ordinal) for ordinal in range(len(named))]
    results = zip((*rows.results, F.col(OPERATION)), names, strict=True)
    data = changes.select(*(result.alias(name) for result, name in results))
    columns = {
        ColumnId(node.relation.id, ordinal): Typed(quote(names[ordinal]), expr.dtype)
        for ordinal, expr in enumerate(named)
    }
    return Frame(frame.rows.then(data), {}, columns)
