"""ROLLUP, CUBE and GROUPING SETS, spelled out: which keys each set of groups is made by.

`GROUP BY a, ROLLUP(b, c)` has the sets (a, b, c), (a, b), (a): every element of GROUP BY stands for
some sets, and the query's sets are all combinations of one of each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations, product

from sqlglot import exp

from narrows.expressions.nodes import Expr
from narrows.sql.binder.context import refused

KeySet = tuple[Expr, ...]
GroupElement = list[KeySet]
"""The sets that one element of GROUP BY stands for; a plain key stands for one."""

BindKey = Callable[[exp.Expr], list[Expr]]

_MOST_SETS = 4096
"""Spark's own limit is far lower; this one keeps CUBE of 30 keys from being written out."""


def expand(node: exp.Expr, bind: BindKey) -> GroupElement:
    """The sets of one element of GROUP BY."""
    match node:
        case exp.Rollup():
            return _prefixes([_keys(part, bind) for part in node.expressions])
        case exp.Cube():
            return _subsets([_keys(part, bind) for part in node.expressions], node)
        case exp.GroupingSets():
            return [
                key_set
                for part in node.expressions
                for key_set in (
                    expand(part, bind)
                    if isinstance(part, (exp.Rollup, exp.Cube, exp.GroupingSets))
                    else [_keys(part, bind)]
                )
            ]
        case _:
            return [tuple(bind(node))]


def combine(
    elements: Sequence[GroupElement], group: exp.Group, bind: BindKey
) -> list[KeySet] | None:
    """The sets of the whole GROUP BY; None where it is an ordinary one."""
    if group.args.get("rollup"):  # GROUP BY a, b WITH ROLLUP
        return _prefixes([key_set for (key_set,) in elements])
    if group.args.get("cube"):
        return _subsets([key_set for (key_set,) in elements], group)
    if group.args.get("grouping_sets"):  # GROUP BY a, b GROUPING SETS (...): the keys, then sets
        (sets,) = group.args["grouping_sets"]
        return expand(sets, bind)
    if all(len(element) == 1 for element in elements) and not _has_sets(group):
        return None
    chosen = [tuple(key for part in parts for key in part) for parts in product(*elements)]
    if len(chosen) > _MOST_SETS:
        raise refused(f"GROUP BY with {len(chosen)} grouping sets", group)
    return chosen


def _has_sets(group: exp.Group) -> bool:
    return any(isinstance(e, (exp.Rollup, exp.Cube, exp.GroupingSets)) for e in group.expressions)


def _keys(node: exp.Expr, bind: BindKey) -> KeySet:
    """One key, or several in brackets that go together."""
    match node:
        case exp.Tuple():
            return tuple(key for part in node.expressions for key in bind(part))
        case exp.Paren():
            return _keys(node.this, bind)
        case _:
            return tuple(bind(node))


def _prefixes(parts: Sequence[KeySet]) -> GroupElement:
    return [
        tuple(key for part in parts[:count] for key in part) for count in range(len(parts), -1, -1)
    ]


def _subsets(parts: Sequence[KeySet], node: exp.Expr) -> GroupElement:
    if 2 ** len(parts) > _MOST_SETS:
        raise refused(f"CUBE of {len(parts)} keys", node)
    return [
        tuple(key for part in chosen for key in part)
        for count in range(len(parts), -1, -1)
        for chosen in combinations(parts, count)
    ]
