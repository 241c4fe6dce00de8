"""Plans that leave everything to a reader: which rows there are, and what is in them.

    SELECT e, b->c AS c FROM s WHERE a > 3        a reader tests `a`, and ships `e` and `b.c`

Nothing is left to compute, only to name: the reader gives its columns the names that they are to
have in the end. A query's rows then cross the JVM as they came. Were they renamed there, Spark
would copy each of them once more. A pipeline's rows do not even enter it: the tasks that read them
write them, and compute what they can (`physical/rules/projection_into_reader.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from narrows.expressions.nodes import Expr
from narrows.logical.nodes import Node
from narrows.physical.execution import plain_read, selected_paths
from narrows.physical.in_reader.worker_predicate import worker_value
from narrows.physical.nodes import PhysicalProject, PhysicalReader
from narrows.projection.columns import Aspect, Path
from narrows.projection.values import ColumnValue
from narrows.spark.read.reader import read_spec
from narrows.worker.read_spec import ComputedColumn, ReadSpec


@dataclass(frozen=True)
class NamedRead:
    """A reader that does everything, and what it has to do."""

    node: PhysicalReader
    spec: ReadSpec
    in_order: bool
    """Are the columns those of the select list, in its order? An event time may be among them that
    nobody selects."""


def named_read(rows: Node, names: Sequence[str]) -> NamedRead | None:
    """The reader of a plan that leaves nothing to Spark; `names` are what its columns become.

    None where Spark computes something, or two columns have one name. There may be no name at all:
    a pipeline whose reader encodes every field has none.
    """
    if len(set(names)) < len(names):
        return None
    if isinstance(rows, PhysicalProject) and rows.in_reader:
        return _computing(rows, rows.child, names)
    plain = plain_read(rows)
    if plain is None:
        return None
    spec = read_spec(plain.reader)
    shipped = [spec.projection.by_place[path, Aspect.VALUE] for path in plain.selected]
    named = dict(zip(shipped, names, strict=True))
    final = tuple(named.get(place, name) for place, name in enumerate(spec.names))
    in_order = shipped == list(range(len(spec.names)))
    return NamedRead(plain.reader, replace(spec, names=final), in_order=in_order)


def _computing(rows: PhysicalProject, reader: Node, names: Sequence[str]) -> NamedRead | None:
    """A reader that computes the columns of a projection."""
    if not isinstance(reader, PhysicalReader):
        return None
    spec = read_spec(reader)

    def column(name: str, expr: Expr, path: Path | None) -> ComputedColumn:
        if path is None:
            return ComputedColumn(name, *worker_value(expr, reader.relation.id, spec.projection))
        place = spec.projection.by_place[path, Aspect.VALUE]
        return ComputedColumn(name, ColumnValue(place), expr.dtype)

    fields = zip(names, rows.computed, selected_paths(rows, reader), strict=True)
    computed = tuple(column(name, named.expr, path) for name, (_, named), path in fields)
    return NamedRead(reader, replace(spec, computed=computed), in_order=True)
