"""What a planned query gives: the columns of one relation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from narrows.errors import Code, InternalError, fail
from narrows.expressions.nodes import Column, ColumnId
from narrows.logical.nodes import Distinct, Filter, Limit, NamedExpr, Node, Project, Sort
from narrows.logical.relational_nodes import Pivot, Recursion, SetOperation, Union, Values
from narrows.schema import Field, Struct
from narrows.sql.scope import Name, Relation


def result_relation(plan: Node) -> Relation:
    """The relation that the outputs of a query belong to."""
    match plan:
        case Sort(child=child) | Limit(child=child) | Distinct(child=child) | Filter(child=child):
            return result_relation(child)
        case Project() | Union() | SetOperation() | Values() | Recursion() | Pivot():
            return plan.relation
        case _:
            raise InternalError(f"{plan.operator} is not the top of a query")


def repeated_columns(plan: Node) -> dict[int, int]:
    """Outputs of a query that are the same column as an earlier one: `SELECT a, a`."""
    match plan:
        case Sort(child=child) | Limit(child=child) | Distinct(child=child) | Filter(child=child):
            return repeated_columns(child)
        case Project(fields=fields, child=child):
            below = repeated_columns(child)
            first: dict[ColumnId, int] = {}
            found = {
                place: first.setdefault(_original(expr.id, child, below), place)
                for place, (_, expr) in enumerate(fields)
                if isinstance(expr, Column)
            }
            return {place: earlier for place, earlier in found.items() if place != earlier}
        case Union(inputs=inputs):
            sides = [repeated_columns(side) for side in inputs]
            return {
                place: earlier
                for place, earlier in sides[0].items()
                if all(side.get(place) == earlier for side in sides)
            }
        case _:
            return {}


def _original(column: ColumnId, child: Node, repeated: Mapping[int, int]) -> ColumnId:
    """The first output of a query that a column is the same as."""
    if not repeated or column.relation != result_relation(child).id:
        return column
    return column._replace(ordinal=repeated.get(column.ordinal, column.ordinal))


def named_columns(plan: Node) -> list[NamedExpr]:
    return [NamedExpr(column.name, column) for column in plan.outputs]


def rename_columns(relation: Relation, names: Sequence[Name]) -> Relation:
    """The relation under other names for its columns: `t(a, b)`."""
    if len(names) != len(relation.schema):
        raise fail(
            Code.WRONG_ARITY,
            f"{len(names)} names for {len(relation.schema)} columns",
            names[0].span,
        )
    fields = zip(names, relation.schema, strict=True)
    return replace(relation, schema=Struct(tuple(Field(n.text, f.type) for n, f in fields)))
