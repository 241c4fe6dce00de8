"""Binds function calls, and the clauses that may stand after a call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from narrows.errors import Code, NarrowsError, Span, did_you_mean, fail
from narrows.expressions.function import Function, Kind
from narrows.expressions.nodes import Call, Expr, SortKey, columns_of
from narrows.schema import quoted
from narrows.sql.binder.arguments import FOLDING, IN_ANALYTIC, bind_arguments
from narrows.sql.binder.context import find_function, refused, span_of
from narrows.sql.binder.written_out import written_out

if TYPE_CHECKING:
    from narrows.sql.binder.expression import Binder

_EVERYWHERE = frozenset({Kind.SCALAR, Kind.OPERATOR})
_WITH_FILTER = frozenset({Kind.AGGREGATE, Kind.STATEFUL, Kind.ANALYTIC})


@dataclass
class _Clauses:
    """What was written after a call."""

    filter: exp.Expr | None = None
    over: exp.Window | None = None
    within_group: exp.Expr | None = None
    ignore_nulls: bool = False


def bind_call(binder: Binder, node: exp.Expr) -> Expr:
    clauses = _Clauses()
    call = _unwrap(node, clauses)
    if isinstance(call, (exp.Dot, exp.Column)):
        call = _unwrap(_qualified(call), clauses)
    if not isinstance(call, exp.Anonymous):
        raise fail(Code.SYNTAX_ERROR, "expected a function call before this clause", span_of(node))
    span = _name_span(call)
    function = find_function(binder.functions, call.name, span)
    if clauses.over is not None:
        clauses.over = _with_named_window(binder, clauses.over)
        if _is_analytic(function, clauses.over):
            function = replace(function, kind=Kind.ANALYTIC)
    if _may_be_around(binder, function):
        found = _aggregate_around(binder, function, call, span)
        if found is not None:
            return written_out(binder, _apply_clauses(binder, found, clauses, span))
    _check_place(binder, function, clauses, span)
    bound = bind_arguments(binder, function, call, span)
    return written_out(binder, _apply_clauses(binder, bound, clauses, span))


def _qualified(node: exp.Dot | exp.Column) -> exp.Expr:
    """`shop.f(x)` calls a function of that name; where Spark keeps its own is no part of theirs."""
    *path, called = node.parts if isinstance(node, exp.Column) else [*_steps(node)]
    call = called.find(exp.Anonymous)
    if call is None or tuple(part.name.lower() for part in path) in _OF_THE_SYSTEM:
        return called
    name = ".".join(quoted(part.name) for part in (*path, call))
    whole = exp.Anonymous(this=name, expressions=call.expressions)
    span = Span.around(map(span_of, path))
    whole.meta.update(call.meta if span is None else {"start": span.start, "end": span.end - 1})
    if called is call:
        return whole
    return type(called)(**{**called.args, "this": whole})  # FILTER and WITHIN GROUP come after it


def _steps(node: exp.Expr) -> Iterator[exp.Expr]:
    if isinstance(node, exp.Dot):
        yield from _steps(node.this)
        yield node.expression
    else:
        yield node


_OF_THE_SYSTEM = (
    *(("builtin",), ("system", "builtin")),
    *(("session",), ("system", "session")),
)


def _may_be_around(binder: Binder, function: Function) -> bool:
    """Whether an aggregate may be one of the query around: it cannot stand here."""
    around = binder.scope.outer
    here = function.kind in binder.allowed
    return (
        function.kind is Kind.AGGREGATE
        and not here
        and around is not None
        and (Kind.AGGREGATE in around.asking)
    )


def _aggregate_around(
    binder: Binder, function: Function, call: exp.Anonymous, span: Span | None
) -> Call | None:
    """`HAVING EXISTS (SELECT 1 FROM u WHERE u.w < sum(t.v))`: the sum is one of the outer groups,
    for it looks at nothing else."""
    bound = bind_arguments(binder, function, call, span)
    mine = {relation.id for relation in binder.scope.relations}
    used = [column.id.relation for column in columns_of(bound)]
    return bound if used and not mine & set(used) else None


def _is_analytic(function: Function, over: exp.Window) -> bool:
    """Aggregates with OVER, and functions that remember rows where the query sorts them itself."""
    if function.kind is Kind.STATEFUL:
        return bool(over.args.get("order") or over.args.get("spec"))
    return function.kind is Kind.AGGREGATE


def _with_named_window(binder: Binder, over: exp.Window) -> exp.Window:
    """`OVER w` and `OVER (w ORDER BY a)`, with what WINDOW says of `w`."""
    name = over.args.get("alias")
    if name is None:
        return over
    named = binder.named_windows.get(name.name.casefold())
    if named is None:
        raise fail(
            Code.UNKNOWN_OBJECT,
            f"window `{name.name}` not found",
            span_of(name),
            did_you_mean(name.name, binder.named_windows)
            or "declare it: `WINDOW w AS (PARTITION BY ...)`",
        )
    named = _with_named_window(binder, named)
    parts = {key: over.args.get(key) or named.args.get(key) for key in _PARTS_OF_OVER}
    return exp.Window(this=over.this, **parts)


_PARTS_OF_OVER = ("partition_by", "order", "spec")


def _unwrap(node: exp.Expr, clauses: _Clauses) -> exp.Expr:
    while True:
        match node:
            case exp.Window():
                clauses.over = node
            case exp.Filter():
                clauses.filter = node.expression.this
            case exp.WithinGroup():
                clauses.within_group = node.expression
            case exp.IgnoreNulls():
                clauses.ignore_nulls = True
            case exp.RespectNulls():
                pass  # what SQL does anyway
            case _:
                return node
        node = node.this


def _name_span(call: exp.Anonymous) -> Span | None:
    start, end = call.meta.get("start"), call.meta.get("end")
    return Span(start, end + 1) if start is not None and end is not None else None


def _check_place(binder: Binder, function: Function, clauses: _Clauses, span: Span | None) -> None:
    kind = function.kind
    if kind is Kind.ANALYTIC and clauses.over is None:
        raise fail(
            Code.MISPLACED_FUNCTION,
            f"analytic function `{function.name}` needs an OVER clause",
            span,
            f"for example `{function.name}(...) OVER (PARTITION BY ... ORDER BY ...)`",
        )
    if kind in _EVERYWHERE or kind in binder.allowed:
        return
    hints = {
        Kind.AGGREGATE: "a condition on an aggregate belongs into HAVING"
        if binder.clause == "WHERE"
        else None,
        Kind.STREAM_WINDOW: f"write it in GROUP BY: `GROUP BY {function.name}(...)`",
        Kind.GENERATOR: f"use `LATERAL VIEW {function.name}(...) t AS x`",
        Kind.WINDOW_BOUND: "it needs a window in GROUP BY, and stands in SELECT or HAVING",
    }
    raise fail(
        Code.MISPLACED_FUNCTION,
        f"{kind.value} function `{function.name}` is not allowed in {binder.clause}",
        span,
        hints.get(kind),
    )


# --- clauses --------------------------------------------------------------------------------------


def _apply_clauses(binder: Binder, call: Call, clauses: _Clauses, span: Span | None) -> Call:
    function = call.function
    if clauses.ignore_nulls:
        if function.kind not in FOLDING:
            raise _no_clause(function, "IGNORE NULLS", span)
        call = replace(call, ignore_nulls=True)
    if clauses.filter is not None:
        if function.kind not in _WITH_FILTER:
            raise _no_clause(function, "FILTER", span)
        call = replace(call, filter=_bind_row(binder, clauses.filter))
    if clauses.within_group is not None:
        if function.kind not in FOLDING:
            raise _no_clause(function, "WITHIN GROUP", span)
        with binder.within("WITHIN GROUP", binder.allowed & {Kind.STATEFUL}):
            keys = bind_sort_keys(binder, clauses.within_group.expressions)
        call = replace(call, order_by=keys)
    if clauses.over is not None and function.kind is Kind.ANALYTIC:
        return _with_over(binder, call, clauses.over)
    if clauses.over is not None:
        call = replace(call, partition_by=_bind_partition(binder, function, clauses.over, span))
    return call


def _bind_row(binder: Binder, node: exp.Expr) -> Expr:
    """An expression that looks at single rows, inside a clause that may hold aggregates."""
    with binder.within("a clause of a call", binder.allowed & {Kind.STATEFUL}):
        return binder.bind(node)


def _with_over(binder: Binder, call: Call, over: exp.Window) -> Call:
    with binder.within("OVER", binder.allowed & IN_ANALYTIC):
        partition_by = tuple(binder.bind(key) for key in over.args.get("partition_by") or ())
        order = over.args.get("order")
        sorted_by = bind_sort_keys(binder, order.expressions) if order is not None else ()
    spec = over.args.get("spec")
    frame = _frame_text(spec) if spec is not None else None
    return replace(call, partition_by=partition_by, sorted_by=sorted_by, frame=frame)


def _frame_text(spec: exp.Expr) -> str:
    """`ROWS BETWEEN 2 PRECEDING AND CURRENT ROW`, with its words in capitals."""
    words = {key: part.upper() for key, part in spec.args.items() if isinstance(part, str)}
    return type(spec)(**{**spec.args, **words}).sql(dialect="spark")


def _bind_partition(
    binder: Binder, function: Function, over: exp.Window, span: Span | None
) -> tuple[Expr, ...]:
    if function.kind not in (Kind.STATEFUL, Kind.STREAM_WINDOW):
        raise _no_clause(function, "OVER", span)
    for unwanted, text in (("order", "ORDER BY"), ("spec", "a frame"), ("alias", "a named window")):
        if over.args.get(unwanted):
            raise fail(
                Code.NOT_SUPPORTED,
                f"`{function.name}(...) OVER (...)` with {text} cannot be planned yet",
                span_of(over) or span,
                "stateful functions follow the order of the stream: `OVER (PARTITION BY ...)`",
            )
    return tuple(_bind_row(binder, key) for key in over.args.get("partition_by") or ())


def _no_clause(function: Function, clause: str, span: Span | None) -> NarrowsError:
    return fail(
        Code.SYNTAX_ERROR,
        f"{function.kind.value} function `{function.name}` takes no {clause}",
        span,
    )


def bind_sort_keys(binder: Binder, nodes: Sequence[exp.Expr]) -> tuple[SortKey, ...]:
    return tuple(sort_key(node, binder.bind(node.this)) for node in nodes)


def sort_key(node: exp.Expr, expr: Expr) -> SortKey:
    if not isinstance(node, exp.Ordered):
        raise refused("this kind of ORDER BY", node)
    return SortKey(expr, bool(node.args.get("desc")), bool(node.args.get("nulls_first")))
