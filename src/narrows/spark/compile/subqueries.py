"""Subqueries of expressions.

Spark knows how to run a subquery, what NOT IN does with NULLs and how to turn a correlated one into
a join. So it gets them as text: `c0_1 IN (SELECT c2_0 FROM ...)`, compiled like any other part of
the plan. Our column names are unique in a whole plan, so Spark finds the outer ones by itself.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from narrows.errors import Code, fail
from narrows.logical.nodes import Node, Project, StatefulFunction, Window
from narrows.logical.relational_nodes import Subquery
from narrows.logical.walk import outer_columns, topological
from narrows.spark.sql.frame import Frame
from narrows.spark.sql.rows import select
from narrows.spark.sql.sql_text import Typed
from narrows.sql.binder.context import SubqueryKind

if TYPE_CHECKING:
    from narrows.spark.compile.plan import Compiler

_FRAMES = (StatefulFunction, Window)
"""What is a data frame, which text reaches by a name: it sees nothing of the rows around it."""


def with_subquery(compiler: Compiler, node: Subquery, frame: Frame) -> Frame:
    """The rows as they are; the subquery's column is a text that stands where it is used."""
    _refuse_uncorrelatable(node.subplan)
    column = node.relation.columns[0]
    answer = Typed(_answer(compiler, node, frame), column.dtype)
    return replace(frame, columns={**frame.columns, column.id: answer})


def _answer(compiler: Compiler, node: Subquery, frame: Frame) -> str:
    inner = compiler.inside(frame, node.subplan)
    if node.kind is SubqueryKind.EXISTS:
        return f"EXISTS (SELECT 1 FROM {inner.text})"
    query = inner.text
    # A projection's columns are just those that are asked for, unless it carries hidden ones.
    if not isinstance(node.subplan, Project) or inner.hidden:
        columns = [inner.sql.text(column) for column in node.subplan.outputs]
        query = f"({select(columns, inner.text)})"
    if node.kind is SubqueryKind.SCALAR:
        return query
    sql = compiler.sql(frame)
    operands = ", ".join(sql.text(operand) for operand in node.operands)
    return f"(({operands}) IN {query})"


def _refuse_uncorrelatable(subplan: Node) -> None:
    for node in topological(subplan):
        if isinstance(node, _FRAMES) and any(True for _ in outer_columns(node)):
            raise fail(
                Code.NOT_SUPPORTED,
                f"{node.operator.removeprefix('Physical')} in a correlated subquery cannot be run",
                hint="join with the subquery instead",
            )
