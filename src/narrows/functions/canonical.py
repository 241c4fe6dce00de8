"""When two expressions mean the same though they are written in another order: `a + b`, `b + a`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from narrows.expressions.nodes import Call, Expr
from narrows.functions.operators import operator

_COMMUTATIVE = frozenset(operator(name) for name in ("+", "*", "&", "|", "^", "=", "<=>"))
_LISTS = frozenset(operator(name) for name in ("and", "or"))
_CHAINS = frozenset(operator(name) for name in ("+", "*", "&", "|", "^", "and", "or"))
_FLIPPED = {operator(">"): operator("<"), operator(">="): operator("<=")}


def canonical(expr: Expr) -> Expr:
    """One of all the expressions that mean the same; to compare with, not to compute."""
    children = expr.children
    changed = tuple(canonical(child) for child in children)
    if any(new is not old for new, old in zip(changed, children, strict=True)):
        expr = expr.with_children(changed)
    if not isinstance(expr, Call):
        return expr
    flipped = _FLIPPED.get(expr.function)
    if flipped is not None:
        return replace(expr, function=flipped, args=expr.args[::-1])
    if expr.function in _COMMUTATIVE or expr.function in _LISTS:
        args = _operands(expr) if expr.function in _CHAINS else expr.args
        return replace(expr, args=tuple(sorted(args, key=repr)))
    return expr


def _operands(call: Call) -> Iterator[Expr]:
    """`a + b + c` has three."""
    for arg in call.args:
        if isinstance(arg, Call) and arg.function == call.function:
            yield from _operands(arg)
        else:
            yield arg
