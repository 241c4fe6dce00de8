"""A plan as a tree of numbered nodes: what every format of EXPLAIN is written from."""

from __future__ import annotations

from dataclasses import dataclass

from narrows.logical.nodes import Info, Node


@dataclass(frozen=True)
class ExplainNode:
    """A node under its name in EXPLAIN. One that two parents share is the same object in both."""

    id: str
    operator: str
    info: Info
    children: tuple[ExplainNode, ...]


def number(root: Node) -> ExplainNode:
    """Numbers nodes from the leaves up, left to right: `DataSource_0`, `Project_1`."""
    done: dict[int, ExplainNode] = {}
    below: dict[int, tuple[Node, ...]] = {}
    pending: list[tuple[Node, bool]] = [(root, False)]
    while pending:
        node, ready = pending.pop()
        if id(node) in done:
            continue
        if ready:
            children = tuple(done[id(child)] for child in below[id(node)])
            name = f"{node.operator}_{len(done)}"
            done[id(node)] = ExplainNode(name, node.operator, node.info(), children)
        else:
            pending.append((node, True))
            # Kept, because what a node shows below itself may be made for the occasion.
            below[id(node)] = node.explained
            pending.extend((child, False) for child in reversed(below[id(node)]))
    return done[id(root)]
