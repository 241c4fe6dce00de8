"""Notices about work that only one task can do: remembering the rows of a whole stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from narrows.expressions.text import expression_text
from narrows.logical.nodes import Node, StatefulFunction, Window
from narrows.logical.walk import topological
from narrows.notices import Notice

_SHOWN = 3


def unpartitioned(plan: Node) -> Iterator[Notice]:
    nodes = topological(plan)
    whole = []
    for node in nodes:
        if isinstance(node, StatefulFunction):
            texts = [expression_text(call) for call in node.calls if not call.partition_by]
            if node.option is None:
                whole += texts
            elif texts:
                yield _notice(texts, f"declare the stream with `{node.option} = '...'`")
        if not isinstance(node, Window) or not node.kind.cut_by_rows or node.cut_apart_by:
            continue
        if node.kind.keys_cut:
            yield _notice([expression_text(node.window)], "add a key to GROUP BY")
        else:
            whole.append(expression_text(node.window))
    if whole:
        yield _notice(whole, "add `OVER (PARTITION BY ...)`")


def _notice(texts: Sequence[str], way_out: str) -> Notice:
    shown = ", ".join(f"`{text}`" for text in texts[:_SHOWN])
    more = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    message = f"all rows of the stream go through one task, in their order: {shown}{more}"
    return Notice("one_task", message, way_out)
