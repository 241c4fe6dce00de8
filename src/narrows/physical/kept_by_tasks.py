"""Nodes of which tasks keep what they remember, and the places where it is kept.

A place is a folder of files with a value for each key. A node has one for every PARTITION BY among
its calls, whose keys are others; they are numbered through a plan from its top.
"""

from __future__ import annotations

from typing import TypeAlias

from narrows.expressions.nodes import Expr
from narrows.logical.nodes import Node, StatefulFunction
from narrows.logical.streaming.supported import keeps_between_batches
from narrows.logical.walk import topological
from narrows.physical.nodes import (
    PhysicalAggregation,
    PhysicalDistinct,
    PhysicalJoin,
    PhysicalRetractingAggregation,
    PhysicalStatefulFunction,
    PhysicalStreamingAggregation,
    PhysicalWindow,
)
from narrows.schema import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGRAL,
    STRING,
    TIMESTAMP,
    DataType,
    Decimal,
)

_KEYS = frozenset({BOOLEAN, STRING, BINARY, DATE, TIMESTAMP, FLOAT, DOUBLE, *INTEGRAL})

CutByRows: TypeAlias = PhysicalWindow | PhysicalStreamingAggregation
"""Windows; some of them are cut by rows."""
Remembering: TypeAlias = (
    PhysicalStatefulFunction | PhysicalRetractingAggregation | PhysicalDistinct | CutByRows
)


def is_kept_by_tasks(node: Node) -> bool:
    return isinstance(node, Remembering | PhysicalJoin) and node.by_tasks


def is_key(expr: Expr) -> bool:
    """Can tasks find by it what they keep? Two nested values may be equal and differ in their
    bits."""
    return is_plain(expr.dtype)


def is_plain(dtype: DataType) -> bool:
    return dtype in _KEYS or isinstance(dtype, Decimal)


def remembering(rows: Node) -> list[Node]:
    """The nodes that need more than the rows of an entry. An aggregation above a window does not:
    the rows of one that closes come together."""
    keeping = [node for node in topological(rows) if keeps_between_batches(node)]
    in_windows = {
        id(below) for node in keeping if isinstance(node, CutByRows) for below in topological(node)
    }
    if not in_windows:
        return keeping
    return [
        node
        for node in keeping
        if id(node) in in_windows or not isinstance(node, PhysicalAggregation)
    ]


def partitions_of(node: StatefulFunction) -> dict[tuple[Expr, ...], list[int]]:
    """The calls of a node, by what they are partitioned by."""
    found: dict[tuple[Expr, ...], list[int]] = {}
    for ordinal, call in enumerate(node.calls):
        found.setdefault(call.partition_by, []).append(ordinal)
    return found


def kept_places(rows: Node) -> list[Node]:
    """For each place the node that keeps something there."""
    return [
        node for node in topological(rows) if is_kept_by_tasks(node) for _ in range(_places(node))
    ]


def _places(node: Node) -> int:
    if isinstance(node, StatefulFunction):
        return len(partitions_of(node))
    return len(node.children)  # of a join the rows of both sides
