"""What Structured Streaming cannot run is refused while planning, with the reason and a way out.

A pipeline never ends, so nothing may wait for the last row: no sorting, no whole-row comparisons of
two streams, no outer join whose unmatched rows nobody can ever be sure of. A query (`SELECT` by
itself) reads what is there now, and none of this applies to it.
"""

from __future__ import annotations

from collections.abc import Iterator

from narrows.errors import Code, NarrowsError, Problem, Span, fail
from narrows.expressions.nodes import Call, ColumnId, Expr, columns_of
from narrows.functions import operator
from narrows.logical.conjuncts import split
from narrows.logical.nodes import (
    Aggregation,
    DataSource,
    DecodedSource,
    Join,
    JoinKind,
    Limit,
    Node,
    Sort,
    Window,
)
from narrows.logical.relational_nodes import (
    Analytic,
    NearestJoin,
    Pivot,
    Recursion,
    SetOperation,
    Subquery,
    Union,
)
from narrows.logical.walk import topological
from narrows.notices import Notice

_KEPT_SIDE = {
    JoinKind.LEFT: "left",
    JoinKind.SEMI: "left",
    JoinKind.ANTI: "left",
    JoinKind.RIGHT: "right",
}
"""The side that must be the stream where the other one is a table."""
_EQUALS = operator("=")
_COMPARISONS = tuple(operator(name) for name in ("=", "<", "<=", ">", ">=", "between"))


def check_streaming(plan: Node) -> list[Notice]:
    """Raises what is wrong with a plan that is to run on streams; what should be known of it."""
    if not is_stream(plan):
        return []
    problems = [
        problem for node in topological(plan) for problem in _problems(node, plan) if problem
    ]
    if problems:
        raise NarrowsError(*problems)
    return [notice for node in topological(plan) for notice in _notices(node)]


def is_stream(node: Node) -> bool:
    """Whether new rows may turn up in the node while it runs."""
    return any(isinstance(n, DecodedSource) and not n.source.bounded for n in topological(node))


def keeps_between_batches(node: Node) -> bool:
    """Whether the node must remember something of a stream for the rows that are yet to come. A
    join with a table does not."""
    if isinstance(node, Join):
        return is_stream(node.left) and is_stream(node.right)
    return node.keeps_state and is_stream(node)


def _problems(node: Node, plan: Node) -> Iterator[Problem | None]:
    match node:
        case Sort(child=child, keys=keys, per_batch=False) if is_stream(child):
            yield _refused(
                "a stream has no end, so it cannot be sorted",
                keys[0].expr.span,
                "leave ORDER BY out, sort each micro-batch by itself (`ORDER BY ... PER BATCH`), or"
                " run it as a query over what is there now",
            )
        case Limit(child=child, offset=offset) if is_stream(child):
            if offset or _folds(child):
                yield _refused(
                    "LIMIT on a stream cannot skip rows, nor count groups that still change",
                    None,
                    "leave it out, or run it as a query over what is there now",
                )
        case Analytic(child=child, calls=calls) if is_stream(child):
            yield _refused(
                f"`{calls[0].function.name}(...) OVER (...)` looks at rows that are yet to come",
                calls[0].span,
                "use a function that remembers rows, such as `lag(a) OVER (PARTITION BY k)`,"
                " or a stream window in GROUP BY",
            )
        case SetOperation(kind=kind) if is_stream(node):
            yield _refused(
                f"{kind.value.upper()} compares whole streams",
                None,
                "use a join with a time bound: LEFT SEMI JOIN for INTERSECT, LEFT ANTI JOIN with a"
                " table for EXCEPT",
            )
        case Union(inputs=inputs) if len({is_stream(side) for side in inputs}) == 2:
            yield _refused(
                "UNION of a stream and a table: the table's rows would come once and never again",
                None,
                "write the table's rows into the sink with a query",
            )
        case Subquery(subplan=subplan, relation=relation) if is_stream(subplan):
            yield _refused(
                "a subquery over a stream has no answer yet",
                relation.columns[0].span,
                "join with the stream instead, with a bound on the event times",
            )
        case Aggregation(child=child) if _folds(child) and not _has_window(plan):
            yield _refused(
                "an aggregation of an aggregation changes with every row",
                None,
                "use a stream window in GROUP BY, whose groups come to an end",
            )
        case Recursion() | Pivot() if is_stream(node):
            name = "WITH RECURSIVE" if isinstance(node, Recursion) else "PIVOT"
            yield _refused(
                f"{name} waits for the last row of a stream",
                None,
                "run it as a query over what is there now",
            )
        case NearestJoin(ranking=ranking) if is_stream(node):
            yield _refused(
                "which rows are the nearest is known when all of them are there",
                ranking.span,
                "run it as a query over what is there now",
            )
        case Join(lateral=True):
            yield _refused(
                "a LATERAL subquery asks anew for each row, which no pipeline can",
                None,
                "use LATERAL VIEW for a generator, or a join",
            )
        case Join():
            yield _join_problem(node, plan)


def _join_problem(join: Join, plan: Node) -> Problem | None:
    left, right = is_stream(join.left), is_stream(join.right)
    span = join.condition.span if join.condition is not None else None
    if left and right:
        return _two_streams(join, plan, span)
    if not left and not right:
        return None
    stream = "left" if left else "right"
    if join.kind is JoinKind.FULL:
        return _refused(
            "a full join of a stream with a table waits for rows that no table row will ever match",
            span,
            "use LEFT JOIN with the stream on the left",
        )
    kept = _KEPT_SIDE.get(join.kind)
    if kept is not None and kept != stream:
        return _refused(
            f"a {join.kind.value} join must have the stream on the {kept} side: that a table's row"
            " matches nothing is never certain",
            span,
            "swap the two sides",
        )
    return None


def _two_streams(join: Join, plan: Node, span: Span | None) -> Problem | None:
    if not any(_is_equality_of_sides(conjunct, join) for conjunct in _conjuncts(join)):
        return _refused(
            "two streams can only be joined by equality of something", span, "add `ON l.k = r.k`"
        )
    if join.kind is JoinKind.ANTI:
        return _refused(
            "an anti join of two streams never knows that no match will come", span, "use LEFT JOIN"
        )
    if join.kind is not JoinKind.INNER and not _is_bounded(join):
        return _refused(
            f"a {join.kind.value} join of two streams needs watermarks and a bound on event times,"
            " or it would wait for a match for ever",
            span,
            "declare `eventtime` (a TIMESTAMP) and `watermark` for both streams, and compare the"
            " event times in ON: `AND r.ts BETWEEN l.ts AND l.ts + INTERVAL 1 HOUR`",
        )
    if any(node.folds for node in topological(plan)):
        if _has_window(plan):
            return None
        return _refused(
            "aggregates over a join of two streams change with every row",
            span,
            "use a stream window in GROUP BY, or join in a pipeline of its own",
        )
    return None


def _notices(node: Node) -> Iterator[Notice]:
    if not (isinstance(node, Join) and is_stream(node.left) and is_stream(node.right)):
        return
    if not _is_bounded(node):
        yield Notice(
            "unbounded_state",
            "the join keeps every row of both streams for ever",
            "declare `eventtime` (a TIMESTAMP) and `watermark` for both, and compare the event"
            " times in ON",
        )


def _is_bounded(join: Join) -> bool:
    """Whether some comparison in the condition relates the event times of both sides."""
    left, right = _event_times(join.left), _event_times(join.right)
    for conjunct in _conjuncts(join):
        if isinstance(conjunct, Call) and conjunct.function in _COMPARISONS:
            used = {column.id for column in columns_of(conjunct)}
            if used & left and used & right:
                return True
    return False


def _event_times(node: Node) -> set[ColumnId]:
    """The event-time columns that a watermark follows, and that the node hands up. (It follows the
    time that a number means, and not the number: by that nobody knows which rows are too old.)"""
    sources = [n for n in topological(node) if isinstance(n, DataSource)]
    times = {
        source.relation.column(source.source.row.ordinal(source.source.eventtime)).id
        for source in sources
        if source.source.eventtime is not None
        and source.source.eventtime_unit is None
        and "watermark" in source.source.options
    }
    return times & {column.id for column in node.outputs}


def _is_equality_of_sides(conjunct: Expr, join: Join) -> bool:
    if not (isinstance(conjunct, Call) and conjunct.function == _EQUALS):
        return False
    left = {column.id for column in join.left.outputs}
    right = {column.id for column in join.right.outputs}
    one, other = ({column.id for column in columns_of(arg)} for arg in conjunct.args)
    return bool(one and other) and (
        (one <= left and other <= right) or (one <= right and other <= left)
    )


def _conjuncts(join: Join) -> list[Expr]:
    return [] if join.condition is None else split(join.condition)


def _folds(node: Node) -> bool:
    return any(below.folds and is_stream(below) for below in topological(node))


def _has_window(plan: Node) -> bool:
    return any(isinstance(node, Window) for node in topological(plan))


def _refused(message: str, span: Span | None, hint: str) -> Problem:
    return fail(Code.NOT_SUPPORTED, message, span, hint).problems[0]
