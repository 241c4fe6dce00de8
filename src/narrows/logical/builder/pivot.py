"""PIVOT and UNPIVOT: values of a column become columns, and columns become rows.

    FROM sales PIVOT (sum(amount) FOR month IN (1 AS jan, 2 AS feb))
    FROM totals UNPIVOT (amount FOR month IN (jan, feb))

PIVOT groups by every column that it does not name. UNPIVOT is a generator: `stack` makes the rows,
and a projection keeps the columns that are not named.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from narrows.errors import Code, fail
from narrows.expressions.function import Kind
from narrows.expressions.nodes import Cast, Column, Expr, Literal, columns_of, walk
from narrows.expressions.text import expression_text
from narrows.functions import operator
from narrows.functions.results import common
from narrows.functions.spark_name import spark_name
from narrows.logical.conjuncts import with_filter
from narrows.logical.nodes import (
    Generate,
    NamedExpr,
    Node,
    Project,
    as_call,
    is_aggregate,
    relation_of,
)
from narrows.logical.relational_nodes import Pivot
from narrows.schema import STRING, UNKNOWN, DataType, Field, Struct
from narrows.sql.binder.context import name_of, refused, span_of
from narrows.sql.binder.expression import Binder
from narrows.sql.binder.literals import literal
from narrows.sql.binder.stars import Starred
from narrows.sql.scope import Relation


def plan_pivot(plan: Node, columns: Sequence[Starred], node: exp.Pivot, binder: Binder) -> Node:
    """The plan with its columns turned; `columns` are those that a star would list."""
    if len(node.args["fields"]) != 1:
        raise refused("PIVOT with several FOR", node)
    turn = _unpivot if node.args.get("unpivot") else _pivot
    return turn(plan, columns, node, binder)


# --- PIVOT ----------------------------------------------------------------------------------------


def _pivot(plan: Node, columns: Sequence[Starred], node: exp.Pivot, binder: Binder) -> Node:
    (field,) = node.args["fields"]
    by = tuple(binder.bind_in("PIVOT", part) for part in _several(field.this))
    calls = [_aggregate(item, binder) for item in node.expressions]
    values = [_value(item, binder, len(by)) for item in field.expressions]
    binder.problems.raise_if_any()
    named = {
        column.id for expr in (*by, *(call.expr for call in calls)) for column in columns_of(expr)
    }
    keys = tuple(
        NamedExpr(name, value)
        for name, value in columns
        if not any(column.id in named for column in columns_of(value))
    )
    fields = [Field(name, key.dtype) for name, key in keys]
    for shown, _ in values:
        for call in calls:
            name = shown if len(calls) == 1 else f"{shown}_{call.name}"
            fields.append(Field(name, call.expr.dtype))
    return Pivot(
        child=plan,
        keys=keys,
        by=by,
        folded=tuple(call.expr for call in calls),
        values=tuple(value for _, value in values),
        relation=Relation(binder.ids.new(), None, Struct(tuple(fields))),
    )


def _aggregate(node: exp.Expr, binder: Binder) -> NamedExpr:
    """An aggregate, or something that is computed of aggregates."""
    expr = binder.bind_in("PIVOT", node.unalias(), Kind.AGGREGATE)
    inside = [part for part in walk(expr) if is_aggregate(part)]
    of_rows = sum(1 for _ in columns_of(expr)) - sum(1 for part in inside for _ in columns_of(part))
    if not inside or of_rows:
        binder.problems.raise_if_any()
        raise fail(
            Code.MISPLACED_FUNCTION,
            "PIVOT takes aggregates, and what is computed of them",
            span_of(node),
            "for example `PIVOT (sum(x) FOR k IN (1, 2))`",
        )
    return NamedExpr(node.alias or spark_name(expr), expr)


def _value(node: exp.Expr, binder: Binder, width: int) -> tuple[str, tuple[Expr, ...]]:
    """A value that becomes a column, and the column's name."""
    inner = node.this if isinstance(node, exp.PivotAlias) else node
    parts = tuple(binder.bind_in("PIVOT", part) for part in _several(inner))
    shown = [_shown(part) for part in parts]
    name = node.alias or (shown[0] if len(parts) == 1 else f"{{{', '.join(shown)}}}")
    if width == 1 < len(parts):  # of a column of structs
        parts = (binder.bind_in("PIVOT", inner),)
    if len(parts) != width:
        raise fail(
            Code.WRONG_ARITY,
            f"FOR names {width} columns, this value has {len(parts)}",
            span_of(node),
        )
    if any(True for part in parts for _ in columns_of(part)):
        raise fail(Code.WRONG_TYPE, "IN of a PIVOT takes constants", span_of(node))
    return name, parts


def _shown(value: Expr) -> str:
    if not isinstance(value, Literal):
        return expression_text(value)
    return (
        "null" if value.text == "NULL" else str(value.text if value.value is None else value.value)
    )


def _several(node: exp.Expr) -> list[exp.Expr]:
    """`a` is one column, `(a, b)` are two."""
    return list(node.expressions) if isinstance(node, exp.Tuple) else [node]


# --- UNPIVOT --------------------------------------------------------------------------------------


def _unpivot(plan: Node, columns: Sequence[Starred], node: exp.Pivot, binder: Binder) -> Node:
    (field,), (made,) = node.args["fields"], node.expressions
    names = [name_of(part) for part in _several(made)]
    turned = [_turned(item, binder, len(names)) for item in field.expressions]
    binder.problems.raise_if_any()
    types = [common([row[place].dtype for _, row in turned]) for place in range(len(names))]
    args: list[Expr] = [literal(len(turned))]
    for name, row in turned:
        args.append(literal(name))
        args.extend(_as(value, dtype) for value, dtype in zip(row, types, strict=True))
    stack = binder.functions.find("stack")
    assert stack is not None
    call = as_call(binder.call(stack, tuple(args), span_of(node)))
    fields = [Field(field.this.name, STRING)]
    fields.extend(Field(name.text, dtype) for name, dtype in zip(names, types, strict=True))
    generated = Relation(binder.ids.new(), None, Struct(tuple(fields)))
    plan = Generate(child=plan, generator=call, relation=generated)
    if not node.args.get("include_nulls"):
        plan = with_filter(plan, [_some_value(generated.columns[1:], binder)])
    gone = {column.id for _, row in turned for value in row for column in columns_of(value)}
    kept = [
        NamedExpr(name, value)
        for name, value in columns
        if not any(column.id in gone for column in columns_of(value))
    ]
    kept.extend(NamedExpr(column.name, column) for column in generated.columns)
    return Project(
        child=plan, fields=tuple(kept), relation=relation_of(binder.ids.new(), None, kept)
    )


def _turned(node: exp.Expr, binder: Binder, width: int) -> tuple[str, list[Expr]]:
    """Columns that become a row, and the name that tells which they were."""
    inner = node.this if isinstance(node, exp.PivotAlias) else node
    parts = _several(inner)
    if len(parts) != width:
        raise fail(Code.WRONG_ARITY, f"{len(parts)} columns for {width} values", span_of(node))
    row = [binder.bind_in("UNPIVOT", part) for part in parts]
    return node.alias or "_".join(part.name for part in parts), row


def _as(value: Expr, dtype: DataType) -> Expr:
    if dtype in (value.dtype, UNKNOWN):
        return value
    return Cast(operand=value, to=dtype.sql(), dtype=dtype, span=value.span)


def _some_value(columns: Sequence[Column], binder: Binder) -> Expr:
    tests = tuple(binder.call(operator("is not null"), (column,), None) for column in columns)
    if len(tests) == 1:
        return tests[0]
    return binder.call(operator("or"), tests, None)
