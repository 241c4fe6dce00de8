"""FROM: sources, joins and LATERAL VIEW, and the relations that they bring into scope."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from narrows.errors import Code, fail
from narrows.expressions.function import Kind, Output
from narrows.expressions.nodes import Call, ColumnId, Expr, columns_of
from narrows.functions import operator
from narrows.logical.nodes import DataSource, Generate, Join, JoinKind, Node, default_name
from narrows.logical.relational_nodes import OneRow
from narrows.logical.results import rename_columns, result_relation
from narrows.schema import UNKNOWN, Field, Struct, Unknown
from narrows.sql.bind import Binder
from narrows.sql.binding import name_of, refused, span_of
from narrows.sql.scope import Merged, Name, Relation, Scope

if TYPE_CHECKING:
    from narrows.logical.query import QueryPlanner

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


class FromPlanner:
    """Plans the FROM clause of one SELECT, filling its scope."""

    def __init__(self, binder: Binder, queries: QueryPlanner) -> None:
        self._binder = binder
        self._scope: Scope = binder.scope
        self._ids = queries.ids
        self._queries = queries

    def plan(self, tree: exp.Select) -> Node:
        clause = tree.args.get("from_")
        plan: Node = OneRow() if clause is None else self._item(clause.this)
        for join in tree.args.get("joins") or ():
            plan = self._join(plan, join)
        for lateral in tree.args.get("laterals") or ():
            plan = self._lateral_view(plan, lateral)
        return plan

    # --- what may stand in FROM -------------------------------------------------------------------

    def _item(self, node: exp.Expr) -> Node:
        """A source, a common table expression, a query in brackets, or joins in brackets."""
        match node:
            case exp.Subquery(this=exp.Table() as table) if not node.args.get("alias"):
                plan = self._item(_without_joins(table))
                for join in (*(table.args.get("joins") or ()), *(node.args.get("joins") or ())):
                    plan = self._join(plan, join)
                return plan
            case exp.Subquery() | exp.Values() if not node.args.get("joins"):
                return self._derived(self._queries.derived().plan(node), node)
            case exp.Table() if not node.args.get("joins"):
                return self._table(node)
            case exp.Lateral():
                raise refused("LATERAL in FROM", node)
            case _:
                raise refused(f"{type(node).__name__.upper()} with these clauses in FROM", node)

    def _table(self, node: exp.Table) -> Node:
        name = _table_name(node)
        plan = self._queries.use_table(name)
        if plan is not None:
            return self._derived(plan, node, name)
        source = self._queries.find_source(name)
        alias = node.args.get("alias")
        shown = alias.name if alias is not None and alias.name else source.name
        relation = Relation(
            self._ids.new(), shown, source.row, is_source=True, hidden=len(source.metadata)
        )
        read = DataSource(source=source, relation=relation)
        if alias is not None and alias.columns:
            return self._derived(self._queries.renamed(read, relation.shown), node)
        self._scope.add(relation, name.span)
        return read

    def _derived(self, plan: Node, node: exp.Expr, name: Name | None = None) -> Node:
        """Brings the result of a query into scope, under its alias."""
        alias = node.args.get("alias")
        shown = alias.name if alias is not None and alias.name else name.text if name else None
        relation = replace(result_relation(plan), name=shown)
        columns = [name_of(column) for column in alias.columns] if alias is not None else []
        if columns:
            relation = rename_columns(relation, columns)
        self._scope.add(relation, name.span if name is not None else span_of(node))
        return plan

    # --- joins ------------------------------------------------------------------------------------

    def _join(self, left: Node, node: exp.Join) -> Node:
        for key in (
            "global_",
            "hint",
            "match_condition",
            "nearest",
            "directed",
            "pivots",
        ):
            if node.args.get(key):
                raise refused(f"{key.strip('_').upper()} joins", node)
        side, word = str(node.args.get("side") or ""), str(node.args.get("kind") or "")
        kind = _JOIN_KINDS.get((side.upper(), word.upper()))
        if kind is None:
            raise refused(f"{side} {word} joins".strip(), node)
        left_relations = list(self._scope.relations)
        merged_before = dict(self._scope.merged)
        right = self._item(node.this)
        right_relations = self._scope.relations[len(left_relations) :]
        sides = (Scope(left_relations, merged_before), Scope(right_relations))
        on, using = node.args.get("on"), [name_of(name) for name in node.args.get("using") or ()]
        method = str(node.args.get("method") or "").upper()
        if method == "NATURAL":
            using = _common_names(*sides)
        elif method:
            raise refused(f"{method} joins", node)
        condition: Expr | None = None
        if using:
            condition = self._using(*sides, using, kind)
        elif on is not None:
            condition = self._binder.condition("ON", on)
        elif kind is JoinKind.INNER:
            kind = JoinKind.CROSS
        if kind in (JoinKind.SEMI, JoinKind.ANTI):
            del self._scope.relations[len(left_relations) :]
        if condition is None and kind is not JoinKind.CROSS:
            raise fail(Code.SYNTAX_ERROR, f"a {kind.value} join needs ON or USING", span_of(node))
        return Join(kind=kind, left=left, right=right, condition=condition)

    def _using(self, left: Scope, right: Scope, using: Sequence[Name], kind: JoinKind) -> Expr:
        """Equality of the named columns, which are one column from here on."""
        equalities: list[Expr] = []
        merged: dict[str, Merged] = {}
        for name in using:
            mine, other = left.first(name), right.first(name)
            equalities.append(self._binder.call(operator("="), (mine, other), name.span))
            before = left.merged.get(name.text.casefold())
            hidden = before.columns if before is not None else _ids(mine)
            merged[name.text.casefold()] = Merged(
                before.name if before is not None else default_name(mine),
                self._merged(mine, other, kind),
                frozenset(hidden | _ids(other)),
            )
        # `*` lists the columns of the last join first.
        self._scope.merged = {**merged, **{k: m for k, m in left.merged.items() if k not in merged}}
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

    # --- LATERAL VIEW -----------------------------------------------------------------------------

    def _lateral_view(self, plan: Node, node: exp.Lateral) -> Node:
        if not node.args.get("view"):
            raise refused("LATERAL subqueries", node)
        generator = self._binder.bind_in("LATERAL VIEW", node.this, Kind.GENERATOR)
        if not isinstance(generator, Call) or generator.function.generator is None:
            self._binder.problems.raise_if_any()
            raise fail(
                Code.MISPLACED_FUNCTION,
                "LATERAL VIEW takes a generator such as explode",
                span_of(node),
            )
        alias = node.args.get("alias")
        names = [name_of(column) for column in (alias.columns if alias is not None else ())]
        relation = generated_relation(
            generator, self._ids.new(), (alias.name or None) if alias is not None else None, names
        )
        self._scope.add(relation, span_of(node))
        return Generate(
            child=plan,
            generator=generator,
            relation=relation,
            outer=bool(node.args.get("outer")),
        )


def _table_name(node: exp.Table) -> Name:
    if isinstance(node.this, exp.Anonymous):
        raise refused("table functions", node)
    for key, value in node.args.items():
        if value and key not in ("this", "alias", "db", "catalog"):
            raise refused(f"{key.strip('_').upper()} after a source name", node)
    if node.args.get("db") or not isinstance(node.this, exp.Identifier):
        raise fail(
            Code.UNKNOWN_SOURCE,
            f"`{node.sql()}` not found: names of streams and tables have one part",
            span_of(node),
        )
    return name_of(node.this)


def _without_joins(table: exp.Table) -> exp.Table:
    return exp.Table(**{key: value for key, value in table.args.items() if key != "joins"})


def _ids(expr: Expr) -> frozenset[ColumnId]:
    return frozenset(column.id for column in columns_of(expr))


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


def generated_relation(
    generator: Call, relation_id: int, name: str | None, names: Sequence[Name]
) -> Relation:
    """The columns that a generator makes, under the names that the query gives them."""
    function = generator.function
    assert function.generator is not None
    outputs = function.generator.outputs(generator.args)
    if outputs is None and isinstance(generator.args[0].dtype, Unknown):
        # Only Spark knows what it makes: as many columns as the query names, or explode's one.
        outputs = [Output(n.text, UNKNOWN) for n in names] or [Output("col", UNKNOWN)]
    if outputs is None:
        raise fail(
            Code.WRONG_TYPE,
            f"`{function.name}` cannot be planned on this argument",
            generator.span,
            "explode takes a list or a map, inline a list of structs",
        )
    if names and len(names) != len(outputs):
        raise fail(
            Code.WRONG_ARITY,
            f"`{function.name}` makes {len(outputs)} columns, {len(names)} names were given",
            names[0].span,
        )
    given = [n.text for n in names] or [output.name for output in outputs]
    fields = tuple(Field(n, o.dtype) for n, o in zip(given, outputs, strict=True))
    return Relation(relation_id, name, Struct(fields))
