"""Bound expressions: what a query computes, with every name resolved.

The parser's tree is about syntax; this one is about meaning. It has few kinds of node, because
operators (`+`, `CASE`, `IN`) are calls like any other function: what tells them apart - how they
look at their arguments, what type they give - stands in the function registry and nowhere else.

Expressions are immutable and compare by meaning: spans and the names used for printing do not
count, so `GROUP BY b.c` matches `SELECT s.b->c`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from narrows.errors import Span
from narrows.schema import INTEGRAL, DataType

if TYPE_CHECKING:
    from narrows.expressions.function import Function


class ColumnId(NamedTuple):
    """A column by the relation that produces it and its place there.

    For a source the ordinal is the place in the *full* schema, whatever has been pruned since.
    """

    relation: int
    ordinal: int


@dataclass(frozen=True, kw_only=True)
class Expr:
    """Base of all bound expressions."""

    dtype: DataType = field(compare=False)
    span: Span | None = field(default=None, compare=False, repr=False)
    written_as: str | None = field(default=None, compare=False, repr=False)
    """The call that it was written as, where a function was written out: a column without alias is
    called so."""

    @property
    def children(self) -> tuple[Expr, ...]:
        return ()

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        return self


@dataclass(frozen=True, kw_only=True)
class Column(Expr):
    """A column of a relation. `qualifier` and `name` are for people only."""

    id: ColumnId
    name: str = field(compare=False)
    qualifier: str | None = field(default=None, compare=False)


@dataclass(frozen=True, kw_only=True)
class Literal(Expr):
    """A constant. `text` is how SQL writes it; `value` is set where the planner can use it."""

    text: str
    value: object = field(default=None, compare=False)
    computed: bool = False
    """Is it an integer that the query computes, or gives a name to? Beside a DECIMAL, Spark takes
    a number that is written there for one of as many digits as it has, and any other for one of
    its type: `d / 2` has another scale than `d / (1 + 1)`."""


@dataclass(frozen=True, kw_only=True)
class FieldAccess(Expr):
    """`base->name`: a field of a struct, NULL when the struct is."""

    base: Expr
    name: str

    @property
    def children(self) -> tuple[Expr, ...]:
        return (self.base,)

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        return replace(self, base=children[0])


@dataclass(frozen=True, kw_only=True)
class ElementAccess(Expr):
    """`base[index]`: an element of a list by 0-based index, or the value of a map's key.

    NULL when there is none.
    """

    base: Expr
    index: Expr

    @property
    def children(self) -> tuple[Expr, ...]:
        return (self.base, self.index)

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        return replace(self, base=children[0], index=children[1])


@dataclass(frozen=True, kw_only=True)
class Cast(Expr):
    """`CAST(operand AS to)`; `safe` gives NULL instead of an error (TRY_CAST).

    `to` is the type's SQL text, for there are types to cast to that no column may have.
    """

    operand: Expr
    to: str
    safe: bool = False

    @property
    def children(self) -> tuple[Expr, ...]:
        return (self.operand,)

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        return replace(self, operand=children[0])


@dataclass(frozen=True, kw_only=True)
class Variable(Expr):
    """A parameter of a lambda, inside its body. `id` is unique in the query."""

    id: int
    name: str = field(compare=False)


@dataclass(frozen=True, kw_only=True)
class Lambda(Expr):
    """`(x, y) -> body`, as an argument of a higher-order function."""

    parameters: tuple[Variable, ...]
    body: Expr

    @property
    def children(self) -> tuple[Expr, ...]:
        return (self.body,)

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        return replace(self, body=children[0])


class SortKey(NamedTuple):
    """One key of an ORDER BY."""

    expr: Expr
    descending: bool = False
    nulls_first: bool = True


@dataclass(frozen=True, kw_only=True)
class Call(Expr):
    """A function or an operator applied to arguments.

    `filter`, `distinct`, `order_by` and `ignore_nulls` are the clauses that aggregates and stateful
    functions take; `partition_by` is the OVER clause of a stateful function. A call with a whole
    OVER clause (its function is of the analytic kind) has `sorted_by` and the text of its `frame`.
    """

    function: Function
    args: tuple[Expr, ...]
    distinct: bool = False
    ignore_nulls: bool = False
    filter: Expr | None = None
    order_by: tuple[SortKey, ...] = ()
    partition_by: tuple[Expr, ...] = ()
    sorted_by: tuple[SortKey, ...] = ()
    frame: str | None = None

    @property
    def children(self) -> tuple[Expr, ...]:
        return (
            *self.args,
            *((self.filter,) if self.filter is not None else ()),
            *(key.expr for key in self.order_by),
            *self.partition_by,
            *(key.expr for key in self.sorted_by),
        )

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        rest = iter(children)
        return replace(
            self,
            args=tuple(next(rest) for _ in self.args),
            filter=next(rest) if self.filter is not None else None,
            order_by=tuple(key._replace(expr=next(rest)) for key in self.order_by),
            partition_by=tuple(next(rest) for _ in self.partition_by),
            sorted_by=tuple(key._replace(expr=next(rest)) for key in self.sorted_by),
        )


@dataclass(frozen=True, kw_only=True)
class SyntaxForm(Expr):
    """An SQL form that Narrows carries along without understanding it, e.g. `x AT TIME ZONE y`.

    `pieces` is its SQL text with the operands cut out, so there is one piece more than operands.
    Nothing is known of it, so everything below it is demanded.
    """

    pieces: tuple[str, ...]
    operands: tuple[Expr, ...]

    @property
    def children(self) -> tuple[Expr, ...]:
        return self.operands

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        return replace(self, operands=children)


def walk(expr: Expr) -> Iterator[Expr]:
    """The expression and everything below it, parents first."""
    pending = [expr]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(reversed(node.children))


def walk_all(expressions: Iterable[Expr]) -> Iterator[Expr]:
    """All of them and everything below each. A select list may be 15 000 columns, in which there is
    nothing to go into."""
    for expr in expressions:
        yield expr
        if type(expr) is not Column:
            for child in expr.children:
                yield from walk(child)


def calls_of_all(expressions: Iterable[Expr]) -> Iterator[Call]:
    """The calls in all of them. In a select list of 15 000 columns there are none."""
    for expr in expressions:
        if type(expr) is not Column:
            yield from (part for part in walk(expr) if isinstance(part, Call))


def columns_of(expr: Expr) -> Iterator[Column]:
    return columns_of_all((expr,))


def columns_of_all(expressions: Iterable[Expr]) -> Iterator[Column]:
    return (node for node in walk_all(expressions) if isinstance(node, Column))


def in_place(expr: Expr) -> Expr:
    """What a name stands for, where it is put in place of the name."""
    if isinstance(expr, Literal) and expr.dtype in INTEGRAL:
        return replace(expr, computed=True)
    return expr


def rewrite(expr: Expr, change: Callable[[Expr], Expr | None]) -> Expr:
    """The expression with parts replaced, from the top down.

    Where `change` answers with an expression, that one stands and is not looked into again, so a
    replacement may hold what it replaces.
    """
    changed = change(expr)
    if changed is not None:
        return changed
    children = expr.children
    rewritten = tuple(rewrite(child, change) for child in children)
    if all(new is old for new, old in zip(rewritten, children, strict=True)):
        return expr
    return expr.with_children(rewritten)
