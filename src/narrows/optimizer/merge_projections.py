"""A part of ProjectionPushdown: a projection right above a projection becomes one.

`SELECT q.b.c FROM (SELECT b FROM s) q` then reads `s.b->c`, and no struct `b` is put together.
"""

from __future__ import annotations

from collections import Counter

from narrows.expressions.nodes import (
    Column,
    ColumnId,
    ElementAccess,
    Expr,
    FieldAccess,
    Literal,
    columns_of_all,
    in_place,
    rewrite,
)
from narrows.logical.conjuncts import is_deterministic
from narrows.logical.nodes import Node, Project
from narrows.logical.walk import transform_up


def merge_projections(plan: Node) -> Node | None:
    return transform_up(plan, _merge)


def _merge(node: Node) -> Node | None:
    if not (isinstance(node, Project) and isinstance(node.child, Project)):
        return None
    below = node.child
    meaning = {
        ColumnId(below.relation.id, ordinal): in_place(expr)
        for ordinal, (_, expr) in enumerate(below.fields)
    }
    uses = Counter(column.id for column in columns_of_all(node.expressions))
    for column, expr in meaning.items():
        if not is_deterministic(expr) or not (is_access(expr) or uses[column] <= 1):
            return None
    merged = [
        rewrite(expr, lambda part: meaning.get(part.id) if isinstance(part, Column) else None)
        for expr in node.expressions
    ]
    return node.with_children([below.child]).with_expressions(merged)


def is_access(expr: Expr) -> bool:
    """Whether a value is merely looked up, which may be done twice."""
    match expr:
        case Column() | Literal():
            return True
        case FieldAccess(base=base):
            return is_access(base)
        case ElementAccess(base=base, index=index):
            return is_access(base) and is_access(index)
        case _:
            return False
