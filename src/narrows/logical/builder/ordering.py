"""What SELECT and set operations share at their end: ORDER BY, LIMIT and OFFSET."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from operator import add, mul, sub

from sqlglot import exp

from narrows.errors import Code, Span, fail
from narrows.expressions.function import Function, Kind
from narrows.expressions.nodes import Call, Expr, Literal, SortKey
from narrows.logical.nodes import Limit, NamedExpr, Node, Project, Sort
from narrows.logical.relational_nodes import Recursion
from narrows.logical.walk import transform_up
from narrows.schema import INTEGRAL
from narrows.sql.binder.calls import sort_key
from narrows.sql.binder.context import span_of
from narrows.sql.binder.expression import Binder
from narrows.sql.scope import Name

_EXACT = {"+": add, "-": sub, "*": mul}


def select_item(node: exp.Expr, items: Sequence[NamedExpr], clause: str) -> Expr | None:
    """`ORDER BY 2` means the second select item."""
    if not (isinstance(node, exp.Literal) and not node.is_string and node.name.isdecimal()):
        return None
    number = int(node.name[:10])  # no select list is longer
    if not 1 <= number <= len(items):
        raise fail(
            Code.UNKNOWN_COLUMN,
            f"{clause} {number}: the select list has {len(items)} items",
            span_of(node),
        )
    return items[number - 1].expr


def bind_order(
    node: exp.Expr | None,
    items: Sequence[NamedExpr],
    binder: Binder,
    allowed: Sequence[Kind] = (),
) -> list[SortKey]:
    """The keys of ORDER BY; `ORDER BY ALL` sorts by every item of the select list."""
    keys: list[SortKey] = []
    for key in node.expressions if node is not None else ():
        ordered = key if isinstance(key, exp.Ordered) else exp.Ordered(this=key, nulls_first=True)
        if is_word_all(ordered.this, binder):
            keys.extend(sort_key(ordered, item.expr) for item in items)
            continue
        expr = select_item(ordered.this, items, "ORDER BY")
        if expr is None:
            expr = binder.bind_in("ORDER BY", _named_all(ordered.this), *allowed)
        keys.append(sort_key(ordered, expr))
    return keys


def is_word_all(node: exp.Expr, binder: Binder) -> bool:
    """ALL, where no column is called so."""
    is_all = isinstance(node, exp.Var) and node.name.upper() == "ALL"
    return is_all and not binder.scope.has(Name(node.name, None))


def _named_all(node: exp.Expr) -> exp.Expr:
    """The parser takes `all` for the word, wherever it sorts."""
    return exp.column(node.name) if isinstance(node, exp.Var) else node


def sorted_per_batch(plan: Node, span: Span) -> Node:
    """A query whose ORDER BY, which is its last, is about the rows of each micro-batch."""
    match plan:
        case Sort():
            return replace(plan, per_batch=True)
        case Project(child=Sort() as sort):
            return replace(plan, child=replace(sort, per_batch=True))
        case Limit():
            message = "LIMIT counts the rows of all micro-batches, and PER BATCH is about each"
            raise fail(Code.NOT_SUPPORTED, message, span, "leave one of them out")
    message = "PER BATCH says how rows are sorted, and there is no ORDER BY at the query's end"
    raise fail(Code.SYNTAX_ERROR, message, span, "write `ORDER BY ... PER BATCH`")


def plan_limit(plan: Node, tree: exp.Expr, binder: Binder) -> Node:
    limit, offset = tree.args.get("limit"), tree.args.get("offset")
    count = _row_count(limit, "LIMIT", binder) if limit is not None else None
    skipped = _row_count(offset, "OFFSET", binder) if offset is not None else None
    if limit is not None and count is None:
        plan = transform_up(plan, _any_number) or plan
    if count is None and not skipped:
        return plan
    return Limit(child=plan, count=count, offset=skipped or 0)


def _any_number(node: Node) -> Node | None:
    """LIMIT ALL is no limit, but lets a recursion make as many rows as it does."""
    return replace(node, any_number=True) if isinstance(node, Recursion) else None


def _row_count(node: exp.Expr, clause: str, binder: Binder) -> int | None:
    """The number of rows; None for all of them."""
    value = node.expression if isinstance(node, (exp.Limit, exp.Offset)) else None
    if isinstance(value, exp.Var) and value.name.upper() == "ALL" and clause == "LIMIT":
        return None
    bound = binder.bind_in(clause, value) if value is not None else None
    binder.problems.raise_if_any()
    number = _whole_number(bound)
    if number is not None and 0 <= number < 2**31:
        return number
    raise fail(Code.WRONG_TYPE, f"{clause} takes a whole number", span_of(node))


def _whole_number(expr: Expr | None) -> int | None:
    """What is computed of whole numbers alone: `2 + 1`."""
    match expr:
        case Literal(value=int() as number, dtype=dtype) if dtype in INTEGRAL:
            return number
        case Call(function=Function(name=name), args=(left, right)) if name in _EXACT:
            one, other = _whole_number(left), _whole_number(right)
            return None if one is None or other is None else _EXACT[name](one, other)
        case _:
            return None
