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
from narrows.physical.execution import plain_read
from narrows.physical.nodes import PhysicalReader
from narrows.projection.columns import Aspect
from narrows.spark.read.reader import read_spec
from narrows.worker.read_spec import ReadSpec


@dataclass(frozen=True)
class NamedRead:
    """A reader that does everything, and what it has to do."""

    node: PhysicalReader
    spec: ReadSpec
    in_order: bool
    """Are the columns those of the select list, in its order? An event time may be among them that
    nobody selects."""


def named_read(rows: Node, names: Sequence[str]) -> NamedRead | None:
    """The reader of a plan that computes nothing; `names` are what its columns become.

    None where something is computed, or two columns have one name. There may be no name at all: a
    pipeline whose reader encodes every field has none.
    """
    plain = plain_read(rows)
    if plain is None or len(set(names)) < len(names):
        return None
    spec = read_spec(plain.reader)
    shipped = [spec.projection.by_place[path, Aspect.VALUE] for path in plain.selected]
    named = dict(zip(shipped, names, strict=True))
    final = tuple(named.get(place, name) for place, name in enumerate(spec.names))
    in_order = shipped == list(range(len(spec.names)))
    return NamedRead(plain.reader, replace(spec, names=final), in_order=in_order)
