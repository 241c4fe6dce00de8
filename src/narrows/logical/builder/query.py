"""Queries as a whole: WITH, set operations, VALUES, brackets. `select.py` plans one SELECT.

A common table expression is planned once, and every use of it is a projection of that one plan. So
the uses share it, and its sources decode the union of what the uses look at. Each use has columns
of its own, which is what tells the two sides of `FROM c x JOIN c y` apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from narrows.catalog.elsewhere import ElsewhereTable
from narrows.catalog.objects import Source, View
from narrows.errors import Code, NarrowsError, Span, fail
from narrows.expressions.nodes import Column, Expr, columns_of
from narrows.functions import FunctionRegistry
from narrows.functions.results import common
from narrows.logical.builder.metadata import leave_out_metadata
from narrows.logical.builder.ordering import bind_order, plan_limit, sorted_per_batch
from narrows.logical.builder.recursion import is_recursive, plan_recursion
from narrows.logical.builder.select import SelectBuilder
from narrows.logical.nodes import Distinct, NamedExpr, Node, Project, Sort, relation_of
from narrows.logical.relational_nodes import SetKind, SetOperation, Union, Values
from narrows.logical.results import rename_columns, repeated_outputs, result_relation
from narrows.notices import Notice
from narrows.schema import Field, Struct
from narrows.sql.binder.context import Ids, Problems, name_of, refused, span_of
from narrows.sql.binder.expression import Binder
from narrows.sql.parser.statements import Query
from narrows.sql.scope import Name, Relation, Scope

TableFinder = Callable[[Sequence[Name]], Source | View | ElsewhereTable]
"""Finds what stands in FROM by the parts of its name; raises when there is none."""


@dataclass
class Built:
    """A query as a plan, and what the user should know of it."""

    plan: Node
    notices: list[Notice] = field(default_factory=list)
    ids: Ids = field(default_factory=Ids)
    """Numbers for what is put on top of it."""


def build(query: Query, find_table: TableFinder, functions: FunctionRegistry) -> Built:
    """The logical plan of a query. Raises all that is wrong with it, together."""
    planner = QueryPlanner(find_table, functions)
    plan = planner.plan(query.tree)
    if query.per_batch is not None:
        plan = sorted_per_batch(plan, query.per_batch)
    return Built(leave_out_metadata(plan), planner.notices, planner.ids)


_SET_OPERATIONS = (exp.Union, exp.Intersect, exp.Except)
_READ_OF_SET_OPERATIONS = frozenset(
    ("this", "expression", "distinct", "by_name", "with_", "order", "limit", "offset")
)
_READ_OF_VALUES = frozenset(("expressions", "alias"))
_READ_OF_BRACKETS = frozenset(("this", "with_", "order", "limit", "offset", "alias"))


@dataclass(frozen=True)
class QueryPlanner:
    """Plans queries that see the same common table expressions and the same outer query."""

    find_table: TableFinder
    functions: FunctionRegistry
    ids: Ids = field(default_factory=Ids)
    notices: list[Notice] = field(default_factory=list)
    tables: Mapping[str, Node] = field(default_factory=dict)
    """Common table expressions by folded name."""
    outer: Scope | None = None
    """What the query around a subquery has in sight."""
    on_top: bool = True
    """Whether what the query gives is what the user gets: then `SELECT *` is worth a notice."""

    def inside(self, scope: Scope) -> QueryPlanner:
        """The planner of the subqueries of a query that has this in sight."""
        return replace(self, outer=scope, on_top=False)

    def derived(self) -> QueryPlanner:
        """The planner of queries that another one selects from."""
        return replace(self, on_top=False)

    def plan(self, tree: exp.Expr) -> Node:
        """The plan of a query; its outputs are the columns of one relation."""
        clause = tree.args.get("with_")
        if clause is not None:
            return self.with_tables(clause)._plan(tree)
        return self._plan(tree)

    def view(self, view: View, span: Span | None) -> Node:
        """The plan of a view: of its query alone, whatever is in sight where it is used."""
        alone = replace(self, tables={}, outer=None, on_top=False)
        try:
            plan = alone.plan(view.query.tree)
            return self.with_names(plan, view.columns) if view.columns else plan
        except NarrowsError as error:
            # Its text is another one: what is wrong there has no place in this query.
            first = error.problems[0]
            raise fail(first.code, f"in view `{view.name}`: {first.message}", span) from None

    def use_table(self, name: Name) -> Project | None:
        """A use of a common table expression; None when there is none of that name."""
        plan = self.tables.get(name.text.casefold())
        return None if plan is None else self.renamed(plan)

    def renamed(self, plan: Node, columns: Sequence[Column] | None = None) -> Project:
        """The plan's columns, or some of them, as columns of a new relation."""
        chosen = plan.outputs if columns is None else columns
        named = [NamedExpr(column.name, column) for column in chosen]
        relation = relation_of(self.ids.new(), None, named)
        if columns is None:
            relation = replace(relation, repeated=repeated_outputs(plan))
        return Project(child=plan, fields=tuple(named), relation=relation)

    def _plan(self, tree: exp.Expr) -> Node:
        match tree:
            case exp.Select():
                return SelectBuilder(self).build(tree)
            case exp.Values():
                _refuse_others(tree, _READ_OF_VALUES, "VALUES")
                return self._values(tree)
            case exp.Subquery():
                _refuse_others(tree, _READ_OF_BRACKETS, "brackets")
                return self._sorted_and_limited(self.plan(tree.this), tree)
            case exp.Union() | exp.Intersect() | exp.Except():
                _refuse_others(tree, _READ_OF_SET_OPERATIONS, type(tree).__name__.upper())
                return self._sorted_and_limited(self._set_operation(tree), tree)
            case exp.Insert() | exp.MultitableInserts():
                raise fail(
                    Code.NOT_SUPPORTED,
                    "a query reads, and INSERT writes",
                    span_of(tree),
                    "rows are written by pipelines: `CREATE PIPELINE name INTO sink AS SELECT ...`",
                )
            case _:
                raise refused(f"{type(tree).__name__.upper()} queries", tree)

    # --- WITH -------------------------------------------------------------------------------------

    def with_tables(self, clause: exp.With) -> QueryPlanner:
        """The planner of queries that see the tables of this clause."""
        planner = self
        for table in clause.expressions:
            name = name_of(table.args["alias"].this)
            here = [name_of(t.args["alias"].this).text.casefold() for t in clause.expressions]
            if here.count(name.text.casefold()) > 1:
                raise fail(
                    Code.DUPLICATE_OBJECT, f"WITH has two tables called `{name.text}`", name.span
                )
            columns = [name_of(column) for column in table.args["alias"].columns]
            if clause.args.get("recursive") and is_recursive(table, name):
                plan = plan_recursion(planner.derived(), table, name, columns)
            else:
                plan = planner.derived().plan(table.this)
                plan = planner.with_names(plan, columns) if columns else plan
            planner = planner.with_table(name, plan)
        return planner

    def with_table(self, name: Name, plan: Node) -> QueryPlanner:
        """The planner of queries that see this as a common table expression."""
        return replace(self, tables={**self.tables, name.text.casefold(): plan})

    def with_names(self, plan: Node, names: Sequence[Name]) -> Node:
        renamed = rename_columns(result_relation(plan), names)
        fields = [NamedExpr(c.name, c) for c in renamed.columns]
        return Project(
            child=plan, fields=tuple(fields), relation=relation_of(self.ids.new(), None, fields)
        )

    # --- set operations ---------------------------------------------------------------------------

    def _set_operation(self, tree: exp.Expr) -> Node:
        """A chain such as `a UNION ALL b UNION ALL c` nests to the left, as deep as it is long."""
        chain: list[exp.Expr] = []
        while isinstance(tree, _SET_OPERATIONS):
            if chain:
                _refuse_others(tree, _READ_OF_SET_OPERATIONS, "a part of a set operation")
                if any(tree.args.get(key) for key in ("with_", "order", "limit", "offset")):
                    break
            chain.append(tree)
            tree = tree.this
        plan = self.plan(tree)
        for operation in reversed(chain):
            plan = self._combined(plan, self.plan(operation.expression), operation)
        return plan

    def _combined(self, left: Node, right: Node, tree: exp.Expr) -> Node:
        kind = type(tree).__name__.upper()
        if tree.args.get("by_name"):
            right = self._by_name(left, right, tree)
        if len(left.outputs) != len(right.outputs):
            raise fail(
                Code.WRONG_ARITY,
                f"the sides of {kind} have {len(left.outputs)} and {len(right.outputs)} columns",
                span_of(tree.expression),
            )
        schema = tuple(
            Field(mine.name, common([mine.dtype, other.dtype]))
            for mine, other in zip(left.outputs, right.outputs, strict=True)
        )
        there = repeated_outputs(right)
        repeated = {
            p: first for p, first in repeated_outputs(left).items() if there.get(p) == first
        }
        relation = Relation(self.ids.new(), None, Struct(schema), repeated=repeated)
        keeps_all = not tree.args.get("distinct")
        if not isinstance(tree, exp.Union):
            operation = SetKind.INTERSECT if isinstance(tree, exp.Intersect) else SetKind.EXCEPT
            return SetOperation(
                kind=operation, left=left, right=right, relation=relation, all=keeps_all
            )
        flat = (*(left.inputs if isinstance(left, Union) else (left,)), right)
        union = Union(inputs=flat, relation=relation)
        return union if keeps_all else Distinct(child=union)

    def _by_name(self, left: Node, right: Node, tree: exp.Expr) -> Node:
        """`UNION BY NAME`: the right side's columns in the order of the left side's."""
        theirs = {column.name.casefold(): column for column in right.outputs}
        mine = [column.name.casefold() for column in left.outputs]
        for side, names in ((left, mine), (right, list(theirs))):
            missing = [c.name for c in side.outputs if c.name.casefold() not in {*mine} & {*theirs}]
            if missing or len(set(names)) < len(side.outputs):
                which = (
                    f"`{missing[0]}` is on one side only" if missing else "a name is there twice"
                )
                raise fail(Code.UNKNOWN_COLUMN, f"UNION BY NAME: {which}", span_of(tree.expression))
        return self.renamed(right, [theirs[name] for name in mine])

    def _sorted_and_limited(self, plan: Node, tree: exp.Expr) -> Node:
        """ORDER BY and LIMIT of a query that is no SELECT: over the columns of its result."""
        problems = Problems()
        relation = result_relation(plan)
        binder = Binder(Scope([relation]), self.functions, problems, self.ids)
        columns = [NamedExpr(c.name, c) for c in relation.columns]
        keys = bind_order(tree.args.get("order"), columns, binder)
        problems.raise_if_any()
        if keys:
            plan = Sort(child=plan, keys=tuple(keys))
        return plan_limit(plan, tree, binder)

    # --- VALUES -----------------------------------------------------------------------------------

    def _values(self, tree: exp.Values) -> Node:
        problems = Problems()
        binder = Binder(Scope(), self.functions, problems, self.ids)
        rows: list[tuple[Expr, ...]] = []
        for row in tree.expressions:
            nodes = row.expressions if isinstance(row, exp.Tuple) else [row]
            # A name that is given here is one that nobody sees: `VALUES (1 AS a)`.
            rows.append(tuple(binder.bind_in("VALUES", node.unalias()) for node in nodes))
        problems.raise_if_any()
        if len({len(row) for row in rows}) != 1:
            raise fail(
                Code.WRONG_ARITY, "the rows of VALUES are of different lengths", span_of(tree)
            )
        assert not any(True for row in rows for expr in row for _ in columns_of(expr))
        schema = Struct(
            tuple(
                Field(f"col{place + 1}", common([row[place].dtype for row in rows]))
                for place in range(len(rows[0]))
            )
        )
        relation = Relation(self.ids.new(), None, schema)
        alias = tree.args.get("alias")
        if alias is not None and alias.columns:
            relation = rename_columns(relation, [name_of(column) for column in alias.columns])
        return Values(rows=tuple(rows), relation=relation)


def _refuse_others(tree: exp.Expr, read: frozenset[str], what: str) -> None:
    for key, value in tree.args.items():
        if value and key not in read:
            raise refused(f"{what} with {key.strip('_').upper().replace('_', ' ')}", tree)
