"""An expression, bound to the columns of one relation."""

from __future__ import annotations

from narrows.expressions.nodes import Expr
from narrows.functions import FunctionRegistry, builtin_functions
from narrows.schema import Struct
from narrows.sql.binder.context import Ids, Problems
from narrows.sql.binder.expression import Binder
from narrows.sql.parser.script import parse_query
from narrows.sql.scope import Relation, Scope


def bound(text: str, schema: Struct, clause: str = "SELECT") -> Expr:
    """Raises what is wrong with it."""
    problems = Problems()
    scope = Scope([Relation(0, "t", schema, is_source=True)])
    binder = Binder(scope, FunctionRegistry(builtin_functions()), problems, Ids())
    (tree,) = parse_query(f"SELECT {text}").tree.expressions
    expr = binder.bind_in(clause, tree)
    problems.raise_if_any()
    return expr
