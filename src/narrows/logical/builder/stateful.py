"""Puts calls that remember earlier rows into nodes of their own, right above the sources.

They see every row of the stream in its order, before WHERE: what `lag(a)` remembers must not depend
on which rows the query shows. (To remember only some rows, there is FILTER.) Identical calls are
computed once; a call inside a call is computed in a node below.
"""

from __future__ import annotations

from collections.abc import Iterable

from narrows.errors import Code
from narrows.expressions.function import Kind
from narrows.expressions.nodes import Call, Column, Expr, calls_of_all, rewrite
from narrows.functions import builtin_functions
from narrows.functions.canonical import canonical
from narrows.logical.builder.clauses import Clauses
from narrows.logical.builder.declared_arguments import check_arguments
from narrows.logical.nodes import (
    NamedExpr,
    Node,
    StatefulFunction,
    as_call,
    default_name,
    is_aggregate,
    relation_of,
)
from narrows.sql.binder.context import Ids


def plan_stateful(plan: Node, clauses: Clauses, remembering: Iterable[Expr], ids: Ids) -> Node:
    """The plan with a node for each level of the calls that remember rows, which `stateful_calls`
    has found."""
    found = [as_call(expr) for expr in remembering]
    for call in found:
        assert call.function.remembers is not None
        check_arguments(call, call.function.remembers, Code.WRONG_TYPE)
    levels: dict[int, int] = {}
    by_level: dict[int, list[Call]] = {}
    for call in found:
        by_level.setdefault(_level(call, levels), []).append(call)
    computed: dict[Expr, Column] = {}
    for level in sorted(by_level):
        originals = by_level[level]
        calls = [as_call(_replace_inside(call, computed)) for call in originals]
        named = [
            NamedExpr(default_name(original), call)
            for original, call in zip(originals, calls, strict=True)
        ]
        relation = relation_of(ids.new(), None, named)
        plan = StatefulFunction(child=plan, calls=tuple(calls), relation=relation)
        for ordinal, call in enumerate(originals):
            computed[call] = relation.column(ordinal, call.span)
    if computed:
        clauses.rewrite(computed.get)
    return plan


def take_last_rows(clauses: Clauses) -> None:
    """Beside aggregates of a window, a call that remembers rows has its value on the last row of
    the group: `lag(a)` is `last_row(lag(a))`."""
    grouping = clauses.grouping
    if grouping is None or grouping.window is None:
        return
    if not any(map(is_aggregate, calls_of_all(clauses.after_grouping()))):
        return  # then the window emits its rows
    keys = {canonical(key) for key in (*grouping.keys, *grouping.window.partition_by)}
    last_row = builtin_functions().find("last_row")
    assert last_row is not None

    def change(expr: Expr) -> Expr | None:
        if is_aggregate(expr) or canonical(expr) in keys:
            return expr
        if _is_stateful(expr):
            return Call(function=last_row, args=(expr,), dtype=expr.dtype, span=expr.span)
        return None

    clauses.rewrite_after_grouping(change)


def stateful_calls(clauses: Clauses) -> dict[Expr, None]:
    return dict.fromkeys(filter(_is_stateful, calls_of_all(clauses.expressions())))


def _is_stateful(expr: Expr) -> bool:
    return isinstance(expr, Call) and expr.function.kind is Kind.STATEFUL


def _level(expr: Expr, known: dict[int, int]) -> int:
    """How many stateful calls are nested in an expression, itself included."""
    if id(expr) not in known:
        inner = max((_level(child, known) for child in expr.children), default=0)
        known[id(expr)] = inner + _is_stateful(expr)
    return known[id(expr)]


def _replace_inside(call: Call, computed: dict[Expr, Column]) -> Expr:
    return call.with_children(tuple(rewrite(child, computed.get) for child in call.children))
