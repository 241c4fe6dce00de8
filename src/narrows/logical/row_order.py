"""What goes by the order or the time of rows must have rows that have such.

    SELECT lag(a) OVER (PARTITION BY k) FROM (SELECT k, a FROM s UNION ALL SELECT k, a FROM r)

The rows of a stream have places, which every row of a source is shipped with where somebody above
goes by them; filters, projections and joins with tables keep them. Groups have no place, and
neither have rows of two sources together, or several that a generator makes of one: nobody can say
which of them comes first.

Times are another matter for the latter two: a row of UNION happened when it happened, in whichever
stream.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from narrows.errors import Code, NarrowsError, Problem, Span
from narrows.expressions.nodes import calls_of_all
from narrows.logical.nodes import (
    Generate,
    Join,
    JoinKind,
    Node,
    RetractingAggregation,
    Window,
)
from narrows.logical.relational_nodes import Subquery, Union
from narrows.logical.streaming.supported import is_stream
from narrows.logical.walk import topological

_WITH_TIMES = (Generate, Union)
"""Nodes whose rows have no place, but the times of those below."""


def goes_by_order(node: Node) -> bool:
    """Does what the node gives depend on the order of the rows that it gets?"""
    return node.remembers_rows or any(
        call.function.by_order for call in calls_of_all(node.expressions)
    )


def check_row_order(plan: Node, *, runs: bool) -> None:
    """Refuses what goes by an order, or a time, that the rows below it do not have. In a pipeline
    that `runs`, neither have pairs of rows of two streams, which meet whenever the later one
    comes."""
    problems = [problem for node in topological(plan) for problem in _problems(node, runs)]
    if problems:
        raise NarrowsError(*dict.fromkeys(problems))


def _problems(node: Node, runs: bool) -> Iterator[Problem]:
    for quality, is_needed in (("order", goes_by_order(node)), ("time", isinstance(node, Window))):
        rows = _lost_below(node, _Way(quality == "time", runs)) if is_needed else None
        if rows is not None:
            what, span = _what_of(node)
            yield Problem(
                Code.NOT_SUPPORTED,
                f"{what} goes by the {quality} of rows, and the rows of {rows} have none",
                span,
                "let it see the rows of the stream itself, in a subquery below",
            )
            return


class _Way(NamedTuple):
    """What is looked for on the way that rows have come: where they lost their time, or else their
    place."""

    timed: bool
    runs: bool


def _lost_below(node: Node, way: _Way) -> str | None:
    """What the rows of a node were rows of when they lost it."""
    found = [_lost_at(below, way) for below in _rows_below(node)]
    if way.timed and isinstance(node, Join):
        sides = zip(_rows_below(node), found, strict=True)
        if any(lost is None and is_stream(side) for side, lost in sides):
            return None  # the time of one of two rows is enough; those of a table have none
    return next(filter(None, found), None)


def _lost_at(node: Node, way: _Way) -> str | None:
    if node.without_place is not None and not (way.timed and isinstance(node, _WITH_TIMES)):
        return node.without_place
    if way.runs and not way.timed and isinstance(node, Join):
        sides = [node.left, node.right]
        return "two joined streams" if all(map(is_stream, sides)) else _lost_below(node, way)
    return _lost_below(node, way)


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
    calls = [*calls_of_all(node.expressions)]
    (call, *_) = [call for call in calls if call.function.by_order] or calls
    return f"`{call.function.name}`", call.span
