"""Which rows must be made once, although several parts of a plan read them.

    WITH q AS (SELECT id, rand() AS r FROM t) SELECT a.r = b.r FROM q a JOIN q b ON a.id = b.id

A common table expression is one node of the plan, and would be the same text twice in Spark's SQL:
two draws of lots. What draws lots is a common table expression there, too, which Spark makes once.
"""

from __future__ import annotations

from collections import Counter

from narrows.expressions.nodes import Call, walk
from narrows.logical.nodes import Node
from narrows.logical.relational_nodes import RecursiveRows
from narrows.logical.walk import outer_columns, topological


def drawn_once(plan: Node) -> set[int]:
    """The ids of nodes that draw lots for several others. What looks at the rows around it, or at
    those of a recursion, cannot be named from afar, and draws for each."""
    nodes = topological(plan)
    uses = Counter(id(child) for node in nodes for child in node.children)
    return {id(node) for node in nodes if uses[id(node)] > 1 and _draws_alone(node)}


def _draws_alone(plan: Node) -> bool:
    nodes = topological(plan)
    draws = any(
        isinstance(part, Call) and not part.function.deterministic
        for node in nodes
        for expr in node.expressions
        for part in walk(expr)
    )
    bound = any(isinstance(node, RecursiveRows) for node in nodes)
    return draws and not bound and not any(True for _ in outer_columns(plan))
