"""GROUP BY: windows, keys and aggregates.

Above an aggregation only its keys and its calls exist. So every expression of SELECT, HAVING and
ORDER BY is rewritten: what equals a key becomes that key's column, what is an aggregate becomes
that call's column, and a column that is left over belongs to no group and is refused.
"""

from __future__ import annotations

from narrows.errors import Code, NarrowsError, Problem, fail
from narrows.expressions.function import Kind
from narrows.expressions.nodes import Call, Column, Expr, calls_of_all, columns_of, columns_of_all
from narrows.expressions.text import expression_text
from narrows.functions.canonical import canonical
from narrows.logical.builder.clauses import Clauses, Grouping
from narrows.logical.builder.declared_arguments import check_arguments
from narrows.logical.nodes import (
    Aggregation,
    NamedExpr,
    Node,
    Window,
    default_name,
    is_aggregate,
    relation_of,
    window_kind,
)
from narrows.logical.walk import topological
from narrows.schema import BIGINT, TIMESTAMP, Field, Struct
from narrows.sql.binder.context import Ids
from narrows.sql.scope import Relation

_BOUNDS = (Field("window_start", TIMESTAMP), Field("window_end", TIMESTAMP))
_NUMBER = Field("window_number", BIGINT)


def plan_grouping(plan: Node, clauses: Clauses, ids: Ids) -> Node:
    grouping = clauses.grouping or Grouping()
    aggregates = list(dict.fromkeys(filter(is_aggregate, calls_of_all(clauses.after_grouping()))))
    distinct: dict[Expr, Expr] = {}
    for key in grouping.keys:  # in the order in which they are named first: `grouping_id` shows it
        distinct.setdefault(canonical(key), key)
    keys = list(distinct.values())
    _refuse_generated_keys(keys, clauses)
    if grouping.window is not None:
        window = _window_node(plan, grouping, ids)
        plan = window
        clauses.rewrite_after_grouping(lambda expr: _bound_column(expr, window.relation))
        if not aggregates:
            # Without aggregates a window emits its rows.
            return plan
        # A window belongs to its partition: those of two keys may have the same bounds.
        keys.extend(key for key in window.window.partition_by if key not in keys)
        keys.extend(window.relation.columns)
    else:
        _refuse_bounds(clauses)
    if not aggregates and clauses.grouping is None:
        if clauses.having is None:
            return plan
        # Without GROUP BY all rows are one group, of which it knows nothing but aggregates.
        if any(column.id.relation in _made_by(plan) for column in columns_of(clauses.having)):
            raise fail(
                Code.NOT_GROUPED,
                "HAVING needs GROUP BY or an aggregate",
                clauses.having.span,
                "a condition on rows belongs into WHERE",
            )
    return _aggregation(plan, clauses, keys, aggregates, ids)


def _refuse_generated_keys(keys: list[Expr], clauses: Clauses) -> None:
    generated = {made.relation.id for made in clauses.generated}
    for key in keys:
        if any(column.id.relation in generated for column in columns_of(key)):
            raise fail(
                Code.NOT_SUPPORTED,
                "a generator of the select list works on groups, so it cannot be a group key",
                key.span,
                "use `LATERAL VIEW explode(...) t AS x`, which works on rows",
            )


def _aggregation(
    plan: Node, clauses: Clauses, keys: list[Expr], aggregates: list[Call], ids: Ids
) -> Node:
    named_keys = tuple(NamedExpr(default_name(key), key) for key in keys)
    named_calls = tuple(NamedExpr(default_name(call), call) for call in aggregates)
    relation = relation_of(ids.new(), None, (*named_keys, *named_calls))
    sets = None
    if clauses.grouping is not None and clauses.grouping.sets is not None:
        places = {canonical(key): place for place, key in enumerate(keys)}
        sets = tuple(
            tuple(sorted({places[canonical(key)] for key in chosen}))
            for chosen in clauses.grouping.sets
        )
    made = _made_by(plan)
    made_of = zip((*keys, *aggregates), relation.columns, strict=True)
    same = clauses.subqueries.first
    computed: dict[Expr, Column] = {canonical(same(expr)): column for expr, column in made_of}
    clauses.rewrite_after_grouping(lambda expr: computed.get(canonical(same(expr))))
    generated = [made.relation.id for made in clauses.generated]
    # Columns of the query around a subquery are constants here.
    _refuse_ungrouped(clauses, made - {relation.id, *generated})
    return Aggregation(child=plan, keys=named_keys, calls=named_calls, relation=relation, sets=sets)


def _made_by(plan: Node) -> set[int]:
    """The relations that a plan makes itself."""
    return {part.id for node in topological(plan) if (part := getattr(node, "relation", None))}


def _refuse_ungrouped(clauses: Clauses, ungrouped: set[int]) -> None:
    found = list(clauses.after_grouping())
    used = list(columns_of_all(found))
    for subquery in clauses.subqueries.used_by(found):
        used.extend(subquery.outer_columns())
    problems = []
    for column in used:
        if column.id.relation in ungrouped:
            text = expression_text(column)
            problems.append(
                Problem(
                    Code.NOT_GROUPED,
                    f"column `{text}` is neither in GROUP BY nor inside an aggregate",
                    column.span,
                    f"add it to GROUP BY, or write `any_value({text})`",
                )
            )
    if problems:
        raise NarrowsError(*dict.fromkeys(problems))


# --- windows --------------------------------------------------------------------------------------


def _window_node(plan: Node, grouping: Grouping, ids: Ids) -> Window:
    window = grouping.window
    assert window is not None
    kind = window_kind(window)
    check_arguments(window, kind, Code.INVALID_WINDOW)
    # Of windows that rows cut, two may begin and end at the same time.
    columns = Struct((*_BOUNDS, _NUMBER) if kind.cut_by_rows else _BOUNDS)
    relation = Relation(ids.new(), None, columns)
    return Window(child=plan, window=window, keys=tuple(grouping.keys), relation=relation)


def _bound_column(expr: Expr, relation: Relation) -> Expr | None:
    if isinstance(expr, Call) and expr.function.kind is Kind.WINDOW_BOUND:
        return relation.column(relation.schema.ordinal(expr.function.name), expr.span)
    return None


def _refuse_bounds(clauses: Clauses) -> None:
    for call in calls_of_all(clauses.after_grouping()):
        if call.function.kind is Kind.WINDOW_BOUND:
            raise fail(
                Code.MISPLACED_FUNCTION,
                f"`{call.function.name}()` needs a window in GROUP BY",
                call.span,
                "for example `GROUP BY tumblingwindow('ss', 10)`",
            )
