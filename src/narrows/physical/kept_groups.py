"""Groups that tasks keep as partial results: what is kept, and what is made of it in the end.

    PhysicalProject fields=[k; count(*); avg(x)]                      of whole groups
    └─an aggregation that merges, state=partial aggregates            tasks keep what it merges
      └─PhysicalPartialAggregation keys=[k], calls=[...], in=reader   folded where rows were decoded
        └─PhysicalDecoder

What is merged is one row for each key: keys and folds, the *columns* here; of a window
(`window_groups.py`) its start and end stand between them. Of these a call is made without
aggregation, for a group is one row: `coalesce(sum(n), 0)` is `n`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from narrows.expressions.function import Kind
from narrows.expressions.nodes import Call, Column, ColumnId, Expr, rewrite, walk
from narrows.logical.nodes import Aggregation, Filter, NamedExpr, Node, Project
from narrows.physical.in_reader.partial_calls import merged_part
from narrows.physical.in_reader.worker_predicate import leaf_test, leaf_value
from narrows.physical.nodes import PhysicalEndlessAggregation, PhysicalPartialAggregation
from narrows.schema import UNKNOWN, DataType

COLUMNS = -1
"""The relation of the columns of merged groups."""


class GroupColumn(NamedTuple):
    name: str
    dtype: DataType


@dataclass(frozen=True)
class KeptGroups:
    """The groups of a plan that tasks keep, and what stands above them."""

    node: Aggregation
    above: tuple[Node, ...]
    """What is made of them, from the top."""

    @property
    def partial(self) -> PhysicalPartialAggregation:
        assert isinstance(self.node.child, PhysicalPartialAggregation)
        return self.node.child

    @property
    def between(self) -> tuple[DataType, ...]:
        """The types of the columns between keys and folds."""
        return ()

    @property
    def columns(self) -> list[GroupColumn]:
        """Those of a merged group: keys, what is between, folds."""
        made = self.partial.relation.columns
        keys = len(self.partial.keys)
        types = [column.dtype for column in made]
        types = [*types[:keys], *self.between, *types[keys:]]
        return [GroupColumn(f"m{place}", dtype) for place, dtype in enumerate(types)]

    @property
    def outputs(self) -> tuple[NamedExpr, ...]:
        """What the aggregation gives, of the columns of merged groups."""
        return tuple(
            NamedExpr(name, rewrite(_of_one_row(expr), self._column))
            for name, expr in (*self.node.keys, *self.node.calls)
        )

    def _column(self, expr: Expr) -> Expr | None:
        if not isinstance(expr, Column):
            return None
        place = self.place_of(expr)
        return Column(id=ColumnId(COLUMNS, place), name=f"m{place}", dtype=expr.dtype)

    def place_of(self, column: Column) -> int:
        """Where a column that the aggregation names is among those of merged groups."""
        keys, place = len(self.partial.keys), column.id.ordinal
        return place if place < keys else place + len(self.between)

    def written(self, expr: Expr) -> Expr:
        """An expression over what the aggregation gives, over the columns of merged groups."""
        outputs = self.outputs

        def change(part: Expr) -> Expr | None:
            if isinstance(part, Column) and part.id.relation == self.node.relation.id:
                return outputs[part.id.ordinal].expr
            return None

        return rewrite(expr, change)


def below_computed(rows: Node) -> tuple[Node, tuple[Node, ...]]:
    """What is below all filters and projections of which rows are made; and these, from the top."""
    above: list[Node] = []
    node = rows
    while isinstance(node, (Project, Filter)):
        above.append(node)
        node = node.child
    return node, tuple(above)


def endless_groups(rows: Node) -> KeptGroups | None:
    """The groups without end that the tasks of such a plan keep; None where Spark does, or there
    are none."""
    node, above = below_computed(rows)
    return KeptGroups(node, above) if isinstance(node, PhysicalEndlessAggregation) else None


class Finished(NamedTuple):
    """What a task makes of the columns of merged groups, where it needs no Spark for that."""

    fields: Sequence[NamedExpr]
    tests: Sequence[Expr]


def finished_by_tasks(groups: KeptGroups, *, ansi: bool) -> Finished | None:
    """What stands above the groups, if tasks can compute it all."""
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
