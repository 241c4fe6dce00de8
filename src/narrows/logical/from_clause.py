"""FROM: sources, joins and LATERAL VIEW, and the relations that they bring into scope."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from narrows.catalog.objects import Source
from narrows.errors import Code, fail
from narrows.expressions import Call, Expr, columns_of
from narrows.logical.nodes import DataSource, Generate, Join, JoinKind, Node, default_name
from narrows.schema import UNKNOWN, Field, Struct, Unknown
from narrows.sql.bind import Binder
from narrows.sql.binding import Ids, name_of, refused, span_of
from narrows.sql.functions import Kind, operator
from narrows.sql.functions.registry import Output
from narrows.sql.scope import Merged, Name, Relation, Scope

SourceFinder = Callable[[Name], Source]
"""Finds a stream or table by name; raises when there is none."""

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

    def __init__(self, binder: Binder, ids: Ids, find_source: SourceFinder) -> None:
        self._binder = binder
        self._scope: Scope = binder.scope
        self._ids = ids
        self._find_source = find_source

    def plan(self, tree: exp.Select) -> Node:
        clause = tree.args.get("from_")
        if clause is None:
            raise fail(
                Code.NOT_SUPPORTED,
                "a query without FROM cannot be planned yet",
                span_of(tree),
                "add `FROM` and a stream or table",
            )
        plan: Node = self._source(clause.this)
        for join in tree.args.get("joins") or ():
            plan = self._join(plan, join)
        for lateral in tree.args.get("laterals") or ():
            plan = self._lateral_view(plan, lateral)
        return plan

    # --- sources ----------------------------------------------------------------------------------

    def _source(self, node: exp.Expr) -> DataSource:
        source, name = self._named_source(node)
        alias = node.args.get("alias")
        if alias is not None and alias.args.get("columns"):
            raise refused("column aliases in FROM", node)
        shown = alias.name if alias is not None and alias.name else source.name
        relation = Relation(self._ids.new(), shown, source.schema, is_source=True)
        self._scope.add(relation, name.span)
        return DataSource(source=source, relation=relation)

    def _named_source(self, node: exp.Expr) -> tuple[Source, Name]:
        if isinstance(node, exp.Subquery):
            raise refused("subqueries in FROM", node)
        if not isinstance(node, exp.Table):
            raise refused(f"{type(node).__name__.upper()} in FROM", node)
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
        name = name_of(node.this)
        return self._find_source(name), name

    # --- joins ------------------------------------------------------------------------------------

    def _join(self, left: Node, node: exp.Join) -> Node:
        for key in (
            "method",
            "global_",
            "hint",
            "match_condition",
            "nearest",
            "directed",
            "pivots",
        ):
            if node.args.get(key):
                what = node.args[key] if key == "method" else key.strip("_").upper()
                raise refused(f"{what} joins", node)
        side, word = str(node.args.get("side") or ""), str(node.args.get("kind") or "")
        kind = _JOIN_KINDS.get((side.upper(), word.upper()))
        if kind is None:
            raise refused(f"{side} {word} joins".strip(), node)
        left_relations = list(self._scope.relations)
        right = self._source(node.this)
        on, using = node.args.get("on"), node.args.get("using")
        condition: Expr | None = None
        if using:
            condition = self._using(left_relations, right.relation, using, kind)
        elif on is not None:
            condition = self._binder.bind_in("ON", on)
        elif kind is JoinKind.INNER:
            kind = JoinKind.CROSS
        if kind in (JoinKind.SEMI, JoinKind.ANTI):
            self._scope.relations.remove(right.relation)
        if condition is None and kind is not JoinKind.CROSS:
            raise fail(Code.SYNTAX_ERROR, f"a {kind.value} join needs ON or USING", span_of(node))
        return Join(kind=kind, left=left, right=right, condition=condition)

    def _using(
        self, left: Sequence[Relation], right: Relation, using: Sequence[exp.Expr], kind: JoinKind
    ) -> Expr:
        """Equality of the named columns, which are one column from here on."""
        left_scope = Scope(list(left), dict(self._scope.merged))
        right_scope = Scope([right])
        equalities: list[Expr] = []
        for node in using:
            name = name_of(node)
            mine, _ = left_scope.resolve([name])
            other, _ = right_scope.resolve([name])
            equalities.append(self._binder.call(operator("="), (mine, other), name.span))
            before = self._scope.merged.get(name.text.casefold())
            merged = (
                before.relations
                if before is not None
                else {c.id.relation for c in columns_of(mine)}
            )
            self._scope.merged[name.text.casefold()] = Merged(
                default_name(mine), self._merged(mine, other, kind), frozenset((*merged, right.id))
            )
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
