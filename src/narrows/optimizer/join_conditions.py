"""What PredicatePushdown does at a join: which conjuncts filter a side, and which join.

A row that is dropped below a join must not have turned up above it. That is so for a side that is
never padded with NULLs when the conjunct stood above the join, and for a side whose rows the
condition drops when it stood in the condition.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from narrows.expressions.nodes import Expr, columns_of
from narrows.logical.conjuncts import conjunction, is_deterministic, split, with_filter
from narrows.logical.nodes import Join, JoinKind, Node
from narrows.sql.binder.literals import literal

_INNER = (JoinKind.INNER, JoinKind.CROSS)
_LEFT_IS_KEPT = (*_INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI)
"""Joins that never pad the left side with NULLs."""
_RIGHT_IS_KEPT = (*_INNER, JoinKind.RIGHT)

_CONDITION_DROPS_LEFT = (*_INNER, JoinKind.RIGHT, JoinKind.SEMI)
"""Joins in whose result no left row stands for which the condition never held."""
_CONDITION_DROPS_RIGHT = (*_INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI)


def into_join(conjuncts: Sequence[Expr], join: Join) -> Node | None:
    """Moves conjuncts of a filter above a join into its sides, or into its condition."""
    sides = _divide(conjuncts, join, _LEFT_IS_KEPT, _RIGHT_IS_KEPT)
    joining = sides.both if join.kind in _INNER else []
    staying = [*sides.others, *(sides.both if not joining else ())]
    if not sides.left and not sides.right and not joining:
        return None
    pushed = _with_filters(join, sides)
    if joining:
        before = [] if join.condition is None else split(join.condition)
        condition = conjunction([*before, *joining])
        pushed = replace(pushed, kind=JoinKind.INNER, condition=condition)
    return with_filter(pushed, staying)


def out_of_condition(join: Join) -> Node | None:
    """Moves conjuncts of a join's condition into its sides."""
    if join.condition is None:
        return None
    conjuncts = split(join.condition)
    sides = _divide(conjuncts, join, _CONDITION_DROPS_LEFT, _CONDITION_DROPS_RIGHT)
    if not sides.left and not sides.right:
        return None
    pushed = _with_filters(join, sides)
    staying = [*sides.both, *sides.others]
    if staying:
        return replace(pushed, condition=conjunction(staying))
    if join.kind is JoinKind.INNER:
        return replace(pushed, kind=JoinKind.CROSS, condition=None)
    return replace(pushed, condition=literal(True))


@dataclass
class _Sides:
    left: list[Expr] = field(default_factory=list)
    right: list[Expr] = field(default_factory=list)
    both: list[Expr] = field(default_factory=list)
    """Those that look at both sides."""
    others: list[Expr] = field(default_factory=list)


def _divide(
    conjuncts: Sequence[Expr],
    join: Join,
    to_left: Collection[JoinKind],
    to_right: Collection[JoinKind],
) -> _Sides:
    """Which conjuncts may go to which side, where the kind of the join lets them. A lateral side is
    left as it is: what Spark can do with it depends on its shape."""
    left = {column.id for column in join.left.outputs}
    right = {column.id for column in join.right.outputs}
    sides = _Sides()
    for conjunct in conjuncts:
        used = {column.id for column in columns_of(conjunct)}
        if not used or not is_deterministic(conjunct):
            sides.others.append(conjunct)
        elif used <= left:
            (sides.left if join.kind in to_left else sides.others).append(conjunct)
        elif used <= right and not join.lateral:
            (sides.right if join.kind in to_right else sides.others).append(conjunct)
        else:
            (sides.both if used <= left | right else sides.others).append(conjunct)
    return sides


def _with_filters(join: Join, sides: _Sides) -> Join:
    return join.with_children(
        [with_filter(join.left, sides.left), with_filter(join.right, sides.right)]
    )
