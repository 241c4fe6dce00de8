"""CommonConjuncts: what every branch of an OR asks for is asked once, before it.

SQL:     SELECT a FROM deep WHERE (a = 1 AND p->u > 2) OR (a = 1 AND nums[0] > 3)
Before:  Project fields=[deep.a]
         └─Filter predicate=deep.a = 1 AND deep.p->u > 2 OR deep.a = 1 AND deep.nums[0] > 3
           └─DataSource source=deep
After:   Project fields=[deep.a]
         └─Filter predicate=deep.a = 1 AND (deep.p->u > 2 OR deep.nums[0] > 3)
           └─DataSource source=deep

As a conjunct of its own it can move: to one side of a join, into a reader, and `x.k = y.k` in every
branch makes a join of what would have been a product.

Recognises: conjuncts of a Filter, or of the condition of a join, that are ORs whose branches have
conjuncts in common. A branch that asks for nothing else makes the OR true wherever it is asked, so
the rest goes away.

Refuses: conjuncts that are not deterministic: each branch would have drawn its own lots.

Sound with NULLs: AND distributes over OR in SQL's three truth values, too.

Terminates: every step leaves fewer conjuncts in ORs.
"""

from __future__ import annotations

from dataclasses import replace

from narrows.expressions.nodes import Call, Expr
from narrows.functions import operator
from narrows.logical.conjuncts import conjunction, is_deterministic, split
from narrows.logical.nodes import Filter, Join, Node
from narrows.logical.walk import transform_up

_OR = operator("or")


class CommonConjuncts:
    def apply(self, plan: Node) -> Node | None:
        return transform_up(plan, _factor_node)


def _factor_node(node: Node) -> Node | None:
    match node:
        case Filter(predicate=predicate):
            factored = _factor(predicate)
            return None if factored is None else replace(node, predicate=factored)
        case Join(condition=condition) if condition is not None:
            factored = _factor(condition)
            return None if factored is None else replace(node, condition=factored)
        case _:
            return None


def _factor(predicate: Expr) -> Expr | None:
    """The predicate with common conjuncts before its ORs; None when there are none."""
    conjuncts = split(predicate)
    factored = [_factor_or(conjunct) for conjunct in conjuncts]
    if all(parts is None for parts in factored):
        return None
    return conjunction(
        [
            part
            for parts, conjunct in zip(factored, conjuncts, strict=True)
            for part in ([conjunct] if parts is None else parts)
        ]
    )


def _factor_or(conjunct: Expr) -> list[Expr] | None:
    """`(a AND b) OR (a AND c)` as `a` and `b OR c`; None where nothing is common."""
    branches = [split(branch) for branch in _branches(conjunct)]
    if len(branches) < 2:
        return None
    first, *others = branches
    common = [
        part
        for part in dict.fromkeys(first)
        if is_deterministic(part) and all(part in other for other in others)
    ]
    if not common:
        return None
    rests = [[part for part in branch if part not in common] for branch in branches]
    if not all(rests):
        return common
    rest = tuple(conjunction(parts) for parts in rests)
    return [*common, Call(function=_OR, args=rest, dtype=_OR.result(rest))]


def _branches(expr: Expr) -> list[Expr]:
    if isinstance(expr, Call) and expr.function == _OR:
        return [branch for arg in expr.args for branch in _branches(arg)]
    return [expr]
