"""ByIndexProjectionIntoEncoderRewrite: plain columns of a select list are left to the encoder.

SQL:     CREATE PIPELINE p INTO out_json AS SELECT a, b->c AS d, a + 1 AS n FROM stream_4
Before:  PhysicalDataSink sink=out_json
         └─PhysicalEncoder encoder=json
           └─PhysicalProject fields=[stream_4.a; stream_4.b->c AS d; stream_4.a + 1 AS n]
             └─PhysicalDecoder schema=[a, b{c}]
               └─PhysicalDataSource source=stream_4
After:   PhysicalDataSink sink=out_json
         └─PhysicalEncoder encoder=json, by_index_projection=[stream_4#0->a; stream_4#1.c->d]
           └─PhysicalProject fields=[stream_4.a + 1 AS n], passthrough_messages=true
             └─PhysicalDecoder schema=[a, b{c}], encodes_json=[a; b.c], ships=[a]
               └─PhysicalDataSource source=stream_4

A field that is a value of a source, as it stands there, need not become a column of Spark's at all:
the reader encodes it, and the sink's encoder splices what it gets with what was computed. Of 15 000
such fields Spark sees one opaque value. What is still computed with is shipped as before.

Recognises: projections all of whose consumers are encoders that support this (the registry says
which do); of their fields the constant access chains into sources right below, with or without an
alias, so also those of `*` and `s.*`.

Refuses: a projection that somebody else reads too - a sink that takes rows, or an encoder that
cannot splice. That holds for all its sinks, since the rows are computed once for all of them; a
notice names the sink that prevented it. And fields that come from an operator which makes rows of
its own (aggregation, DISTINCT, a window, a stateful function).

Terminates: it runs once over the plan, and each field is delayed once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from narrows.catalog.objects import Sink
from narrows.expressions.nodes import columns_of
from narrows.logical.nodes import DataSink, Filter, Generate, Join, Limit, Node, Sort
from narrows.logical.relational_nodes import Keep
from narrows.logical.required import required
from narrows.logical.walk import topological, transform_up
from narrows.notices import Notice
from narrows.physical.in_reader.paths import source_path
from narrows.physical.nodes import (
    DelayedColumn,
    PhysicalBatch,
    PhysicalEncoder,
    PhysicalProject,
    PhysicalReader,
)
from narrows.plugins.registry import FORMATS
from narrows.projection.fragments import Fragment, FragmentField
from narrows.schema import Field, Struct

_HANDS_ON_ROWS = (Filter, Join, Generate, Keep, Sort, Limit)
"""Operators through which a fragment travels with its row."""


class ByIndexProjectionIntoEncoderRewrite:
    def apply(self, plan: Node) -> Node | None:
        passing: dict[int, tuple[DelayedColumn, ...]] = {}
        fragments: dict[int, dict[Fragment, None]] = {}
        for found in _projections(plan):
            if not found.refusing:
                passing[found.project.relation.id] = found.fields
                for sink in found.able:
                    for first, fragment in fragments_of(sink, found.fields):
                        fragments.setdefault(first.column.id.relation, {})[fragment] = None
        if not passing:
            return None

        def rewrite(node: Node) -> Node | None:
            match node:
                case PhysicalProject(relation=relation) if relation.id in passing:
                    ordinals = frozenset(column.ordinal for column in passing[relation.id])
                    return replace(node, delayed=ordinals)
                case PhysicalEncoder(child=PhysicalProject(relation=relation)):
                    columns = passing.get(relation.id)
                    return None if columns is None else replace(node, by_index_projection=columns)
                case PhysicalReader(relation=relation) if relation.id in fragments:
                    return replace(node, encodes=tuple(fragments[relation.id]))
                case _:
                    return None

        rewritten = transform_up(plan, rewrite)
        return None if rewritten is None else _narrow_shipping(rewritten)


def refusals(plan: Node) -> list[Notice]:
    """Where columns could have been delayed, had it not been for one of the sinks."""
    return [
        Notice(
            "not_delayed",
            f"plain columns are not delayed into the encoders: sink `{sink.name}` {_why_not(sink)}",
            "give that sink a pipeline of its own",
        )
        for found in _projections(plan)
        for sink in found.refusing
        if found.able
    ]


def _why_not(sink: Sink) -> str:
    if sink.takes_rows:
        return "takes rows"
    return f"writes {sink.format}, which needs columns"


@dataclass
class _Projection:
    """A projection that only sinks read, and what of it could be delayed."""

    project: PhysicalProject
    fields: tuple[DelayedColumn, ...]
    able: list[Sink] = field(default_factory=list)
    refusing: list[Sink] = field(default_factory=list)


def _projections(plan: Node) -> Iterator[_Projection]:
    nodes = topological(plan)
    consumers: dict[int, list[Node]] = {}
    for node in nodes:
        for child in node.children:
            consumers.setdefault(id(child), []).append(node)
    for node in nodes:
        if isinstance(node, PhysicalProject) and not node.delayed:
            found = _projection(node, consumers.get(id(node), ()))
            if found is not None and found.fields:
                yield found


def _projection(project: PhysicalProject, consumers: Sequence[Node]) -> _Projection | None:
    if not any(isinstance(node, (PhysicalEncoder, PhysicalBatch, DataSink)) for node in consumers):
        return None
    named = _named_in_options(project, consumers)
    fields = tuple(column for column in _delayable(project) if column.ordinal not in named)
    found = _Projection(project, fields)
    for consumer in consumers:
        match consumer:
            case PhysicalEncoder(sink=sink) if _can_splice(sink):
                found.able.append(sink)
            case PhysicalEncoder(sink=sink) | PhysicalBatch(sink=sink) | DataSink(sink=sink):
                found.refusing.append(sink)
            case _:
                return None  # another operator reads its columns
    return found


def _named_in_options(project: PhysicalProject, consumers: Sequence[Node]) -> frozenset[int]:
    """The fields whose values a sink needs by themselves."""
    outputs = Struct(tuple(Field(column.name, column.dtype) for column in project.outputs))
    sinks = (node.sink for node in consumers if isinstance(node, (PhysicalEncoder, PhysicalBatch)))
    options = [names for sink in sinks for names in sink.columns_in_options.values()]
    return frozenset(place for names in options for name in names for place in outputs.find(name))


def _can_splice(sink: Sink) -> bool:
    return FORMATS.find(sink.format).supports_by_index_projection


def _delayable(project: PhysicalProject) -> Iterator[DelayedColumn]:
    """The fields that are values of a source, as they stand in its payloads: a decoder encodes."""
    widths = {s.relation.id: len(s.source.schema) for s in _sources_below(project.child)}
    for ordinal, (name, expr) in enumerate(project.fields):
        column = next(columns_of(expr), None)
        if column is not None and column.id.ordinal < widths.get(column.id.relation, 0):
            path = source_path(expr, column.id.relation)
            if path is not None:
                yield DelayedColumn(ordinal, column, path, name, expr.dtype)


def _sources_below(node: Node) -> Iterator[PhysicalReader]:
    """The sources whose rows reach this node as they are, or joined to others."""
    pending = [node]
    while pending:
        node = pending.pop()
        if isinstance(node, PhysicalReader):
            yield node
        elif isinstance(node, _HANDS_ON_ROWS):
            pending.extend(node.children)


def fragments_of(
    sink: Sink, columns: Sequence[DelayedColumn]
) -> Iterator[tuple[DelayedColumn, Fragment]]:
    """What readers encode for a sink: fields of one source that stand together are one fragment.

    Each fragment comes with the first of its fields.
    """
    named = FORMATS.find(sink.format).field_options
    options = tuple((name, sink.options[name]) for name in named if name in sink.options)
    run: list[DelayedColumn] = []
    for column in (*columns, None):
        if run and (column is None or not _stand_together(run[-1], column)):
            fields = tuple(FragmentField(c.path, c.name, c.dtype) for c in run)
            yield run[0], Fragment(sink.format, options, fields)
            run = []
        if column is not None:
            run.append(column)


def _stand_together(left: DelayedColumn, right: DelayedColumn) -> bool:
    same_source = left.column.id.relation == right.column.id.relation
    return same_source and left.ordinal + 1 == right.ordinal


def _narrow_shipping(plan: Node) -> Node:
    """What is only encoded is not shipped."""
    found = required(plan)

    def narrow(node: Node) -> Node | None:
        if isinstance(node, PhysicalReader) and node.encodes:
            return replace(node, ships=found.row(node))
        if isinstance(node, Keep):
            kept = [column for column in node.columns if column.id in found.columns]
            return replace(node, columns=tuple(kept)) if len(kept) < len(node.columns) else None
        return None

    return transform_up(plan, narrow) or plan
