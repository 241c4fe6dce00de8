"""LimitIntoReader: tasks ship as many rows as a LIMIT leaves, and stop when they have them.

SQL:     SELECT a, b->c FROM stream_4 WHERE a > 1 ORDER BY b->c DESC LIMIT 10
Before:  PhysicalLimit count=10
         └─PhysicalProject fields=[stream_4.a; stream_4.b->c]
           └─PhysicalSort keys=[stream_4.b->c DESC]
             └─PhysicalDecoder filter=[stream_4.a > 1], ships=[a, b{c}]
               └─PhysicalDataSource source=stream_4
After:   PhysicalLimit count=10
         └─PhysicalProject fields=[stream_4.a; stream_4.b->c]
           └─PhysicalSort keys=[stream_4.b->c DESC]
             └─PhysicalDecoder filter=[stream_4.a > 1], limit=10 by stream_4.b->c DESC
               └─PhysicalDataSource source=stream_4

Recognises: in a query, a LIMIT above a reader with nothing in between but projections, whose rows
are one for one those of the reader. Each task reads until it has as many rows as LIMIT and OFFSET
leave, and no further: what it has not seen is not counted, and a bad payload there is nobody's dead
letter. With an ORDER BY whose keys the reader can compute and compare as Spark does, each task
reads everything, and ships the rows that are first; Spark sorts those of all tasks, so that NULLs,
NaN and rows that are equal stand where it puts them. And a LIMIT above a DISTINCT, or a GROUP BY
without aggregates, that begins in the reader: a task stops when it has as many groups.

Refuses: where something in between drops rows, or makes other rows of them; keys that the reader
cannot compute. More than 10 000 rows in an order, which would have to be kept. Groups by floating
numbers, of which 0.0 and -0.0 are one to Spark and two to readers. Pipelines, which have more than
one batch. LIMIT 0, for which Spark reads nothing.

Terminates: it marks each reader once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from narrows.expressions.nodes import Column, ColumnId, Expr, Literal, SortKey, rewrite
from narrows.logical.conjuncts import is_deterministic
from narrows.logical.nodes import Aggregation, DataSink, Distinct, Limit, Node, Project, Sort
from narrows.logical.relational_nodes import Keep
from narrows.logical.walk import topological, transform_up
from narrows.physical.in_reader.worker_aggregation import can_compute
from narrows.physical.in_reader.worker_predicate import COMPARABLE
from narrows.physical.nodes import PhysicalPartialAggregation, PhysicalReader
from narrows.physical.row_limit import ReaderLimit
from narrows.schema import BINARY, BOOLEAN, DOUBLE, FLOAT, DataType, Decimal

_MOST_SORTED = 10_000


@dataclass(frozen=True)
class LimitIntoReader:
    ansi: bool = False
    """Is an overflow an error?"""

    def apply(self, plan: Node) -> Node | None:
        if any(isinstance(node, DataSink) for node in topological(plan)):
            return None

        def push(node: Node) -> Node | None:
            if not isinstance(node, Limit) or not node.count:
                return None
            below = self._limited(node.child, node.count + node.offset)
            return None if below is None else replace(node, child=below)

        return transform_up(plan, push)

    def _limited(self, node: Node, count: int, keys: tuple[SortKey, ...] = ()) -> Node | None:
        """The node with a reader that ships no more rows than that; None if there is none."""
        match node:
            case Project(child=child) if all(map(is_deterministic, node.expressions)):
                below = self._limited(child, count, _written_below(keys, node))
            case Keep(child=child):
                below = self._limited(child, count, keys)
            case Sort(child=child) if not keys and count <= _MOST_SORTED:
                # A constant does not sort.
                by = tuple(key for key in node.keys if not isinstance(key.expr, Literal))
                below = self._limited(child, count, by)
            case PhysicalReader(limit=None) if not node.order and self._can_sort(node, keys):
                return replace(node, limit=ReaderLimit(count, keys))
            case Distinct(child=PhysicalPartialAggregation() as partial) if not keys:
                below = _with_groups(partial, count)
            case Aggregation(calls=(), child=PhysicalPartialAggregation() as partial) if (
                not keys and node.sets is None
            ):
                below = _with_groups(partial, count)
            case _:
                return None
        return None if below is None else node.with_children([below])

    def _can_sort(self, reader: PhysicalReader, keys: tuple[SortKey, ...]) -> bool:
        return all(
            _is_ordered(key.expr.dtype)
            and can_compute(key.expr, reader.relation.id, ansi=self.ansi)
            for key in keys
        )


def _written_below(keys: tuple[SortKey, ...], project: Project) -> tuple[SortKey, ...]:
    """The keys in words of what is below the projection that makes them."""
    made: dict[ColumnId, Expr] = {
        project.relation.column(place).id: named.expr for place, named in enumerate(project.fields)
    }

    def written(expr: Expr) -> Expr | None:
        return made.get(expr.id) if isinstance(expr, Column) else None

    return tuple(key._replace(expr=rewrite(key.expr, written)) for key in keys)


def _with_groups(partial: PhysicalPartialAggregation, count: int) -> Node | None:
    if partial.limit is not None or partial.calls:
        return None
    if any(expr.dtype in (FLOAT, DOUBLE) for _, expr in partial.keys):
        return None
    return replace(partial, limit=count)


def _is_ordered(dtype: DataType) -> bool:
    """Can Arrow put values of the type into Spark's order (`worker/first_rows.py`)?"""
    return isinstance(dtype, Decimal) or dtype in (*COMPARABLE, BOOLEAN, BINARY, FLOAT, DOUBLE)
