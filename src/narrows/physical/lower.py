"""From the logical plan to the physical one: each node by its counterpart, the ends by several.

DataSource          -> PhysicalDataSource, PhysicalDecoder
DataSource, shared  -> PhysicalSharedStream
DataSink            -> PhysicalBatch, PhysicalEncoder, PhysicalDataSink
                       (no batch where the sink names no limit, no encoder where it takes rows)

A source below something that goes by the order of rows ships that order, too.
"""

from __future__ import annotations

from dataclasses import fields

from narrows.errors import InternalError
from narrows.logical.nodes import (
    Aggregation,
    DataSink,
    DataSource,
    Distinct,
    Filter,
    Generate,
    Join,
    Limit,
    Node,
    Project,
    RetractingAggregation,
    Sort,
    StatefulFunction,
    Tail,
    Window,
)
from narrows.logical.walk import transform_up
from narrows.physical.nodes import (
    PhysicalAggregation,
    PhysicalBatch,
    PhysicalDataSink,
    PhysicalDataSource,
    PhysicalDecoder,
    PhysicalDistinct,
    PhysicalEncoder,
    PhysicalFilter,
    PhysicalGenerate,
    PhysicalJoin,
    PhysicalLimit,
    PhysicalProject,
    PhysicalRetractingAggregation,
    PhysicalSharedStream,
    PhysicalSort,
    PhysicalStatefulFunction,
    PhysicalTail,
    PhysicalWindow,
    batch_info,
)
from narrows.physical.relational_nodes import RELATIONAL_COUNTERPARTS
from narrows.physical.source_order import with_source_order

_COUNTERPARTS: dict[type[Node], type[Node]] = {
    Filter: PhysicalFilter,
    Project: PhysicalProject,
    Join: PhysicalJoin,
    Generate: PhysicalGenerate,
    StatefulFunction: PhysicalStatefulFunction,
    Window: PhysicalWindow,
    Aggregation: PhysicalAggregation,
    RetractingAggregation: PhysicalRetractingAggregation,
    Sort: PhysicalSort,
    Limit: PhysicalLimit,
    Distinct: PhysicalDistinct,
    Tail: PhysicalTail,
    **RELATIONAL_COUNTERPARTS,
}


def lower(plan: Node) -> Node:
    lowered = transform_up(plan, _lower_node)
    assert lowered is not None
    return with_source_order(lowered)


def _lower_node(node: Node) -> Node:
    match node:
        case DataSource(source=source):
            same = {f.name: getattr(node, f.name) for f in fields(node)}
            if source.shared:
                return PhysicalSharedStream(**same)
            return PhysicalDecoder(child=PhysicalDataSource(source=source), **same)
        case DataSink(sink=sink, child=child):
            if batch_info(sink):
                child = PhysicalBatch(child=child, sink=sink)
            if not sink.takes_rows:
                child = PhysicalEncoder(child=child, sink=sink)
            return PhysicalDataSink(
                child=child, sink=sink, changed=node.changed, updates=node.updates
            )
        case _:
            counterpart = _COUNTERPARTS.get(type(node))
            if counterpart is None:
                raise InternalError(f"no physical counterpart for {node.operator}")
            return counterpart(**{f.name: getattr(node, f.name) for f in fields(node)})
