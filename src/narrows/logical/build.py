"""From a parsed query to a logical plan: clause by clause, in the order in which SQL means them.

    FROM, LATERAL VIEW -> stateful functions -> WHERE -> window -> GROUP BY -> HAVING
                       -> ORDER BY -> SELECT -> DISTINCT -> LIMIT

This is analysis: it gives the query its meaning, and may refuse it. What comes after (the
optimizer) may only keep that meaning.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from sqlglot import exp

from narrows.errors import Code, fail
from narrows.expressions import Call, Expr, Literal, SortKey, columns_of, rewrite, walk
from narrows.logical.clauses import Clauses, Grouping
from narrows.logical.from_clause import FromPlanner, SourceFinder
from narrows.logical.grouping import plan_grouping
from narrows.logical.nodes import (
    Distinct,
    Filter,
    Generate,
    Limit,
    NamedExpr,
    Node,
    Project,
    Sort,
    relation_of,
)
from narrows.logical.select_list import bind_select_list
from narrows.logical.stateful import plan_stateful
from narrows.logical.unpartitioned import unpartitioned
from narrows.notices import Notice
from narrows.sql.bind import Binder
from narrows.sql.bind_calls import sort_key
from narrows.sql.binding import Ids, Problems, refused, span_of
from narrows.sql.functions import FunctionRegistry, Kind
from narrows.sql.scope import Scope
from narrows.sql.statements import Query

_HANDLED = frozenset(
    (
        *("expressions", "from_", "joins", "laterals", "where", "group", "having"),
        *("order", "limit", "offset", "distinct"),
    )
)
_CLAUSES = {
    "with_": "WITH (common table expressions)",
    "qualify": "QUALIFY",
    "windows": "a WINDOW clause",
    "sort": "SORT BY",
    "cluster": "CLUSTER BY",
    "distribute": "DISTRIBUTE BY",
    "sample": "TABLESAMPLE",
    "pivots": "PIVOT",
    "hint": "hints",
    "into": "SELECT INTO",
    "kind": "SELECT AS STRUCT",
}


@dataclass
class Built:
    """A query as a plan, and what the user should know of it."""

    plan: Node
    notices: list[Notice] = field(default_factory=list)


def build(query: Query, find_source: SourceFinder, functions: FunctionRegistry) -> Built:
    """The logical plan of a query. Raises all that is wrong with it, together."""
    return _SelectBuilder(find_source, functions).build(query.tree)


class _SelectBuilder:
    """Plans one SELECT."""

    def __init__(self, find_source: SourceFinder, functions: FunctionRegistry) -> None:
        self._problems = Problems()
        self._ids = Ids()
        self._scope = Scope()
        self._binder = Binder(self._scope, functions, self._problems, self._ids)
        self._from = FromPlanner(self._binder, self._ids, find_source)

    def build(self, tree: exp.Expr) -> Built:
        if not isinstance(tree, exp.Select):
            raise refused(f"{type(tree).__name__.upper()} queries", tree)
        for key, value in tree.args.items():
            if value and key not in _HANDLED:
                # A hint is a comment to the tokenizer, so it has no place of its own.
                where = tree if key != "hint" else tree.expressions[0]
                raise refused(_CLAUSES.get(key, key.strip("_").upper()), where)
        if not tree.expressions:
            raise fail(Code.SYNTAX_ERROR, "the select list is empty", span_of(tree))
        plan = self._from.plan(tree)
        self._problems.raise_if_any()
        clauses, notices = self._bind_clauses(tree)

        plan = plan_stateful(plan, clauses, self._ids)
        if clauses.where is not None:
            plan = Filter(child=plan, predicate=clauses.where)
        plan = plan_grouping(plan, clauses, self._ids)
        notices.extend(unpartitioned(plan))
        if clauses.generated is not None:
            # Below HAVING, which may look at what the generator makes.
            call, relation = clauses.generated.call, clauses.generated.relation
            plan = Generate(child=plan, generator=call, relation=relation)
        if clauses.having is not None:
            plan = Filter(child=plan, predicate=clauses.having)
        plan = self._plan_output(plan, clauses, distinct=tree.args.get("distinct"))
        return Built(self._plan_limit(plan, tree), notices)

    # --- binding ----------------------------------------------------------------------------------

    def _bind_clauses(self, tree: exp.Select) -> tuple[Clauses, list[Notice]]:
        self._scope.aliases = self._named_keys(tree.args.get("group"))
        selected = bind_select_list(tree, self._binder)
        self._scope.aliases = {}
        items = selected.items
        clauses = Clauses(items, selected.generated)
        where, having = tree.args.get("where"), tree.args.get("having")
        if where is not None:
            clauses.where = self._binder.bind_in("WHERE", where.this, Kind.STATEFUL)
        with self._problems.collect():
            clauses.grouping = self._bind_group(tree.args.get("group"), items)
        with self._aliases_visible(items), self._problems.collect():
            if having is not None:
                clauses.having = self._binder.bind_in("HAVING", having.this, *_ON_GROUPS)
        with self._aliases_visible(items, first=True), self._problems.collect():
            clauses.order = self._bind_order(tree.args.get("order"), items)
        self._problems.raise_if_any()
        return clauses, selected.notices

    def _named_keys(self, node: exp.Group | None) -> dict[str, Expr]:
        """Group keys that SELECT may use by name: `window.start` of `GROUP BY window(...)`."""
        named: dict[str, Expr] = {}
        for element in node.expressions if node is not None else ():
            if isinstance(element, exp.Anonymous):
                function = self._binder.functions.find(element.name)
                if function is not None and function.key_name is not None:
                    named[function.key_name] = self._binder.bind_in("GROUP BY", element)
        return named

    @contextmanager
    def _aliases_visible(
        self, items: Sequence[NamedExpr], *, first: bool = False
    ) -> Iterator[None]:
        self._scope.aliases = {item.name.casefold(): item.expr for item in reversed(items)}
        self._scope.aliases_first = first
        try:
            yield
        finally:
            self._scope.aliases, self._scope.aliases_first = {}, False

    def _bind_group(self, node: exp.Group | None, items: Sequence[NamedExpr]) -> Grouping | None:
        if node is None:
            return None
        for key in ("grouping_sets", "cube", "rollup", "totals", "all"):
            if node.args.get(key):
                raise refused(f"GROUP BY {key.upper().replace('_', ' ')}", node)
        grouping = Grouping()
        for element in node.expressions:
            if isinstance(element, (exp.Rollup, exp.Cube, exp.GroupingSets)):
                raise refused(f"GROUP BY {type(element).__name__.upper()}", element)
            key_expr = self._bind_group_key(element, items)
            if not (isinstance(key_expr, Call) and key_expr.function.kind is Kind.STREAM_WINDOW):
                grouping.keys.append(key_expr)
            elif grouping.window is None:
                grouping.window = key_expr
            else:
                raise fail(Code.INVALID_WINDOW, "a query may have one window only", key_expr.span)
        return grouping

    def _bind_group_key(self, node: exp.Expr, items: Sequence[NamedExpr]) -> Expr:
        """An expression, the number of a select item, or an alias where no column is called so."""
        key = _by_number(node, items, "GROUP BY")
        if key is None:
            with self._aliases_visible(items):
                key = self._binder.bind_in("GROUP BY", node, Kind.STREAM_WINDOW, Kind.STATEFUL)
        for part in walk(key):
            if isinstance(part, Call) and part.function.kind is Kind.AGGREGATE:
                raise fail(
                    Code.MISPLACED_FUNCTION,
                    f"aggregate function `{part.function.name}` cannot be a group key",
                    span_of(node) or part.span,
                )
        return key

    def _bind_order(self, node: exp.Order | None, items: Sequence[NamedExpr]) -> list[SortKey]:
        keys = []
        for ordered in node.expressions if node is not None else ():
            if isinstance(ordered.this, (exp.All, exp.Var)):
                raise refused("ORDER BY ALL", ordered)
            expr = _by_number(ordered.this, items, "ORDER BY")
            if expr is None:
                expr = self._binder.bind_in("ORDER BY", ordered.this, *_ON_GROUPS)
            keys.append(sort_key(ordered, expr))
        return keys

    # --- the top of the plan ----------------------------------------------------------------------

    def _plan_output(self, plan: Node, clauses: Clauses, distinct: exp.Distinct | None) -> Node:
        if distinct is not None and distinct.args.get("on"):
            raise refused("DISTINCT ON", distinct)
        items = clauses.items
        relation = relation_of(self._ids.new(), None, items)
        # Sorting goes first, while the columns that only it needs are still there. But DISTINCT
        # would undo the order, and a random value must be the same in both places.
        sort_last = distinct is not None or any(_is_random(key.expr) for key in clauses.order)
        if clauses.order and not sort_last:
            plan = Sort(child=plan, keys=tuple(clauses.order))
        plan = Project(child=plan, fields=tuple(items), relation=relation)
        if distinct is not None:
            plan = Distinct(child=plan)
        if clauses.order and sort_last:
            outputs: dict[Expr, Expr] = {
                item.expr: relation.column(ordinal) for ordinal, item in enumerate(items)
            }
            keys = []
            for key in clauses.order:
                expr = rewrite(key.expr, outputs.get)
                if any(column.id.relation != relation.id for column in columns_of(expr)):
                    why = "DISTINCT" if distinct is not None else "a random value"
                    raise fail(
                        Code.UNKNOWN_COLUMN,
                        f"with {why}, ORDER BY may only use what the select list has",
                        key.expr.span,
                        "add the expression to the select list",
                    )
                keys.append(key._replace(expr=expr))
            plan = Sort(child=plan, keys=tuple(keys))
        return plan

    def _plan_limit(self, plan: Node, tree: exp.Select) -> Node:
        limit, offset = tree.args.get("limit"), tree.args.get("offset")
        if limit is None and offset is None:
            return plan
        count = self._row_count(limit, "LIMIT") if limit is not None else None
        skipped = self._row_count(offset, "OFFSET") if offset is not None else 0
        return Limit(child=plan, count=count, offset=skipped)

    def _row_count(self, node: exp.Expr, clause: str) -> int:
        value = node.expression if isinstance(node, (exp.Limit, exp.Offset)) else None
        bound = self._binder.bind_in(clause, value) if value is not None else None
        self._problems.raise_if_any()
        if isinstance(bound, Literal) and isinstance(bound.value, int) and bound.value >= 0:
            return bound.value
        raise fail(Code.WRONG_TYPE, f"{clause} takes a whole number", span_of(node))


_ON_GROUPS = (Kind.AGGREGATE, Kind.STATEFUL, Kind.WINDOW_BOUND)


def _is_random(expr: Expr) -> bool:
    return any(isinstance(part, Call) and not part.function.deterministic for part in walk(expr))


def _by_number(node: exp.Expr, items: Sequence[NamedExpr], clause: str) -> Expr | None:
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
