"""Aliases of the select list in WHERE: `SELECT a + b AS total FROM s WHERE total > 10`.

SQL knows none there, so whatever Spark would find by that name goes first: columns, those of the
query around a subquery, too. What such an alias stands for is computed on rows, as WHERE is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from narrows.errors import Code, NarrowsError, fail
from narrows.expressions.function import Kind
from narrows.expressions.nodes import Call, Expr, columns_of, walk
from narrows.logical.builder.clauses import Generated
from narrows.logical.nodes import NamedExpr
from narrows.schema import Unaliased
from narrows.sql.scope import Name, ambiguous_alias

_NOT_OF_ROWS = frozenset({Kind.AGGREGATE, Kind.ANALYTIC, Kind.GENERATOR, Kind.WINDOW_BOUND})


def aliases_in_where(
    items: Sequence[NamedExpr], generated: Sequence[Generated]
) -> Callable[[Name], Expr | None]:
    named: dict[str, Expr] = {}
    repeated: set[str] = set()
    for name, expr in items:
        folded = name.casefold()
        if not isinstance(name, Unaliased) and named.setdefault(folded, expr) is not expr:
            repeated.add(folded)
    made = {each.relation.id: each.call for each in generated}

    def find(name: Name) -> Expr | None:
        found = named.get(name.text.casefold())
        if name.text.casefold() in repeated:
            raise ambiguous_alias(name)
        if found is not None:
            for column in columns_of(found):
                if column.id.relation in made:
                    raise _too_early(name, made[column.id.relation])
            _check(name, found)
        return found

    return find


def _check(name: Name, expr: Expr) -> None:
    for part in walk(expr):
        if not isinstance(part, Call):
            continue
        if part.function.kind in _NOT_OF_ROWS:
            raise _too_early(name, part)
        if part.function.drawn:
            raise fail(
                Code.NOT_SUPPORTED,
                f"`{name.text}` would be another value in WHERE: `{part.function.name}` gives a"
                " new one each time",
                name.span,
                "put the query into brackets, and select from it",
            )


def _too_early(name: Name, call: Call) -> NarrowsError:
    aggregate = call.function.kind is Kind.AGGREGATE
    return fail(
        Code.MISPLACED_FUNCTION,
        f"`{name.text}` is made by `{call.function.name}`, and WHERE looks at rows before that",
        name.span,
        "a condition on an aggregate belongs into HAVING"
        if aggregate
        else "put the query into brackets, and select from it",
    )
