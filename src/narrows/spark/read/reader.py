"""What a reader has to do, from its node in the physical plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from narrows.catalog.objects import Source
from narrows.demand import NOTHING, Demand
from narrows.expressions.nodes import Expr, columns_of
from narrows.logical.conjuncts import conjunction
from narrows.logical.nodes import Project
from narrows.logical.required import required
from narrows.physical.nodes import PhysicalFilter, PhysicalPartialAggregation, PhysicalReader
from narrows.physical.worker_aggregation import worker_aggregation
from narrows.physical.worker_predicate import worker_predicate
from narrows.projection.columns import Aspect, DecodeProjection
from narrows.schema import Struct
from narrows.spark.sql.frame import column_name, fragment_name
from narrows.sql.scope import Relation
from narrows.worker.event_time import EventTime
from narrows.worker.read_spec import ReadSpec


def read_spec(node: PhysicalReader) -> ReadSpec:
    """What the reader of this source has to decode, test, encode and ship."""
    source, relation, tests = node.source, node.relation.id, node.filter
    projection = DecodeProjection(
        source.schema,
        node.shipped,
        tested=_tested(node),
        fragments=node.encodes,
        metadata=source.metadata,
    )
    return ReadSpec(
        source=source.name,
        connector=source.connector,
        bounded=source.bounded,
        format=source.format,
        projection=projection,
        names=tuple(column_name(relation, place) for place in range(projection.shipped)),
        fragments=tuple(fragment_name(relation, place) for place in range(len(node.encodes))),
        takes_null_payloads=node.metadata_alone,
        predicate=worker_predicate(tests, relation, projection),
        skipping=worker_predicate(_of_payload(tests, source), relation, projection.payload),
        options=source.options,
        on_error=str(source.options.get("on_error", "dead_letter")),
        event_time=_event_time(source, projection),
        order=f"order{relation}" if node.order else None,
    )


def partial_spec(node: PhysicalPartialAggregation) -> ReadSpec:
    """The same, of a reader that aggregates what it decodes."""
    spec, relation = read_spec(node.reader), node.relation
    names = [column_name(relation.id, place) for place in range(len(relation.schema))]
    partial = worker_aggregation(
        node.keys, node.calls, node.reader.relation.id, spec.projection, names
    )
    return replace(spec, partial=partial)


def _event_time(source: Source, projection: DecodeProjection) -> EventTime | None:
    if source.eventtime is None:
        return None
    place = projection.by_place[(source.eventtime,), Aspect.VALUE]
    return EventTime(source.eventtime, place, source.eventtime_unit)


def _of_payload(tests: Sequence[Expr], source: Source) -> Sequence[Expr]:
    """The tests that look at nothing but what is in a payload."""
    width = len(source.schema)
    return [test for test in tests if all(c.id.ordinal < width for c in columns_of(test))]


def _tested(node: PhysicalReader) -> Demand:
    """What the decoder's own tests look at: as if they stood in a filter above it."""
    if not node.filter:
        return NOTHING
    test = PhysicalFilter(child=node, predicate=conjunction(node.filter))
    nothing_else = Project(child=test, fields=(), relation=Relation(-1, None, Struct(())))
    return required(nothing_else).row(node)
