"""HAVING: a condition on groups, which may use the names of the select list.

Columns go before those, but one that is in no group says nothing of groups, and gives way to an
item of its name, as in Spark:

    SELECT k, sum(b) AS b FROM t GROUP BY k HAVING b > 8            the sum
    SELECT k, sum(b) AS b FROM t GROUP BY k HAVING max(b) > 8       the column
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from sqlglot import exp

from narrows.expressions.function import Kind
from narrows.expressions.nodes import Cast, Column, ColumnId, Expr
from narrows.functions.canonical import canonical
from narrows.logical.builder.clauses import Grouping
from narrows.logical.builder.subqueries import WaitingSubqueries
from narrows.logical.nodes import is_aggregate
from narrows.schema import BOOLEAN, UNKNOWN
from narrows.sql.binder.expression import Binder

ON_GROUPS = (Kind.AGGREGATE, Kind.STATEFUL, Kind.WINDOW_BOUND)


def bind_having(
    node: exp.Expr, grouping: Grouping | None, binder: Binder, subqueries: WaitingSubqueries
) -> Expr:
    keys = {canonical(key) for key in grouping.keys} if grouping is not None else set()
    scope = binder.scope
    scope.ungrouped = frozenset()
    try:
        having = binder.bind_in("HAVING", node, *ON_GROUPS)
        scope.ungrouped = frozenset(_ungrouped(having, keys, subqueries))
        if scope.ungrouped:
            having = binder.bind_in("HAVING", node, *ON_GROUPS)
    finally:
        scope.ungrouped = None
    if having.dtype in (BOOLEAN, UNKNOWN):
        return having
    # It takes any value for a condition, as in Spark; WHERE does not.
    return Cast(operand=having, to=BOOLEAN.sql(), dtype=BOOLEAN, span=having.span)


def _ungrouped(
    expr: Expr, keys: Collection[Expr], subqueries: WaitingSubqueries
) -> Iterator[ColumnId]:
    """The columns that are neither a part of a key nor of an aggregate."""
    if canonical(expr) in keys or is_aggregate(expr):
        return
    children = expr.children
    if isinstance(expr, Column):
        asked = subqueries.used_by([expr])
        children = tuple(operand for subquery in asked for operand in subquery.operands)
        if not asked:
            yield expr.id
    for child in children:
        yield from _ungrouped(child, keys, subqueries)
