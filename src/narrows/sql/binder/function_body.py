"""Whether the body of a function that a statement declares can be bound: with its parameters, and
with nothing else in sight."""

from __future__ import annotations

from sqlglot import exp

from narrows.expressions.nodes import Column, ColumnId, Expr
from narrows.functions import FunctionRegistry
from narrows.schema import Struct
from narrows.sql.binder.context import Ids, Problems
from narrows.sql.binder.expression import Binder
from narrows.sql.scope import Scope


def check_body(name: str, query: exp.Expr, parameters: Struct, functions: FunctionRegistry) -> None:
    """Raises what is wrong with it, with the places in the statement."""
    values: dict[str, Expr] = {
        field.name.casefold(): Column(id=ColumnId(-1, place), name=field.name, dtype=field.type)
        for place, field in enumerate(parameters)
    }
    problems = Problems()
    binder = Binder(Scope(aliases=values), functions, problems, Ids())
    (body,) = query.expressions
    binder.bind_in(f"the body of function `{name}`", body)
    problems.raise_if_any()
