"""Columns that are read as texts, of types that no reader has (`sql/parser/converted_types.py`): a
projection right above the source makes them what they were declared to be."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from narrows.expressions.nodes import Column, Expr
from narrows.logical.nodes import DataSource, NamedExpr, Node, Project
from narrows.schema import Field, Struct
from narrows.sql.binder.context import Problems
from narrows.sql.binder.expression import Binder
from narrows.sql.binder.written_out import body_tree
from narrows.sql.scope import Relation, Scope

if TYPE_CHECKING:
    from narrows.logical.builder.query import QueryPlanner


def with_converted(
    read: DataSource, rows: Node, queries: QueryPlanner, words: Collection[str]
) -> Project:
    """The columns of a source, and the metadata that a query of these words may name; of these of
    its rows."""
    source = read.source
    declared, metadata = read.relation.columns[: len(source.schema)], read.relation.columns
    named = [c for c in metadata[len(declared) :] if c.name.casefold() in words]
    fields = [NamedExpr(c.name, _made(c, read, queries)) for c in (*declared, *named)]
    schema = Struct(tuple(Field(name, expr.dtype) for name, expr in fields))
    relation = Relation(
        queries.ids.new(), read.relation.name, schema, is_source=True, hidden=len(named)
    )
    return Project(child=rows, fields=tuple(fields), relation=relation)


def _made(column: Column, read: DataSource, queries: QueryPlanner) -> Expr:
    made = read.source.converted.get(column.name)
    if made is None:
        return column
    problems = Problems()
    binder = Binder(Scope(aliases={"_1": column}), queries.functions, problems, queries.ids)
    value = binder.bind_in(f"column `{column.name}`", body_tree(made.text).copy())
    problems.raise_if_any()
    return value
