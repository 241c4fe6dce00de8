"""Notices about work that only one task can do: remembering the rows of a whole stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from narrows.expressions.function import WindowKind
from narrows.expressions.text import expression_text
from narrows.logical.nodes import Node, StatefulFunction, Window
from narrows.logical.walk import topological
from narrows.notices import Notice

_SHOWN = 3


def unpartitioned(plan: Node) -> Iterator[Notice]:
    nodes = topological(plan)
    calls = [call for node in nodes if isinstance(node, StatefulFunction) for call in node.calls]
    whole = [expression_text(call) for call in calls if not call.partition_by]
    windows = [node for node in nodes if isinstance(node, Window)]
    for node in windows:
        match node.window.function.window_kind:
            case WindowKind.STATE if not node.window.partition_by:
                whole.append(expression_text(node.window))
            case WindowKind.COUNT | WindowKind.SLIDING if not node.keys:
                if not node.window.partition_by:
                    yield _notice([expression_text(node.window)], "add a key to GROUP BY")
    if whole:
        yield _notice(whole, "add `OVER (PARTITION BY ...)`")


def _notice(texts: Sequence[str], way_out: str) -> Notice:
    shown = ", ".join(f"`{text}`" for text in texts[:_SHOWN])
    more = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    message = f"all rows of the stream go through one task, in their order: {shown}{more}"
    return Notice("one_task", message, way_out)
