"""Windows whose rows tasks keep: what is made of these when a window closes, and may be.

PhysicalProject fields=[k; count(DISTINCT a)]                  Spark's part, for each step anew
└─PhysicalAggregation keys=[k], calls=[count(DISTINCT a)]
  └─PhysicalWindowRows window=..., state=rows, in=files        its rows, with the window's bounds
    └─PhysicalDecoder                                          as they were shipped
"""

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
from narrows.logical.walk import topological
from narrows.physical.nodes import PhysicalStreamingAggregation, PhysicalWindowRows
from narrows.projection.columns import DecodeProjection


def closing_window(rows: Node) -> Window | PhysicalStreamingAggregation | None:
    """The window of which all these rows are made, and can be in each step of those that closed
    then: with tables, and whatever else is the same in another step. None where there is none."""
    node, folds = rows, False
    while not isinstance(node, (Window, PhysicalStreamingAggregation)):
        match node:
            case Filter() | Project() | Generate() | Keep() | Sort(per_batch=True):
                (node,) = node.children
            case Aggregation(folds=True):
                node, folds = node.child, True
            case Join(left=left, right=right) if is_stream(left) != is_stream(right):
                node = left if is_stream(left) else right
            case Subquery(child=child, subplan=subplan) if not is_stream(subplan):
                node = child
            case _:
                return None
    # Groups of groups go on for ever, but for those of rows that come when a window closes.
    return None if folds and not isinstance(node, Window) else node


def kept_columns(node: PhysicalWindowRows) -> list[str]:
    """What is kept of a row: the columns that its reader ships."""
    reader = node.reader
    source = reader.source
    shipped = DecodeProjection(source.schema, reader.shipped, metadata=source.metadata).columns
    columns = [f"{each.text} {each.aspect.name} {each.dtype}" for each in shipped]
    columns += [str(fragment) for fragment in reader.encodes]
    return [*columns, "order"] if reader.order else columns


def window_rows(rows: Node) -> PhysicalWindowRows | None:
    """The window whose rows the tasks of such a plan keep; None where there is none."""
    found = (node for node in topological(rows) if isinstance(node, PhysicalWindowRows))
    return next(found, None)
