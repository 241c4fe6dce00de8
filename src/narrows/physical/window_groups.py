"""Windows that tasks keep as partial results (`kept_groups.py`): what is cut, and which of them.

A window that closes gives one row for each key: keys, start, end and folds.
"""

from __future__ import annotations

from dataclasses import dataclass

from narrows.errors import InternalError
from narrows.expressions.nodes import Column
from narrows.logical.nodes import Node
from narrows.physical.above_windows import way_to_window
from narrows.physical.kept_groups import KeptGroups
from narrows.physical.nodes import PhysicalStreamingAggregation
from narrows.physical.stateful_calls import window_call
from narrows.projection.window_cut import WindowCut
from narrows.schema import TIMESTAMP, DataType
from narrows.stateful.windows.window import SparkWindow, StreamWindow


def window_cut(window: StreamWindow) -> WindowCut | None:
    """How tasks cut such windows; None if they cannot."""
    return window.cut if isinstance(window, SparkWindow) else None


@dataclass(frozen=True)
class WindowGroups(KeptGroups):
    """The windows of a plan that tasks keep, and what stands above them."""

    node: PhysicalStreamingAggregation

    @property
    def window(self) -> StreamWindow:
        return window_call(self.node.window).evaluator

    @property
    def cut(self) -> WindowCut:
        cut = window_cut(self.window)
        if cut is None:
            raise InternalError(f"no task cuts {self.window.name}")
        return cut

    @property
    def between(self) -> tuple[DataType, ...]:
        """Start and end."""
        return (TIMESTAMP, TIMESTAMP)

    def place_of(self, column: Column) -> int:
        if column.id.relation == self.node.bounds.id:
            return len(self.partial.keys) + column.id.ordinal
        return super().place_of(column)


def window_groups(rows: Node) -> WindowGroups | None:
    """The windows that the tasks of such a plan keep; None where Spark does, or there are none."""
    match way_to_window(rows):
        case [*above, PhysicalStreamingAggregation() as node] if node.merges:
            return WindowGroups(node, tuple(above))
    return None
