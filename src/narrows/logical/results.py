"""What a planned query gives: the columns of one relation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from narrows.errors import Code, InternalError, fail
from narrows.expressions.nodes import Column, ColumnId, Expr
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


def repeated_outputs(plan: Node) -> Mapping[int, int]:
    """Which outputs of a plan are the same column as an earlier one."""
    while isinstance(plan, (Sort, Limit, Distinct, Filter)):
        plan = plan.child
    relation = getattr(plan, "relation", None)
    return {} if relation is None else relation.repeated


def repeated_columns(columns: Sequence[Expr | None], below: Sequence[Relation]) -> dict[int, int]:
    """Which of some expressions are the same column of the relations below as an earlier one."""
    relations = {relation.id: relation.repeated for relation in below if relation.repeated}
    first: dict[ColumnId, int] = {}
    found: dict[int, int] = {}
    for place, column in enumerate(columns):
        if isinstance(column, Column):
            number, ordinal = column.id
            original = relations.get(number, {}).get(ordinal, ordinal)
            earlier = first.setdefault(ColumnId(number, original), place)
            if earlier != place:
                found[place] = earlier
    return found


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
    schema = Struct(tuple(Field(n.text, f.type) for n, f in fields))
    return replace(relation, schema=schema, repeated={})
