"""What a rule is."""

from __future__ import annotations

from typing import Protocol

from narrows.logical.nodes import Node


class Rule(Protocol):
    """Plan in, new plan out; None when the rule has nothing to do.

    The class name is the rule's name in EXPLAIN; its file, its golden file and its tests carry the
    same name in snake case.
    """

    def apply(self, plan: Node) -> Node | None: ...
