"""PartialAggregationIntoReader: tasks aggregate the rows that they decode; Spark merges the rest.

SQL:     SELECT b->c, count(*), avg(a) FROM stream_4 WHERE a > 1 GROUP BY b->c
Before:  PhysicalProject fields=[c; count(*); avg(stream_4.a)]
         └─PhysicalAggregation keys=[stream_4.b->c], calls=[count(*); avg(stream_4.a)]
           └─PhysicalDecoder filter=[stream_4.a > 1], ships=[a, b{c}]
             └─PhysicalDataSource source=stream_4
After:   PhysicalProject fields=[c; count(*); avg(stream_4.a)]
         └─PhysicalAggregation keys=[c]
           └─PhysicalPartialAggregation keys=[stream_4.b->c], in=reader
             └─PhysicalDecoder filter=[stream_4.a > 1], ships=[a, b{c}]
               └─PhysicalDataSource source=stream_4

Recognises: an aggregation right above a reader, whose keys and arguments the reader can compute
(`physical/in_reader/worker_values.py`), and whose calls can be taken apart (`partial_calls.py`):
count, count_if, sum, min, max, avg, bool_and, bool_or, max_by, min_by, deviations and variances,
any_value, first, last and their other names, each with FILTER where the reader can run the test.
The argument of a DISTINCT becomes one more key, and so does that of approx_count_distinct: Spark
makes of these what it makes of rows. ROLLUP, CUBE and GROUPING SETS are for Spark to make of the
finest groups. A DISTINCT of what the reader can compute is keys alone. What reaches the JVM is one
row for each group and task; a task whose keys hardly repeat ships its rows as they are, though
wider, but for deviations.

Refuses: any other call or expression, for nobody has shown that Arrow computes what Spark does.
first and last where groups come in several pieces from one task, by DISTINCT or by ROLLUP: which
piece has the first row, nobody would know.
Readers that ship the order of rows. Streams in pipelines, where Spark goes by their event time.
Keys that hardly repeat, as `ANALYZE TABLE` has counted or the first rows of its files show; for
deviations they must repeat more.

Terminates: each step puts a partial aggregation right above a reader, where no other finds its
place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from narrows.catalog.measured import NOTHING_MEASURED, Measured
from narrows.expressions.nodes import Call, Expr
from narrows.logical.nodes import DataSink, NamedExpr, Node, default_name, relation_of
from narrows.logical.walk import fresh_numbers, topological, transform_up
from narrows.optimizer.estimates import Estimates
from narrows.physical.in_reader.partial_calls import take_apart
from narrows.physical.in_reader.partial_steps import SQUARES
from narrows.physical.in_reader.worker_aggregation import can_compute, can_fold, computed_type
from narrows.physical.nodes import (
    PhysicalAggregation,
    PhysicalDistinct,
    PhysicalPartialAggregation,
    PhysicalProject,
    PhysicalReader,
)
from narrows.schema import UNKNOWN, DataType

_WORTH_IT = 4.0
"""How many rows must have the same keys, on average."""
_WORTH_SQUARES = 32.0
"""The same for deviations: they take a list of each group's rows, which is dear where groups are
many (1 000 groups: a tenth more time than when Spark does it all; 300: the same)."""


@dataclass(frozen=True)
class PartialAggregationIntoReader:
    ansi: bool = False
    """Is an overflow an error?"""
    measured: Measured = NOTHING_MEASURED

    def apply(self, plan: Node) -> Node | None:
        in_pipeline = any(isinstance(node, DataSink) for node in topological(plan))
        fresh, estimates = fresh_numbers(plan), Estimates(plan)

        def reads(node: Node) -> bool:
            if not isinstance(node, PhysicalReader) or node.order or node.encodes:
                return False
            return node.source.bounded or not in_pipeline

        def split(node: Node) -> Node | None:
            made: PhysicalAggregation | PhysicalDistinct | None = None
            match node:
                case PhysicalAggregation(child=PhysicalReader() as reader) if reads(reader):
                    made = _split(node, reader, fresh, ansi=self.ansi)
                case PhysicalDistinct(child=PhysicalProject(child=PhysicalReader() as reader)):
                    made = _distinct(node, ansi=self.ansi) if reads(reader) else None
            partial = None if made is None else made.child
            if not isinstance(partial, PhysicalPartialAggregation):
                return None
            return None if self._hardly_repeats(partial, estimates) else made

        return transform_up(plan, split)

    def _hardly_repeats(self, partial: PhysicalPartialAggregation, estimates: Estimates) -> bool:
        keys, reader = [expr for _, expr in partial.keys], partial.reader
        if not keys:
            return False
        squares = any(
            isinstance(expr, Call) and expr.function.name == SQUARES for _, expr in partial.calls
        )
        worth = _WORTH_SQUARES if squares else _WORTH_IT
        if reader.source.statistics is not None:
            distinct = max((estimates.distinct(key) or 0.0 for key in keys), default=0.0)
            return distinct > estimates.rows(reader) / worth
        repeats = self.measured.repeats(reader.source, reader.relation, keys)
        return repeats is not None and repeats < worth


def _distinct(node: PhysicalDistinct, *, ansi: bool) -> PhysicalDistinct | None:
    project = node.child
    assert isinstance(project, PhysicalProject)
    reader = project.child
    assert isinstance(reader, PhysicalReader)
    if project.delayed or not project.fields:
        return None
    if not all(can_compute(expr, reader.relation.id, ansi=ansi) for _, expr in project.fields):
        return None
    partial = PhysicalPartialAggregation(
        child=replace(reader, hands_on=False),
        keys=project.fields,
        calls=(),
        relation=project.relation,
    )
    return replace(node, child=partial)


def _split(
    node: PhysicalAggregation, reader: PhysicalReader, fresh: Iterator[int], *, ansi: bool
) -> PhysicalAggregation | None:
    def type_of(arg: Expr) -> DataType:
        return computed_type(arg, reader.relation.id, ansi=ansi) or UNKNOWN

    steps = [take_apart(expr, type_of) for _, expr in node.calls]
    known = [taken for taken in steps if taken is not None]
    more_keys = [key for taken in known for key in taken.keys]
    keys = list(dict.fromkeys((*(expr for _, expr in node.keys), *more_keys)))
    parts = list(dict.fromkeys(part for taken in known for part in taken.parts))
    if len(known) < len(steps) or not (keys or parts):
        return None
    if (more_keys or node.sets is not None) and any(taken.by_order for taken in known):
        return None
    if not all(can_compute(value, reader.relation.id, ansi=ansi) for value in keys):
        return None
    if not all(can_fold(part, reader.relation.id, ansi=ansi) for part in parts):
        return None
    named = [NamedExpr(default_name(expr), expr) for expr in (*keys, *parts)]
    relation = relation_of(next(fresh), None, named)
    made = dict(zip((*keys, *parts), relation.columns, strict=True))
    partial = PhysicalPartialAggregation(
        child=replace(reader, hands_on=False),  # its groups are shipped, and no rows
        keys=tuple(named[: len(keys)]),
        calls=tuple(named[len(keys) :]),
        relation=relation,
    )
    merged = [taken.merge(made) for taken in known]
    return replace(
        node,
        child=partial,
        keys=tuple(NamedExpr(name, made[expr]) for name, expr in node.keys),
        calls=tuple(
            NamedExpr(name, expr) for (name, _), expr in zip(node.calls, merged, strict=True)
        ),
    )
