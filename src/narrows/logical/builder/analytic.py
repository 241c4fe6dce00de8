"""Calls with an OVER clause, such as `rank() OVER (PARTITION BY k ORDER BY a)`.

They look at rows of the result: after grouping, before DISTINCT, ORDER BY and LIMIT. Identical
calls are computed once.
"""

from __future__ import annotations

from narrows.expressions.function import Kind
from narrows.expressions.nodes import Call, Expr, calls_of_all
from narrows.logical.builder.clauses import Clauses
from narrows.logical.nodes import NamedExpr, Node, default_name, relation_of
from narrows.logical.relational_nodes import Analytic
from narrows.sql.binder.context import Ids


def plan_analytic(plan: Node, clauses: Clauses, ids: Ids) -> Node:
    calls = dict.fromkeys(filter(is_analytic, calls_of_all(clauses.after_grouping())))
    named = [NamedExpr(default_name(call), call) for call in calls]
    if not named:
        return plan
    relation = relation_of(ids.new(), None, named)
    computed: dict[Expr, Expr] = {
        call: relation.column(ordinal, call.span) for ordinal, (_, call) in enumerate(named)
    }
    clauses.rewrite_after_grouping(computed.get)
    return Analytic(child=plan, calls=tuple(calls), relation=relation)


def is_analytic(call: Call) -> bool:
    return call.function.kind is Kind.ANALYTIC
