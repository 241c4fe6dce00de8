"""Ways through a plan: top down, bottom up, to its sources. A shared node is visited once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

from narrows.expressions.nodes import Column, columns_of_all
from narrows.logical.nodes import DataSource, Node


def topological(root: Node) -> list[Node]:
    """Every node once, each before its children, also where two share a child.

    Of a node's children, later ones go first with all that is below them: a subquery (the second
    child) may look at columns of the rows that it is asked about (the first).
    """
    order: list[Node] = []
    seen: set[int] = set()
    pending: list[tuple[Node, bool]] = [(root, False)]
    while pending:
        node, done = pending.pop()
        if done:
            order.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            pending.append((node, True))
            pending.extend((child, False) for child in reversed(node.children))
    order.reverse()
    return order


def sources_of(root: Node) -> Iterator[DataSource]:
    return (node for node in topological(root) if isinstance(node, DataSource))


def transform_up(root: Node, change: Callable[[Node], Node | None]) -> Node | None:
    """The plan with nodes replaced from the leaves up; None when nothing changed.

    A shared node is rewritten once, so that it stays shared.
    """
    done: dict[int, Node] = {}
    for node in reversed(topological(root)):
        children = node.children
        rewritten = [done[id(child)] for child in children]
        same = all(new is old for new, old in zip(rewritten, children, strict=True))
        current = node if same else node.with_children(rewritten)
        done[id(node)] = change(current) or current
    return None if done[id(root)] is root else done[id(root)]


def fresh_numbers(root: Node) -> Iterator[int]:
    """Numbers for new relations: no relation of the plan has one of them."""
    used = {0}
    for node in topological(root):
        own = getattr(node, "relation", None)
        used |= set() if own is None else {own.id}
        used |= {column.id.relation for column in columns_of_all(node.expressions)}
    return count(1 + max(used))


def outer_columns(plan: Node) -> Iterator[Column]:
    """The columns that a plan uses and does not make itself."""
    nodes = topological(plan)
    made = {relation.id for node in nodes if (relation := getattr(node, "relation", None))}
    for node in nodes:
        for column in columns_of_all(node.expressions):
            if column.id.relation not in made:
                yield column
