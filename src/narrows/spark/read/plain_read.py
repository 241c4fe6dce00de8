"""Plans that leave everything to a reader: which rows there are, and what is in them.

    SELECT e, b->c AS c FROM s WHERE a > 3        a reader tests `a`, and ships `e` and `b.c`

Nothing is left to compute, only to name: the reader gives its columns the names that they are to
have in the end. A query's rows then cross the JVM as they came. Were they renamed there, Spark
would copy each of them once more. A pipeline's rows do not even enter it: the tasks that read them
write them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from narrows.logical.nodes import Node
from narrows.physical.nodes import PhysicalProject, PhysicalReader
from narrows.spark.read.reader import read_spec
from narrows.spark.sql.sql_text import ShippedSource, SparkSql, quote
from narrows.worker.read_spec import ReadSpec


@dataclass(frozen=True)
class PlainRead:
    """A reader that does everything, and what it has to do."""

    node: PhysicalReader
    spec: ReadSpec
    in_order: bool
    """Are the columns those of the select list, in its order? An event time may be among them that
    nobody selects."""


def plain_read(rows: Node, names: Sequence[str]) -> PlainRead | None:
    """The reader of a plan that computes nothing; `names` are what its columns become.

    None where something is computed, or selected twice.
    """
    reader = rows.children[0] if isinstance(rows, PhysicalProject) else None
    if not isinstance(rows, PhysicalProject) or not isinstance(reader, PhysicalReader):
        return None
    spec = read_spec(reader)
    sql = SparkSql({reader.relation.id: ShippedSource(spec.projection, spec.names)}, {})
    selected = [sql.text(named.expr) for _, named in rows.computed]
    shipped = [quote(name) for name in spec.names]
    if not set(selected) <= set(shipped) or len(set(selected)) < len(selected):
        return None
    if len(set(names)) < len(names):
        return None
    named = dict(zip(selected, names, strict=True))
    final = tuple(map(named.get, shipped, spec.names))
    return PlainRead(reader, replace(spec, names=final), in_order=selected == shipped)
