"""Nodes of which tasks keep what they remember, and the places where it is kept.

A place is a folder of files with a value for each key. A node has one for every PARTITION BY among
its calls, whose keys are others; they are numbered through a plan from its top.
"""

from __future__ import annotations

from narrows.expressions.nodes import Expr
from narrows.logical.nodes import Node, StatefulFunction
from narrows.logical.walk import topological
from narrows.physical.nodes import (
    PhysicalRetractingAggregation,
    PhysicalStatefulFunction,
    PhysicalStreamingAggregation,
)


def is_kept_by_tasks(node: Node) -> bool:
    match node:
        case (
            PhysicalStatefulFunction()
            | PhysicalRetractingAggregation()
            | PhysicalStreamingAggregation()
        ):
            return node.by_tasks
    return False


def partitions_of(node: StatefulFunction) -> dict[tuple[Expr, ...], list[int]]:
    """The calls of a node, by what they are partitioned by."""
    found: dict[tuple[Expr, ...], list[int]] = {}
    for ordinal, call in enumerate(node.calls):
        found.setdefault(call.partition_by, []).append(ordinal)
    return found


def kept_places(rows: Node) -> list[Node]:
    """For each place the node that keeps something there."""
    return [
        node
        for node in topological(rows)
        if is_kept_by_tasks(node)
        for _ in (partitions_of(node) if isinstance(node, StatefulFunction) else (node,))
    ]
