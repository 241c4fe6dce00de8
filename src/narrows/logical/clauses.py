"""The bound expressions of a SELECT, while its plan is being built from the bottom up.

Each step of the build may put a part of them into a node of its own (a stateful call, an aggregate)
and leave a reference to that node's column behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from narrows.expressions import Call, Expr, SortKey, rewrite
from narrows.logical.nodes import NamedExpr, as_call
from narrows.sql.scope import Relation


@dataclass
class Grouping:
    """GROUP BY: at most one stream window, and keys beside it."""

    keys: list[Expr] = field(default_factory=list)
    window: Call | None = None


@dataclass
class Generated:
    """A generator in the select list, and the relation whose columns the items refer to."""

    call: Call
    relation: Relation


@dataclass
class Clauses:
    items: list[NamedExpr]
    generated: Generated | None = None
    where: Expr | None = None
    grouping: Grouping | None = None
    having: Expr | None = None
    order: list[SortKey] = field(default_factory=list)

    def expressions(self) -> Iterator[Expr]:
        """All of them, in the order in which the query writes them."""
        yield from (item.expr for item in self.items)
        if self.where is not None:
            yield self.where
        if self.grouping is not None:
            yield from self.grouping.keys
            if self.grouping.window is not None:
                yield self.grouping.window
        yield from self.after_grouping(items=False)

    def after_grouping(self, items: bool = True) -> Iterator[Expr]:
        """Those that are evaluated on groups, when there are groups."""
        if items:
            yield from (item.expr for item in self.items)
        if self.generated is not None:
            yield self.generated.call
        if self.having is not None:
            yield self.having
        yield from (key.expr for key in self.order)

    def rewrite(self, change: Callable[[Expr], Expr | None]) -> None:
        """Replaces parts of every expression."""
        if self.where is not None:
            self.where = rewrite(self.where, change)
        if self.grouping is not None:
            self.grouping.keys = [rewrite(key, change) for key in self.grouping.keys]
            if self.grouping.window is not None:
                self.grouping.window = as_call(rewrite(self.grouping.window, change))
        self.rewrite_after_grouping(change)

    def rewrite_after_grouping(self, change: Callable[[Expr], Expr | None]) -> None:
        self.items = [item._replace(expr=rewrite(item.expr, change)) for item in self.items]
        if self.generated is not None:
            self.generated.call = as_call(rewrite(self.generated.call, change))
        if self.having is not None:
            self.having = rewrite(self.having, change)
        self.order = [key._replace(expr=rewrite(key.expr, change)) for key in self.order]
