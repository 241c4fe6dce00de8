"""What goes by the order or the time of rows must have rows that have such.

    SELECT lag(a) OVER (PARTITION BY k) FROM (SELECT k, a FROM s UNION ALL SELECT k, a FROM r)

The rows of a stream have places, which every row of a source is shipped with where somebody above
goes by them; filters, projections and joins with tables keep them. Groups have no place, and
neither have rows of two sources together: nobody can say which of them comes first.

Times are another matter for UNION: a row of it happened when it happened, in whichever stream.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from narrows.errors import Code, NarrowsError, Problem, Span
from narrows.expressions.nodes import Call, walk_all
from narrows.logical.nodes import Join, JoinKind, Node, RetractingAggregation, Window
from narrows.logical.relational_nodes import Subquery, Union
from narrows.logical.walk import topological


def goes_by_order(node: Node) -> bool:
    """Does what the node gives depend on the order of the rows that it gets?"""
    return node.remembers_rows or any(
        isinstance(part, Call) and part.function.by_order for part in walk_all(node.expressions)
    )


def check_row_order(plan: Node) -> None:
    """Refuses what goes by an order, or a time, that the rows below it do not have."""
    problems = [problem for node in topological(plan) for problem in _problems(node)]
    if problems:
        raise NarrowsError(*dict.fromkeys(problems))


def _problems(node: Node) -> Iterator[Problem]:
    for quality, is_needed in (("order", goes_by_order(node)), ("time", isinstance(node, Window))):
        lost = _lost_below(node, timed=quality == "time") if is_needed else None
        if lost is not None:
            what, span = _what_of(node)
            yield Problem(
                Code.NOT_SUPPORTED,
                f"{what} goes by the {quality} of rows, and the rows of {lost.without_place} have"
                " none",
                span,
                "let it see the rows of the stream itself, in a subquery below",
            )
            return


def _lost_below(node: Node, *, timed: bool) -> Node | None:
    """Where, on their way to this node, rows have lost their place, or their time."""
    found = [_lost_at(below, timed=timed) for below in _rows_below(node)]
    if timed and isinstance(node, Join) and not all(found):
        return None  # the time of one of two rows is enough
    return next(filter(None, found), None)


def _lost_at(node: Node, *, timed: bool) -> Node | None:
    if node.without_place is not None and not (timed and isinstance(node, Union)):
        return node
    return _lost_below(node, timed=timed)


def _rows_below(node: Node) -> Sequence[Node]:
    """The children whose rows the node's own are made of."""
    match node:
        case Subquery(child=child):
            return (child,)
        case Join(kind=JoinKind.SEMI | JoinKind.ANTI, left=left):
            return (left,)
        case _:
            return node.children


def _what_of(node: Node) -> tuple[str, Span | None]:
    if isinstance(node, RetractingAggregation):
        return "`mode = 'retract'`", None
    calls = [part for part in walk_all(node.expressions) if isinstance(part, Call)]
    (call, *_) = [call for call in calls if call.function.by_order] or calls
    return f"`{call.function.name}`", call.span
