"""What a reader has to do, from its node in the physical plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from narrows.catalog.objects import Source
from narrows.demand import NOTHING, Demand
from narrows.expressions.nodes import Expr, columns_of
from narrows.logical.nodes import NamedExpr, Project, relation_of
from narrows.logical.required import required
from narrows.physical.in_reader.paths import source_path
from narrows.physical.in_reader.worker_aggregation import worker_aggregation
from narrows.physical.in_reader.worker_predicate import worker_predicate, worker_value
from narrows.physical.join_filters import Keys
from narrows.physical.nodes import PhysicalPartialAggregation, PhysicalReader
from narrows.projection.columns import Aspect, DecodeProjection
from narrows.projection.row_limit import RowLimit, SortValue
from narrows.spark.sql.frame import column_name, fragment_name
from narrows.worker.event_time import EventTime
from narrows.worker.read_spec import Gathered, KeyTest, KeyValues, ReadSpec


def read_spec(node: PhysicalReader, key_values: Sequence[KeyValues] = ()) -> ReadSpec:
    """What the reader of this source has to decode, test, encode and ship; `key_values` are where
    it has the values from that its join filters test by."""
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
        keys=_key_tests(node, projection, key_values),
        limit=_limit(node, projection),
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
    return replace(spec, partial=replace(partial, enough=node.limit))


def key_spec(node: PhysicalReader, keys: Keys, key_values: Sequence[KeyValues]) -> ReadSpec:
    """What the reader has to do to tell the keys of its rows, and nothing else."""
    demand = looked_at(node, [keys.of])
    asked = replace(
        node,
        decode_projection=demand,
        ships=demand,
        encodes=(),
        limit=None,
        join_filters=keys.filters,
    )
    return replace(read_spec(asked, key_values), gathers=Gathered.KEYS)


def _key_tests(
    node: PhysicalReader, projection: DecodeProjection, values: Sequence[KeyValues]
) -> tuple[KeyTest, ...]:
    # Without the values, the reader has all rows that Spark joins.
    filters = zip(node.join_filters, values, strict=False)
    return tuple(
        KeyTest(leaf_place(node, projection, made.tested), given) for made, given in filters
    )


def leaf_place(node: PhysicalReader, projection: DecodeProjection, leaf: Expr) -> int:
    """The column that holds a leaf of a reader's rows."""
    path = source_path(leaf, node.relation.id)
    assert path is not None
    return projection.by_place[path, Aspect.VALUE]


def _limit(node: PhysicalReader, projection: DecodeProjection) -> RowLimit | None:
    if node.limit is None:
        return None
    relation = node.relation.id
    values = [worker_value(key.expr, relation, projection).value for key in node.limit.keys]
    keys = [
        SortValue(value, key.descending, key.nulls_first)
        for key, value in zip(node.limit.keys, values, strict=True)
    ]
    return RowLimit(node.limit.count, tuple(keys))


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
    return looked_at(node, [*node.filter, *(made.tested for made in node.join_filters)])


def looked_at(node: PhysicalReader, exprs: Sequence[Expr]) -> Demand:
    """What these expressions look at of a reader's rows."""
    fields = tuple(NamedExpr("", expr) for expr in exprs)
    above = Project(child=node, fields=fields, relation=relation_of(-1, None, fields))
    return required(above).row(node) if exprs else NOTHING
