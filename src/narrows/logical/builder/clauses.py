"""The bound expressions of a SELECT, while its plan is being built from the bottom up.

Each step of the build may put a part of them into a node of its own (a stateful call, an aggregate)
and leave a reference to that node's column behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from narrows.expressions.nodes import Call, Expr, SortKey, calls_of_all, rewrite
from narrows.logical.builder.subqueries import WaitingSubqueries
from narrows.logical.nodes import NamedExpr, as_call, is_aggregate
from narrows.sql.scope import Relation


@dataclass
class Grouping:
    """GROUP BY: at most one stream window, and keys beside it."""

    keys: list[Expr] = field(default_factory=list)
    window: Call | None = None
    sets: list[tuple[Expr, ...]] | None = None
    """The sets of keys that groups are made by, where there are several: ROLLUP and the like."""


@dataclass
class Generated:
    """A generator in the select list, and the relation whose columns the items refer to."""

    call: Call
    relation: Relation


@dataclass
class Clauses:
    items: list[NamedExpr]
    subqueries: WaitingSubqueries
    generated: list[Generated] = field(default_factory=list)
    """One after the other: each may look at what those before it make."""
    where: Expr | None = None
    grouping: Grouping | None = None
    having: Expr | None = None
    qualify: Expr | None = None
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
        found = [item.expr for item in self.items] if items else []
        found.extend(made.call for made in self.generated)
        if self.having is not None:
            found.append(self.having)
        if self.qualify is not None:
            found.append(self.qualify)
        found.extend(key.expr for key in self.order)
        yield from found
        for subquery in self.subqueries.used_by(found):
            yield from subquery.operands
            yield from subquery.outer_aggregates()

    def inside_groups(self) -> Iterator[Expr]:
        """Those that are evaluated on the rows of a group: its keys, and what aggregates fold."""
        if self.grouping is not None:
            yield from self.grouping.keys
        yield from filter(is_aggregate, calls_of_all(self.after_grouping()))

    def rewrite(self, change: Callable[[Expr], Expr | None]) -> None:
        """Replaces parts of every expression."""
        if self.where is not None:
            self.where = rewrite(self.where, change)
        if self.grouping is not None:
            self.grouping.keys = [rewrite(key, change) for key in self.grouping.keys]
            if self.grouping.window is not None:
                self.grouping.window = as_call(rewrite(self.grouping.window, change))
            if self.grouping.sets is not None:
                self.grouping.sets = [
                    tuple(rewrite(key, change) for key in keys) for keys in self.grouping.sets
                ]
        self.rewrite_after_grouping(change)

    def rewrite_after_grouping(self, change: Callable[[Expr], Expr | None]) -> None:
        self.items = [item._replace(expr=rewrite(item.expr, change)) for item in self.items]
        for made in self.generated:
            made.call = as_call(rewrite(made.call, change))
        if self.having is not None:
            self.having = rewrite(self.having, change)
        if self.qualify is not None:
            self.qualify = rewrite(self.qualify, change)
        self.order = [key._replace(expr=rewrite(key.expr, change)) for key in self.order]
        for subquery in self.subqueries.waiting.values():
            subquery.rewrite(change)
