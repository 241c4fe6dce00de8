"""WITH RECURSIVE: a table that is made of its own rows, step by step.

    WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT n FROM r

Spark runs it, and says when it does not come to an end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from narrows.errors import Code, fail
from narrows.logical.nodes import Node
from narrows.logical.relational_nodes import Recursion, RecursiveRows
from narrows.logical.results import rename_columns, result_relation
from narrows.sql.binder.context import span_of
from narrows.sql.parser.expression import MOST_STEPS
from narrows.sql.scope import Name, Relation

if TYPE_CHECKING:
    from narrows.logical.builder.query import QueryPlanner


def is_recursive(table: exp.Expr, name: Name) -> bool:
    """Whether a common table expression reads itself."""
    folded = name.text.casefold()
    return any(
        found.name.casefold() == folded and not _is_hidden(found, table, folded)
        for found in table.this.find_all(exp.Table)
    )


def _is_hidden(found: exp.Expr, table: exp.Expr, folded: str) -> bool:
    """Whether a name means a table of a WITH that is nearer than the one that `table` is in."""
    node = found
    while node is not table:
        around = node.parent
        assert around is not None
        clause, seen = around.args.get("with_"), []
        if isinstance(around, exp.With):  # one of its tables sees those before it, or itself
            before = around.expressions.index(node)
            seen = around.expressions[: before + bool(around.args.get("recursive"))]
        elif clause is not None and clause is not node:
            seen = clause.expressions
        if any(each.alias.casefold() == folded for each in seen):
            return True
        node = around
    return False


def plan_recursion(
    planner: QueryPlanner, table: exp.Expr, name: Name, columns: Sequence[Name]
) -> Node:
    query = table.this
    if query.args.get("with_"):  # tables that both of its sides see
        planner = planner.with_tables(query.args["with_"])
    if not isinstance(query, exp.Union) or query.args.get("distinct"):
        raise fail(
            Code.NOT_SUPPORTED,
            f"`{name.text}` reads itself, and is no `first rows UNION ALL next rows`",
            name.span,
            "write `WITH RECURSIVE r AS (SELECT ... UNION ALL SELECT ... FROM r WHERE ...)`",
        )
    first = planner.plan(query.this)
    relation = result_relation(first)
    if columns:
        relation = rename_columns(relation, columns)
    made = Relation(planner.ids.new(), None, relation.schema)
    before = Relation(planner.ids.new(), None, relation.schema)
    rows = RecursiveRows(of=made.id, relation=before)
    step = planner.with_table(name, rows).plan(query.expression)
    if len(step.outputs) != len(made.schema):
        raise fail(
            Code.WRONG_ARITY,
            f"the sides of UNION have {len(made.schema)} and {len(step.outputs)} columns",
            span_of(query.expression),
        )
    most = table.args["alias"].meta.get(MOST_STEPS)
    return Recursion(first=first, step=step, relation=made, most_steps=most)
