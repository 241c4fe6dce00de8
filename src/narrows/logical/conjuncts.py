"""Conditions as lists of conjuncts, which the rules move one by one."""

from __future__ import annotations

from collections.abc import Sequence

from narrows.expressions.nodes import Call, Expr, walk
from narrows.functions import operator
from narrows.logical.nodes import Filter, Node

_AND = operator("and")


def split(predicate: Expr) -> list[Expr]:
    """`a AND b AND c` as its parts."""
    if isinstance(predicate, Call) and predicate.function == _AND:
        return [part for arg in predicate.args for part in split(arg)]
    return [predicate]


def conjunction(conjuncts: Sequence[Expr]) -> Expr:
    if len(conjuncts) == 1:
        return conjuncts[0]
    return Call(function=_AND, args=tuple(conjuncts), dtype=_AND.result(conjuncts))


def with_filter(node: Node, conjuncts: Sequence[Expr], kind: type[Filter] = Filter) -> Node:
    return kind(child=node, predicate=conjunction(conjuncts)) if conjuncts else node


def is_deterministic(expr: Expr) -> bool:
    return all(
        part.function.deterministic and part.function.known
        for part in walk(expr)
        if isinstance(part, Call)
    )
