"""ImpliedTests: what an OR over several sources says about one of them is a test of its own.

SQL:     SELECT t1.a FROM t1, t2 WHERE (t1.a = 1 AND t2.b = 1) OR t1.a = 2
Before:  Project fields=[t1.a]
         └─Filter predicate=t1.a = 1 AND t2.b = 1 OR t1.a = 2
           └─Join
             ├─DataSource source=t1
             └─DataSource source=t2
After:   Project fields=[t1.a]
         └─Filter predicate=(t1.a = 1 AND t2.b = 1 OR t1.a = 2) AND (t1.a = 1 OR t1.a = 2)
           └─Join
             ├─DataSource source=t1
             └─DataSource source=t2

The OR itself stays where both sources are known; what it implies goes down to one of them, into its
reader if that can test it, and from there it may leave few rows of others (`JoinFilterIntoReader`).

Recognises: conjuncts of a Filter that are ORs of which every branch asks something of the same one
source, and that look at others, too.

Refuses: where a branch asks nothing of that source. What is not deterministic.

Sound with NULLs: if an OR is true, so is a branch, and all that it asks for.

Terminates: what is implied looks at one source, and implies nothing; what is there already is not
added again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from narrows.expressions.nodes import Call, Expr, columns_of
from narrows.functions import operator
from narrows.logical.conjuncts import conjunction, is_deterministic, split
from narrows.logical.nodes import Filter, Node
from narrows.logical.walk import transform_up

_OR = operator("or")


class ImpliedTests:
    def apply(self, plan: Node) -> Node | None:
        return transform_up(plan, _add)


def _add(node: Node) -> Node | None:
    if not isinstance(node, Filter):
        return None
    conjuncts = split(node.predicate)
    implied = [test for conjunct in conjuncts for test in _implied(conjunct)]
    new = [test for test in dict.fromkeys(implied) if test not in conjuncts]
    return replace(node, predicate=conjunction([*conjuncts, *new])) if new else None


def _implied(conjunct: Expr) -> Iterator[Expr]:
    branches = [split(branch) for branch in _branches(conjunct)]
    relations = sorted(_relations(conjunct))
    if len(branches) < 2 or len(relations) < 2:
        return
    for relation in relations:
        asked = [[test for test in branch if _relations(test) == {relation}] for branch in branches]
        if all(asked) and all(is_deterministic(test) for tests in asked for test in tests):
            args = tuple(dict.fromkeys(conjunction(tests) for tests in asked))
            yield (
                args[0] if len(args) == 1 else Call(function=_OR, args=args, dtype=_OR.result(args))
            )


def _relations(expr: Expr) -> set[int]:
    return {column.id.relation for column in columns_of(expr)}


def _branches(expr: Expr) -> list[Expr]:
    if isinstance(expr, Call) and expr.function == _OR:
        return [branch for arg in expr.args for branch in _branches(arg)]
    return [expr]
