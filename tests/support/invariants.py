"""What must hold of every plan, and between a plan and what a rule made of it."""

from __future__ import annotations

from collections.abc import Iterator

from narrows.expressions.nodes import ColumnId, Expr, columns_of
from narrows.logical.nodes import (
    Aggregation,
    DataSink,
    DecodedSource,
    Join,
    Node,
    Project,
    StatefulFunction,
    Tail,
)
from narrows.logical.relational_nodes import Subquery
from narrows.logical.required import Required, required
from narrows.logical.walk import topological
from narrows.physical.nodes import PhysicalStreamingAggregation
from narrows.schema import UNKNOWN, DataType


def check(before: Node, after: Node, rule: str) -> None:
    """To be called after each rule: `plan_query(..., check=check)`."""
    assert outputs(after) == outputs(before), f"{rule} changed what the plan gives"
    check_plan(after, rule)


def check_plan(plan: Node, where: str) -> None:
    """Every name that a node uses is made below it, and every column is of its own type."""
    found = required(plan)
    around = _columns_around(plan)
    for node in topological(plan):
        _check_references(node, found, around.get(id(node), frozenset()), where)
        _check_types(node, where)


def outputs(root: Node) -> list[tuple[str, DataType]]:
    """Names and types of what a plan gives, or of what it writes into each of its sinks."""
    match root:
        case Tail():
            return [column for sink in root.sinks for column in outputs(sink)]
        case DataSink():
            return outputs(root.child)
        case _:
            return [(column.name, column.dtype) for column in root.outputs]


def references(node: Node) -> Iterator[ColumnId]:
    """The columns that a node's own expressions use."""
    for expr in node.expressions:
        for column in columns_of(expr):
            yield column.id


def _columns_around(plan: Node) -> dict[int, frozenset[ColumnId]]:
    """What the nodes of a subquery may use beside their children: the rows it is asked about. So
    may the right side of a lateral join."""
    around: dict[int, frozenset[ColumnId]] = {}
    for node in topological(plan):
        if isinstance(node, Subquery) or (isinstance(node, Join) and node.lateral):
            asked, inside = node.children
            outer = around.get(id(node), frozenset())
            outer |= {column.id for column in asked.outputs}
            outer |= _undecoded(asked)
            for inner in topological(inside):
                around[id(inner)] = around.get(id(inner), frozenset()) | outer
    return around


def _undecoded(node: Node) -> frozenset[ColumnId]:
    sources = [part for part in topological(node) if isinstance(part, DecodedSource)]
    return frozenset(column.id for source in sources for column in source.relation.columns)


def _check_references(node: Node, found: Required, around: frozenset[ColumnId], where: str) -> None:
    """A column that a node names comes from a child, or from the query around a subquery.

    Or it is a column of a source that nobody looks at, as `a` in `struct(a, b).b`: a column that is
    not decoded reads as NULL at its place in the full schema.
    """
    available = {column.id for child in node.children for column in child.outputs}
    if isinstance(node, PhysicalStreamingAggregation):
        available |= {column.id for column in node.bounds.columns}
    sources = {part.relation.id for part in topological(node) if isinstance(part, DecodedSource)}
    missing = [
        column
        for column in references(node)
        if column not in available
        and column not in around
        and not (column.relation in sources and column not in found.columns)
    ]
    assert not missing, f"{where}: {node.operator} uses {missing}, which no child gives"


def _check_types(node: Node, where: str) -> None:
    """A relation says of which types its columns are; what computes them must agree."""
    for made, expr in _computed(node):
        assert made in (expr.dtype, UNKNOWN), (
            f"{where}: {node.operator} makes {expr.dtype} of {made}"
        )


def _computed(node: Node) -> Iterator[tuple[DataType, Expr]]:
    if isinstance(node, Project):
        for ordinal, named in node.computed:
            yield node.relation.schema.fields[ordinal].type, named.expr
    elif isinstance(node, (Aggregation, StatefulFunction)):
        types = [field.type for field in node.relation.schema]
        yield from zip(types, node.expressions[: len(types)], strict=True)
