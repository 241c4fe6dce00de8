"""FROM: sources and joins, and the relations that they bring into scope."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from narrows.catalog.elsewhere import ElsewhereTable
from narrows.catalog.objects import View
from narrows.errors import Code, Span, fail
from narrows.expressions.nodes import ColumnId, Expr, columns_of
from narrows.functions import operator
from narrows.logical.builder.converted import with_converted
from narrows.logical.builder.generators import (
    is_plain_generator,
    lateral_generator,
    lateral_view,
    table_function,
)
from narrows.logical.builder.nearest import nearest_join
from narrows.logical.builder.on_change import rows_that_change
from narrows.logical.builder.pivot import plan_pivot
from narrows.logical.builder.sample import plan_sample
from narrows.logical.builder.subqueries import WaitingSubqueries
from narrows.logical.conjuncts import conjunction, split, with_filter
from narrows.logical.nodes import (
    DataSource,
    Filter,
    Join,
    JoinKind,
    NamedExpr,
    Node,
    Project,
    default_name,
    relation_of,
)
from narrows.logical.relational_nodes import OneRow, SparkTable
from narrows.logical.results import rename_columns, result_relation
from narrows.sql.binder.context import name_of, refused, span_of
from narrows.sql.binder.expression import Binder
from narrows.sql.binder.stars import spell_out
from narrows.sql.scope import Merged, Name, Relation, Scope

if TYPE_CHECKING:
    from narrows.logical.builder.query import QueryPlanner

_JOIN_KINDS = {
    ("", ""): JoinKind.INNER,
    ("", "INNER"): JoinKind.INNER,
    ("", "CROSS"): JoinKind.CROSS,
    ("LEFT", ""): JoinKind.LEFT,
    ("LEFT", "OUTER"): JoinKind.LEFT,
    ("RIGHT", ""): JoinKind.RIGHT,
    ("RIGHT", "OUTER"): JoinKind.RIGHT,
    ("FULL", ""): JoinKind.FULL,
    ("FULL", "OUTER"): JoinKind.FULL,
    ("LEFT", "SEMI"): JoinKind.SEMI,
    ("", "SEMI"): JoinKind.SEMI,
    ("LEFT", "ANTI"): JoinKind.ANTI,
    ("", "ANTI"): JoinKind.ANTI,
}
_LATERAL = (JoinKind.INNER, JoinKind.CROSS, JoinKind.LEFT)
"""Joins whose right side may look at the left."""


class FromPlanner:
    """Plans the FROM clause of one SELECT, filling its scope."""

    def __init__(
        self, binder: Binder, queries: QueryPlanner, subqueries: WaitingSubqueries
    ) -> None:
        self._binder = binder
        self._subqueries = subqueries
        self._scope: Scope = binder.scope
        self._ids = queries.ids
        self._queries = queries

    def plan(self, tree: exp.Select) -> Node:
        clause = tree.args.get("from_")
        plan: Node = OneRow() if clause is None else self._item(clause.this)
        for join in tree.args.get("joins") or ():
            plan = self._join(plan, join)
        for lateral in tree.args.get("laterals") or ():
            plan = lateral_view(self._binder, plan, lateral)
        return plan

    # --- what may stand in FROM -------------------------------------------------------------------

    def _item(self, node: exp.Expr) -> Node:
        """A source, a common table expression, a query in brackets, or joins in brackets."""
        if node.args.get("sample"):
            plan = self._item(_without(node, "sample"))
            return plan_sample(plan, node.args["sample"], self._binder)
        if node.args.get("pivots"):
            return self._pivoted(node)
        if node.args.get("joins"):
            plan = self._item(_without(node, "joins"))
            for join in node.args["joins"]:
                plan = self._join(plan, join)
            return plan
        match node:
            case exp.Subquery(this=inner) if _is_relation(inner):
                return self._bracketed(node) if node.args.get("alias") else self._item(inner)
            case exp.Subquery() | exp.Values():
                return self._derived(self._queries.derived().plan(node), node)
            case exp.Table(this=exp.Anonymous()):
                return table_function(self._binder, node)
            case exp.Table():
                return self._table(node)
            case exp.Lateral():
                return self._lateral(node)
            case _:
                raise refused(f"{type(node).__name__.upper()} with these clauses in FROM", node)

    def _pivoted(self, node: exp.Expr) -> Node:
        """Something with PIVOT or UNPIVOT after it: only what that makes can be seen around it."""
        plan, inside = self._apart(_without(node, "pivots"))
        for pivot in node.args["pivots"]:
            plan = plan_pivot(plan, spell_out(exp.Star(), exp.Star(), inside), pivot, inside)
            alias = pivot.args.get("alias")
            relation = replace(result_relation(plan), name=(alias.name or None) if alias else None)
            inside.scope.relations, inside.scope.merged = [relation], {}
        self._scope.relations.append(relation)
        return plan

    def _bracketed(self, node: exp.Subquery) -> Node:
        """`(a JOIN b ON ...) AS x`: one relation, of the columns that `*` would list."""
        plan, inside = self._apart(node.this)
        columns = [NamedExpr(*part) for part in spell_out(exp.Star(), exp.Star(), inside)]
        relation = relation_of(self._ids.new(), None, columns)
        return self._derived(Project(child=plan, fields=tuple(columns), relation=relation), node)

    def _apart(self, node: exp.Expr) -> tuple[Node, Binder]:
        """Something that nothing around it sees the names of; who binds expressions over it."""
        scope = Scope(outer=self._scope.outer)
        inside = Binder(scope, self._queries.functions, self._binder.problems, self._ids)
        return FromPlanner(inside, self._queries, self._subqueries)._item(node), inside

    def _table(self, node: exp.Table) -> Node:
        parts = _table_name(node)
        name = parts[-1]
        plan = self._queries.use_table(name) if len(parts) == 1 else None
        if plan is not None:
            return self._derived(plan, node, name)
        source = self._queries.find_table(parts)
        alias = node.args.get("alias")
        if isinstance(source, View):
            return self._derived(self._queries.view(source, name.span), node, name)
        if isinstance(source, ElsewhereTable):
            return self._elsewhere(source, node, name)
        shown = alias.name if alias is not None and alias.name else source.name
        relation = Relation(
            self._ids.new(), shown, source.row, is_source=True, hidden=len(source.metadata)
        )
        read = DataSource(source=source, relation=relation)
        rows = rows_that_change(read, self._queries.functions, self._ids)
        if source.converted:
            made = with_converted(read, rows, self._queries, _words(node))
            columns = made.outputs[: len(source.schema)]
            if alias is not None and alias.columns:
                return self._derived(self._queries.renamed(made, columns), node)
            self._scope.relations.append(made.relation)
            return made
        if alias is not None and alias.columns:
            return self._derived(self._queries.renamed(rows, relation.shown), node)
        self._scope.relations.append(relation)
        return rows

    def _elsewhere(self, table: ElsewhereTable, node: exp.Table, name: Name) -> Node:
        """A table that Spark reads. Its columns may be named by its whole name, too."""
        alias = node.args.get("alias")
        shown = alias.name if alias is not None and alias.name else name.text
        path = () if alias is not None and alias.name else table.path
        relation = Relation(self._ids.new(), shown, table.schema, path=path, hidden=table.hidden)
        read = SparkTable(table=table, relation=relation)
        if alias is not None and alias.columns:
            return self._derived(self._queries.renamed(read, relation.shown), node)
        self._scope.relations.append(relation)
        return read

    def _derived(self, plan: Node, node: exp.Expr, name: Name | None = None) -> Node:
        """Brings the result of a query into scope, under its alias."""
        alias = node.args.get("alias")
        shown = alias.name if alias is not None and alias.name else name.text if name else None
        relation = replace(result_relation(plan), name=shown)
        columns = [name_of(column) for column in alias.columns] if alias is not None else []
        if columns:
            relation = rename_columns(relation, columns)
        self._scope.relations.append(relation)
        return plan

    def _lateral(self, node: exp.Lateral) -> Node:
        """A subquery or a generator that may use the columns of what stands before it."""
        if isinstance(node.this, exp.Subquery):
            return self._derived(self._queries.inside(self._scope).plan(node.this), node)
        return lateral_generator(self._binder, OneRow(), node)

    # --- joins ------------------------------------------------------------------------------------

    def _join(self, left: Node, node: exp.Join) -> Node:
        for key in ("global_", "hint", "match_condition", "directed"):
            if node.args.get(key):
                raise refused(f"{key.strip('_').upper()} joins", node)
        if node.args.get("pivots") or node.this.args.get("pivots"):
            raise fail(
                Code.NOT_SUPPORTED,
                "PIVOT and UNPIVOT after a join are about all of it",
                span_of(node),
                "say of what: `FROM (SELECT ... FROM a JOIN b ON ...) PIVOT (...)`",
            )
        side, word = str(node.args.get("side") or ""), str(node.args.get("kind") or "")
        kind = _JOIN_KINDS.get((side.upper(), word.upper()))
        if kind is None:
            raise refused(f"{side} {word} joins".strip(), node)
        lateral = isinstance(node.this, exp.Lateral)
        if lateral and kind not in _LATERAL:
            raise refused(f"{kind.value} joins with LATERAL", node)
        nearest = node.args.get("nearest") is not None
        if lateral and not nearest and is_plain_generator(node, kind):
            on = node.args.get("on")
            # Without ON, Spark keeps no row for which nothing is generated, whatever the join.
            outer = kind is JoinKind.LEFT and on is not None
            generated = lateral_generator(self._binder, left, node.this, outer)
            if on is None or kind is JoinKind.LEFT:
                return generated
            return Filter(child=generated, predicate=self._binder.condition("ON", on))
        left_side = Scope(list(self._scope.relations), dict(self._scope.merged))
        right, right_side = self._right(node.this, lateral)
        sides = (left_side, right_side)
        on, using = node.args.get("on"), [name_of(name) for name in node.args.get("using") or ()]
        method = str(node.args.get("method") or "").upper()
        if method == "NATURAL":
            using = _common_names(*sides)
            _refuse_names_that_are_there_twice(*sides, using, span_of(node))
        elif method:
            raise refused(f"{method} joins", node)
        self._scope.merged = _merged_of(*sides, using, span_of(node))
        if nearest:
            return nearest_join(self._binder, kind, left, right, node)
        condition: Expr | None = None
        if using:
            condition = self._using(*sides, using, kind)
        elif on is not None:
            condition = self._binder.condition("ON", on)
        elif kind is JoinKind.INNER:
            kind = JoinKind.CROSS
        if kind in (JoinKind.SEMI, JoinKind.ANTI):
            del self._scope.relations[len(left_side.relations) :]
            self._scope.merged = self._scope.merged if using else left_side.merged
        if condition is None and kind is not JoinKind.CROSS:
            condition = self._binder.bind(exp.true())  # every pair of rows
        join = Join(kind=kind, left=left, right=right, condition=condition, lateral=lateral)
        of_left, of_right = ({r.id for r in side.relations} for side in sides)
        return self._with_subqueries(join, of_left, of_right)

    def _right(self, node: exp.Expr, lateral: bool) -> tuple[Node, Scope]:
        """The right side of a join, and what it brings into scope. Nothing inside of its brackets
        sees the left side, but what LATERAL says of."""
        scope, before = self._scope, len(self._scope.relations)
        if lateral:
            return self._item(node), Scope(scope.relations[before:])
        relations, merged = scope.relations, scope.merged
        scope.relations, scope.merged = [], {}
        plan = self._item(node)
        side = Scope(scope.relations, scope.merged)
        scope.relations, scope.merged = [*relations, *side.relations], merged
        return plan, side

    def _with_subqueries(self, join: Join, left: set[int], right: set[int]) -> Node:
        """Puts the subqueries of a condition below the join, on the side that they ask about."""
        if join.condition is None:
            return join
        of_left, of_right, of_both = self._subqueries.divide([join.condition], left, right)
        placed = join.with_children(
            [
                self._subqueries.place(join.left, of_left),
                self._subqueries.place(join.right, of_right),
            ]
        )
        if not of_both:
            return placed
        if join.kind not in (JoinKind.INNER, JoinKind.CROSS):
            raise fail(
                Code.NOT_SUPPORTED,
                f"a subquery in ON of a {join.kind.value} join may ask about one side only",
                of_both[0].span,
                "join with the subquery first",
            )
        asked = {column.id for column in of_both}
        conjuncts = split(join.condition)
        above = [c for c in conjuncts if any(column.id in asked for column in columns_of(c))]
        rest = [c for c in conjuncts if c not in above]
        kind, on = (JoinKind.INNER, conjunction(rest)) if rest else (JoinKind.CROSS, None)
        joined = self._subqueries.place(replace(placed, kind=kind, condition=on), of_both)
        return with_filter(joined, above)

    def _using(self, left: Scope, right: Scope, using: Sequence[Name], kind: JoinKind) -> Expr:
        """Equality of the named columns, which are one column from here on."""
        equalities: list[Expr] = []
        merged: dict[str, Merged] = {}
        for name in using:
            mine, other = left.first(name), right.first(name)
            equalities.append(self._binder.call(operator("="), (mine, other), name.span))
            before = left.merged.get(name.text.casefold())
            merged[name.text.casefold()] = Merged(
                before.name if before is not None else default_name(mine),
                self._merged(mine, other, kind),
                _hidden_by(left, mine, name) | _hidden_by(right, other, name),
            )
        # `*` lists the columns of the last join first.
        rest = {k: m for k, m in self._scope.merged.items() if k not in merged}
        self._scope.merged = {**merged, **rest}
        if len(equalities) == 1:
            return equalities[0]
        return self._binder.call(operator("and"), tuple(equalities), None)

    def _merged(self, left: Expr, right: Expr, kind: JoinKind) -> Expr:
        """The value of a USING column: the side that is always there, or whichever is."""
        if kind is JoinKind.RIGHT:
            return right
        if kind is JoinKind.FULL:
            coalesce = self._binder.functions.find("coalesce")
            assert coalesce is not None
            return self._binder.call(coalesce, (left, right), left.span)
        return left


def _merged_of(
    left: Scope, right: Scope, using: Sequence[Name], span: Span | None
) -> dict[str, Merged]:
    """The columns that joins on both sides have made of two, but for those that are joined by."""
    joined = {name.text.casefold() for name in using}
    for name in (left.merged.keys() & right.merged.keys()) - joined:
        raise fail(
            Code.NOT_SUPPORTED,
            f"two joins have each made a column `{name}` of two",
            span,
            "give one of them a name: `(a JOIN b USING (k)) AS x`",
        )
    first = len(left.relations)
    moved = {key: replace(m, place=m.place + first) for key, m in right.merged.items()}
    return {**left.merged, **moved}


def _hidden_by(side: Scope, value: Expr, name: Name) -> frozenset[ColumnId]:
    """The columns of one side that a column of USING stands for."""
    before = side.merged.get(name.text.casefold())
    return before.columns if before is not None else side.same(value)


def _words(node: exp.Expr) -> set[str]:
    """All names of the query that something stands in."""
    return {part.name.casefold() for part in node.root().find_all(exp.Identifier)}


def _table_name(node: exp.Table) -> list[Name]:
    """The parts of a table's name: `orders`, or `shop.orders`."""
    for key, value in node.args.items():
        if value and key not in ("this", "alias", "db", "catalog"):
            raise refused(f"{key.strip('_').upper()} after a source name", node)
    named = [part for part in node.parts if isinstance(part, exp.Identifier)]
    if len(named) != len(node.parts):
        raise refused("this in FROM", node)
    return [name_of(part) for part in named]


def _is_relation(node: exp.Expr) -> bool:
    """Whether brackets are around something of FROM, and not around a query."""
    if isinstance(node, exp.Subquery):
        return any(node.args.get(key) for key in ("alias", "joins", "pivots"))
    return isinstance(node, exp.Table)


def _without(node: exp.Expr, left_out: str) -> exp.Expr:
    return type(node)(**{key: value for key, value in node.args.items() if key != left_out})


def _refuse_names_that_are_there_twice(
    left: Scope, right: Scope, using: Sequence[Name], span: Span | None
) -> None:
    """Spark would list the first of them as often as both sides have one."""
    for name in using:
        folded = name.text.casefold()
        if min(_count(left, folded), _count(right, folded)) > 1:
            message = f"NATURAL JOIN: both sides have two columns called `{name.text}`"
            raise fail(Code.AMBIGUOUS_COLUMN, message, span, "say which ones are meant: `ON ...`")


def _count(side: Scope, folded: str) -> int:
    """How many columns of that name `*` lists."""
    hidden = side.merged[folded].columns if folded in side.merged else frozenset()
    listed = [
        column
        for relation in side.relations
        for column in relation.shown
        if column.name.casefold() == folded and column.id not in hidden
    ]
    return len(listed) + (folded in side.merged)


def _common_names(left: Scope, right: Scope) -> list[Name]:
    """The columns that NATURAL JOIN joins by: those that both sides have, once each."""
    theirs = {column.name.casefold() for relation in right.relations for column in relation.shown}
    mine = {
        column.name.casefold(): Name(column.name, None)
        for relation in reversed(left.relations)
        for column in reversed(relation.shown)
        if column.name.casefold() in theirs
    }
    return list(reversed(mine.values()))
