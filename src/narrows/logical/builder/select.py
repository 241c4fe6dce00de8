"""From a parsed query to a logical plan: clause by clause, in the order in which SQL means them.

    FROM, LATERAL VIEW -> stateful functions -> WHERE -> window -> GROUP BY -> HAVING
                       -> ORDER BY -> SELECT -> DISTINCT -> LIMIT

This is analysis: it gives the query its meaning, and may refuse it. What comes after (the
optimizer) may only keep that meaning.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from narrows.errors import Code, fail
from narrows.expressions.function import Kind
from narrows.expressions.nodes import (
    Call,
    Expr,
    SortKey,
    calls_of_all,
    columns_of,
    columns_of_all,
    rewrite,
    walk,
)
from narrows.logical.builder.aliases import aliases_in_where
from narrows.logical.builder.analytic import is_analytic, plan_analytic
from narrows.logical.builder.clauses import Clauses
from narrows.logical.builder.from_clause import FromPlanner
from narrows.logical.builder.group_by import GroupBy
from narrows.logical.builder.grouping import plan_grouping
from narrows.logical.builder.having import ON_GROUPS, bind_having
from narrows.logical.builder.ordering import bind_order, plan_limit
from narrows.logical.builder.select_list import bind_select_list
from narrows.logical.builder.stateful import plan_stateful, stateful_calls, take_last_rows
from narrows.logical.builder.subqueries import WaitingSubqueries
from narrows.logical.builder.unpartitioned import unpartitioned
from narrows.logical.nodes import (
    Aggregation,
    Distinct,
    Filter,
    Generate,
    NamedExpr,
    Node,
    Project,
    Sort,
    default_name,
    relation_of,
)
from narrows.logical.relational_nodes import Subquery
from narrows.logical.results import repeated_columns
from narrows.logical.walk import topological
from narrows.notices import Notice
from narrows.sql.binder.context import Problems, refused, span_of
from narrows.sql.binder.expression import Binder
from narrows.sql.scope import Scope

if TYPE_CHECKING:
    from narrows.logical.builder.query import QueryPlanner

_HANDLED = frozenset(
    (
        *("expressions", "from_", "joins", "laterals", "where", "group", "having"),
        *("order", "limit", "offset", "distinct", "with_", "qualify", "windows", "hint"),
        *("sort", "cluster", "distribute"),
    )
)
_CLAUSES = {
    "sample": "TABLESAMPLE after an alias, before which Spark wants it,",
    "pivots": "PIVOT",
    "into": "SELECT INTO",
    "kind": "SELECT AS STRUCT",
}


_PLACES = Notice(
    "placement", "DISTRIBUTE BY and CLUSTER BY choose no tasks: Spark places rows by itself"
)
_HINTS = Notice("hint", "hints (`/*+ ... */`) are left out: Spark chooses how to join by itself")


class SelectBuilder:
    """Plans one SELECT."""

    def __init__(self, queries: QueryPlanner) -> None:
        self._problems = Problems()
        self._ids = queries.ids
        self._scope = Scope(outer=queries.outer)
        self._queries = queries
        self._binder = Binder(self._scope, queries.functions, self._problems, self._ids)
        inside = queries.inside(self._scope)
        self._subqueries = WaitingSubqueries(self._ids, inside.plan)
        self._binder.plan_subquery = self._subqueries.add
        self._from = FromPlanner(self._binder, queries, self._subqueries)
        self._renamed: set[int] = set()

    def build(self, tree: exp.Select) -> Node:
        if not tree.expressions:
            raise fail(Code.SYNTAX_ERROR, "the select list is empty", span_of(tree))
        for key, value in tree.args.items():
            if value and key not in _HANDLED:
                raise refused(_CLAUSES.get(key, key.strip("_").upper()), tree)
        if tree.args.get("hint"):
            self._queries.notices.append(_HINTS)
        if tree.args.get("distribute") or tree.args.get("cluster"):
            self._queries.notices.append(_PLACES)
        plan = self._from.plan(tree)
        self._problems.raise_if_any()
        clauses = self._bind_clauses(tree)

        take_last_rows(clauses)
        remembering = stateful_calls(clauses)
        self._subqueries.refuse(remembering, "calls that remember rows")
        plan = plan_stateful(plan, clauses, remembering, self._ids)
        if clauses.where is not None:
            plan = self._subqueries.place(plan, [clauses.where])
            plan = Filter(child=plan, predicate=clauses.where)
        plan = self._subqueries.place(plan, clauses.inside_groups())
        plan = plan_grouping(plan, clauses, self._ids)
        self._queries.notices.extend(unpartitioned(plan))
        if isinstance(plan, Aggregation):
            plan = self._over_groups(plan, clauses)
        for made in clauses.generated:  # below HAVING, which may look at what generators make
            plan = self._subqueries.place(plan, [made.call])
            plan = Generate(child=plan, generator=made.call, relation=made.relation)
        plan = self._having(plan, clauses)
        plan = self._subqueries.place(plan, clauses.after_grouping())
        plan = plan_analytic(plan, clauses, self._ids)
        if clauses.qualify is not None:
            plan = Filter(child=plan, predicate=clauses.qualify)
        plan = self._plan_output(plan, clauses, distinct=tree.args.get("distinct"))
        return plan_limit(plan, tree, self._binder)

    # --- binding ----------------------------------------------------------------------------------

    def _bind_clauses(self, tree: exp.Select) -> Clauses:
        windows: list[exp.Window] = tree.args.get("windows") or []
        self._binder.named_windows = {window.name.casefold(): window for window in windows}
        if len(self._binder.named_windows) < len(windows):
            raise fail(Code.DUPLICATE_OBJECT, "WINDOW gives one name twice", span_of(windows[-1]))
        group = GroupBy(tree.args.get("group"), self._binder)
        self._scope.in_the_end = group.set_number
        self._scope.aliases = group.named_keys()
        selected = bind_select_list(tree, self._binder)
        self._scope.aliases, self._scope.ambiguous = {}, set()
        items, named = selected.items, group.named_keys()
        self._renamed = selected.renamed
        if self._queries.on_top:
            self._queries.notices.extend(selected.notices)
        clauses = Clauses(items, self._subqueries, selected.generated)
        where, having = tree.args.get("where"), tree.args.get("having")
        qualify = tree.args.get("qualify")
        if where is not None:
            self._scope.in_the_end = aliases_in_where(items, selected.generated)
            with self._problems.collect():
                clauses.where = self._binder.condition("WHERE", where.this, Kind.STATEFUL)
            self._scope.in_the_end = group.set_number
        with self._problems.collect():
            clauses.grouping = group.bind(items, selected.generated)
        if having is not None or qualify is not None:
            with self._scope.with_aliases(items, named), self._problems.collect():
                if having is not None:
                    clauses.having = bind_having(
                        having.this, clauses.grouping, self._binder, self._subqueries
                    )
                if qualify is not None:
                    clauses.qualify = self._binder.bind_in("QUALIFY", qualify.this, *_ON_RESULT)
        order = _order_of(tree)
        if order is not None:
            with self._scope.with_aliases(items, named, first=True), self._problems.collect():
                clauses.order = bind_order(order, items, self._binder, _ON_RESULT)
        self._problems.raise_if_any()
        return clauses

    def _over_groups(self, plan: Node, clauses: Clauses) -> Node:
        """Beside a generator, OVER is about the groups that HAVING leaves, as in Spark, and not
        about what is made of them; of rows that are not grouped it is the other way round."""
        made = {each.relation.id for each in clauses.generated}
        calls = [*filter(is_analytic, calls_of_all(clauses.after_grouping()))]
        if not made or not calls:
            return plan
        before = [*calls, clauses.having] if clauses.having is not None else calls
        if made & {column.id.relation for column in columns_of_all(before)}:
            raise fail(
                Code.NOT_SUPPORTED,
                "beside groups, OVER and HAVING cannot look at what a generator makes of them",
                calls[0].span,
                "use a subquery: `SELECT ..., sum(x) OVER (...) FROM (SELECT explode(a) AS x ...)`",
            )
        plan = self._having(plan, clauses)
        return plan_analytic(self._subqueries.place(plan, calls), clauses, self._ids)

    def _having(self, plan: Node, clauses: Clauses) -> Node:
        if clauses.having is None:
            return plan
        plan = self._subqueries.place(plan, [clauses.having])
        plan, clauses.having = Filter(child=plan, predicate=clauses.having), None
        return plan

    # --- the top of the plan ----------------------------------------------------------------------

    def _plan_output(self, plan: Node, clauses: Clauses, distinct: exp.Distinct | None) -> Node:
        if distinct is not None and distinct.args.get("on"):
            raise refused("DISTINCT ON", distinct)
        items = clauses.items
        # Sorting goes first, while the columns that only it needs are still there. But DISTINCT
        # would undo the order, a random value must be the same in both places, and Spark knows no
        # correlated subqueries in ORDER BY.
        answers = {part.relation.id for part in topological(plan) if isinstance(part, Subquery)}
        keys = clauses.order
        sort_last = distinct is not None or any(
            _is_random(key.expr) or answers & {c.id.relation for c in columns_of(key.expr)}
            for key in keys
        )
        if keys and not sort_last:
            plan = Sort(child=plan, keys=tuple(keys))
        relation = replace(
            relation_of(self._ids.new(), None, items), repeated=self._repeated(items)
        )
        plan = Project(child=plan, fields=tuple(items), relation=relation)
        if distinct is not None:
            plan = Distinct(child=plan)
        return self._sorted_last(plan, keys, distinct=distinct) if keys and sort_last else plan

    def _repeated(self, items: Sequence[NamedExpr]) -> dict[int, int]:
        if self._queries.on_top:
            return {}  # nobody selects from it
        own = (None if place in self._renamed else item.expr for place, item in enumerate(items))
        return repeated_columns([*own], self._scope.relations)

    def _sorted_last(
        self, plan: Node, keys: Sequence[SortKey], distinct: exp.Distinct | None
    ) -> Node:
        """The select list, sorted: by its items, and by columns that are dropped after that."""
        projection = plan.child if isinstance(plan, Distinct) else plan
        assert isinstance(projection, Project)
        relation, width = projection.relation, len(projection.fields)
        outputs: dict[Expr, Expr] = {}
        for place, item in enumerate(projection.fields):
            outputs.setdefault(item.expr, relation.column(place))
        shown = list(projection.fields)
        for key in keys:
            expr = rewrite(key.expr, outputs.get)
            if any(column.id.relation != relation.id for column in columns_of(expr)):
                if distinct is not None:
                    raise fail(
                        Code.UNKNOWN_COLUMN,
                        "with DISTINCT, ORDER BY may only use what the select list has",
                        key.expr.span,
                        "add the expression to the select list",
                    )
                shown.append(NamedExpr(default_name(key.expr), key.expr))
        if len(shown) > width:
            relation = replace(relation_of(relation.id, None, shown), repeated=relation.repeated)
            plan = replace(projection, fields=tuple(shown), relation=relation)
            for place, item in enumerate(shown[width:], start=width):
                outputs.setdefault(item.expr, relation.column(place))
        by = tuple(key._replace(expr=rewrite(key.expr, outputs.get)) for key in keys)
        plan = Sort(child=plan, keys=by)
        if len(shown) == width:
            return plan
        shortened = self._queries.renamed(plan, relation.columns[:width])
        relation = replace(shortened.relation, repeated=relation.repeated)
        return replace(shortened, relation=relation)


_ON_RESULT = (*ON_GROUPS, Kind.ANALYTIC)


def _order_of(tree: exp.Select) -> exp.Expr | None:
    """ORDER BY; SORT BY and CLUSTER BY, which sort what a task has, are done by sorting all."""
    return tree.args.get("order") or tree.args.get("sort") or tree.args.get("cluster")


def _is_random(expr: Expr) -> bool:
    return any(isinstance(part, Call) and not part.function.deterministic for part in walk(expr))
