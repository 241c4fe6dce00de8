"""What a rule is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, runtime_checkable

from narrows.logical.nodes import Node


class Rule(Protocol):
    """Plan in, new plan out; None when the rule has nothing to do.

    The class name is the rule's name in EXPLAIN; its file, its golden file and its tests carry the
    same name in snake case.
    """

    def apply(self, plan: Node) -> Node | None: ...


@runtime_checkable
class RemarkingRule(Rule, Protocol):
    """A rule that can tell what it did with a plan, and why not more."""

    def remarks(self, plan: Node) -> Iterator[str]: ...
