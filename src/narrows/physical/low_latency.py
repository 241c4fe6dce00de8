"""Can a pipeline run without micro-batches? If not, why, and what would help.

It can if its readers write (`execution.py`): then a task needs nothing of Spark but its core, and
can go on reading, entry by entry, for as long as the pipeline runs. On a shared stream another such
task decodes for all.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from narrows.catalog.objects import Sink
from narrows.expressions.text import expression_text
from narrows.logical.nodes import DataSink, DecodedSource, Node
from narrows.logical.walk import topological
from narrows.physical.execution import (
    ExecutionMode,
    execution_of,
    read_alone,
    rows_of,
    selected_paths,
)
from narrows.physical.in_reader.worker_predicate import leaf_value
from narrows.physical.nodes import PhysicalFilter, PhysicalProject, PhysicalReader

_LEAVE_OUT = "leave out `latency`: it then runs in micro-batches"
_GATHERS = "batch_duration"


class Refusal(NamedTuple):
    reason: str
    hint: str


def why_not_low_latency(plan: Node, tasks: int) -> Refusal | None:
    """Why the pipeline of a physical plan needs micro-batches; None if it does not. It is to have
    so many tasks."""
    for node in topological(plan):
        if not isinstance(node, DecodedSource) or not node.source.shared:
            continue
        name = node.source.name
        if node.source.comes_as_frame:
            return Refusal(f"Spark reads `{name}`, in micro-batches", _LEAVE_OUT)
        if tasks > 1:
            reason = f"`{name}` is shared, and one task writes for all its pipelines of low latency"
            return Refusal(reason, "leave out `tasks`")
    how = execution_of(plan)
    copies = how.mode is ExecutionMode.COPY
    if not copies and (how.mode is not ExecutionMode.GROUPED or read_alone(rows_of(plan)) is None):
        return Refusal(_computed(rows_of(plan)) or how.reason, _LEAVE_OUT)
    return _gathers(node.sink for node in topological(plan) if isinstance(node, DataSink))


def _gathers(sinks: Iterable[Sink]) -> Refusal | None:
    for sink in sinks:
        if _GATHERS in sink.options:
            return Refusal(
                f"sink `{sink.name}` gathers rows for {sink.options[_GATHERS]}",
                f"declare the sink without `{_GATHERS}`, or leave out `latency`",
            )
    return None


def _computed(rows: Node) -> str | None:
    """What Spark would have to do with rows of a single reader; None where it is something else
    that stands in the way."""
    if not isinstance(rows, PhysicalProject):
        return None
    below = rows.child
    if isinstance(below, PhysicalFilter) and isinstance(below.child, PhysicalReader):
        return f"Spark has to test `{expression_text(below.predicate)}`"
    if not isinstance(below, PhysicalReader) or read_alone(rows) is not None:
        return None
    for (_, named), path in zip(rows.computed, selected_paths(rows, below), strict=True):
        if path is None and leaf_value(named.expr, below.relation.id, ansi=False) is None:
            return f"Spark has to compute `{expression_text(named.expr)}`"
    return "Spark has to compute what it selects"
