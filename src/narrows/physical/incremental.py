"""Which aggregations over a window can be kept up to date row by row."""

from __future__ import annotations

from narrows.expressions.nodes import Call
from narrows.expressions.text import expression_text
from narrows.logical.nodes import Aggregation, Window
from narrows.physical.window_folds import why_not_folded


def why_not_incremental(aggregation: Aggregation, *, ansi: bool) -> str | None:
    """Why the window below this aggregation has to keep its rows until it closes; None if not."""
    window = aggregation.child
    if not isinstance(window, Window):
        return "there is no window right below"
    if window.kind.cut_by_rows:
        return why_not_folded(aggregation, window, ansi=ansi)
    for _, call in aggregation.calls:
        if isinstance(call, Call) and (call.distinct or not call.function.incremental):
            return f"`{expression_text(call)}` needs all rows of a window"
    return None
