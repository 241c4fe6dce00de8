"""Windows that tasks keep as partial results: what is cut, kept, and made of it in the end.

    PhysicalProject fields=[k; count(*); avg(x)]                      of whole groups
    └─PhysicalStreamingAggregation window=..., state=partial results  merged when windows close
      └─PhysicalPartialAggregation keys=[k], calls=[...], in=reader   folded where rows were decoded
        └─PhysicalDecoder

A window that closes gives one row for each key: keys, start, end and folds, the *columns* here. Of
these a call is made without aggregation, for a group is one row: `coalesce(sum(n), 0)` is `n`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from narrows.errors import InternalError
from narrows.expressions.function import Kind
from narrows.expressions.nodes import Call, Column, ColumnId, Expr, rewrite, walk
from narrows.logical.nodes import Filter, NamedExpr, Node, Project
from narrows.physical.above_windows import way_to_window
from narrows.physical.nodes import (
    PhysicalPartialAggregation,
    PhysicalStreamingAggregation,
)
from narrows.physical.partial_calls import merged_part
from narrows.physical.stateful_calls import window_call
from narrows.physical.worker_predicate import leaf_test, leaf_value
from narrows.projection.window_cut import WindowCut
from narrows.schema import TIMESTAMP, UNKNOWN, DataType
from narrows.stateful.windows.window import SparkWindow, StreamWindow

COLUMNS = -1
"""The relation of the columns of a closed window."""


def window_cut(window: StreamWindow) -> WindowCut | None:
    """How tasks cut such windows; None if they cannot."""
    return window.cut if isinstance(window, SparkWindow) else None


class GroupColumn(NamedTuple):
    name: str
    dtype: DataType


@dataclass(frozen=True)
class WindowGroups:
    """The windows of a plan that tasks keep, and what stands above them."""

    node: PhysicalStreamingAggregation
    above: tuple[Node, ...]
    """What is made of them, from the top."""

    @property
    def partial(self) -> PhysicalPartialAggregation:
        assert isinstance(self.node.child, PhysicalPartialAggregation)
        return self.node.child

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
    def columns(self) -> list[GroupColumn]:
        """Those of a closed window: keys, start, end, folds."""
        made = self.partial.relation.columns
        keys = len(self.partial.keys)
        types = [column.dtype for column in made]
        types = [*types[:keys], TIMESTAMP, TIMESTAMP, *types[keys:]]
        return [GroupColumn(f"m{place}", dtype) for place, dtype in enumerate(types)]

    @property
    def outputs(self) -> tuple[NamedExpr, ...]:
        """What the aggregation gives, of the columns of closed windows."""
        return tuple(
            NamedExpr(name, rewrite(_of_one_row(expr), self._column))
            for name, expr in (*self.node.keys, *self.node.calls)
        )

    def _column(self, expr: Expr) -> Expr | None:
        if not isinstance(expr, Column):
            return None
        keys, place = len(self.partial.keys), expr.id.ordinal
        if expr.id.relation == self.node.bounds.id:
            place += keys
        elif place >= keys:
            place += 2
        return Column(id=ColumnId(COLUMNS, place), name=f"m{place}", dtype=expr.dtype)

    def written(self, expr: Expr) -> Expr:
        """An expression over what the aggregation gives, over the columns of closed windows."""
        outputs = self.outputs

        def change(part: Expr) -> Expr | None:
            if isinstance(part, Column) and part.id.relation == self.node.relation.id:
                return outputs[part.id.ordinal].expr
            return None

        return rewrite(expr, change)


def window_groups(rows: Node) -> WindowGroups | None:
    """The windows that the tasks of such a plan keep; None where Spark does, or there are none."""
    match way_to_window(rows):
        case [*above, PhysicalStreamingAggregation() as node] if node.merges:
            return WindowGroups(node, tuple(above))
    return None


class Finished(NamedTuple):
    """What a task makes of the columns of closed windows, where it needs no Spark for that."""

    fields: Sequence[NamedExpr]
    tests: Sequence[Expr]


def finished_by_tasks(groups: WindowGroups, *, ansi: bool) -> Finished | None:
    """What stands above the windows, if tasks can compute it all."""
    if not groups.above or not isinstance(groups.above[0], Project):
        return None
    project, *filters = groups.above
    assert isinstance(project, Project)
    if not all(isinstance(node, Filter) for node in filters):
        return None
    tests = [groups.written(node.predicate) for node in filters if isinstance(node, Filter)]
    fields = [NamedExpr(n, groups.written(expr)) for _, (n, expr) in project.computed]
    if not all(leaf_test(test, COLUMNS, ansi=ansi) for test in tests):
        return None
    if not all(_has_value(expr, ansi=ansi) for _, expr in fields):
        return None
    return Finished(fields, tests)


def _has_value(expr: Expr, *, ansi: bool) -> bool:
    value = leaf_value(expr, COLUMNS, ansi=ansi)
    return value is not None and expr.dtype in (value.dtype, UNKNOWN)


def is_of_one_row(expr: Expr) -> bool:
    """Can what merges partial results be had without an aggregation, if there is one of each?"""
    return not any(
        isinstance(part, Call) and part.function.kind is Kind.AGGREGATE
        for part in walk(_of_one_row(expr))
    )


def _of_one_row(expr: Expr) -> Expr:
    """A merging call over groups of one row each."""

    def change(part: Expr) -> Expr | None:
        return merged_part(part) if isinstance(part, Call) else None

    return rewrite(expr, change)
