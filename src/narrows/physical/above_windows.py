"""What stands above a window that tasks keep, folded or as rows: a plan that can be made of those
that close, each time by itself."""

from __future__ import annotations

from narrows.logical.nodes import (
    Aggregation,
    Filter,
    Generate,
    Join,
    Node,
    Project,
    Sort,
    Window,
)
from narrows.logical.relational_nodes import Keep, Subquery
from narrows.logical.streaming.supported import is_stream
from narrows.physical.nodes import PhysicalStreamingAggregation


def way_to_window(rows: Node) -> list[Node]:
    """The nodes from these rows down to the window of which all of them are made, and can be in
    each step of those that closed then: with tables, and whatever else is the same in another step.
    Empty where there is no such window."""
    way = [rows]
    while not isinstance(way[-1], (Window, PhysicalStreamingAggregation)):
        match way[-1]:
            case Filter() | Project() | Generate() | Keep() | Sort(per_batch=True) as node:
                way += node.children
            case Aggregation(folds=True, child=child):
                way.append(child)
            case Join(left=left, right=right) if is_stream(left) != is_stream(right):
                way.append(left if is_stream(left) else right)
            case Subquery(child=child, subplan=subplan) if not is_stream(subplan):
                way.append(child)
            case _:
                return []
    if isinstance(way[-1], Window):
        return way
    # Groups of groups go on for ever, but for those of rows that come when a window closes.
    return [] if any(node.folds for node in way) else way
