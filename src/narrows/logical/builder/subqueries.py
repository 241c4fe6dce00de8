"""Subqueries of expressions: `(SELECT max(x) FROM t)`, `EXISTS (...)`, `a IN (SELECT ...)`.

The binder meets them in the middle of an expression and leaves a column behind; here they wait
until the plan has come to the clause that uses them. Then a `Subquery` node right below that clause
adds the column.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from narrows.errors import Code, Span, fail
from narrows.expressions.nodes import (
    Call,
    Column,
    ColumnId,
    Expr,
    columns_of,
    columns_of_all,
    rewrite,
    walk,
)
from narrows.functions.spark_name import spark_name
from narrows.logical.nodes import NamedExpr, Node, Project, Sort, as_call, is_aggregate, relation_of
from narrows.logical.relational_nodes import Analytic, Subquery
from narrows.logical.walk import outer_columns, topological, transform_up
from narrows.schema import BOOLEAN, DataType, Field, Struct
from narrows.sql.binder.context import Ids, SubqueryKind, span_of
from narrows.sql.binder.literals import literal
from narrows.sql.scope import Relation

PlanQuery = Callable[[exp.Expr], Node]

_NAMES = {
    SubqueryKind.SCALAR: "scalar_subquery",
    SubqueryKind.EXISTS: "exists_subquery",
    SubqueryKind.IN: "in_subquery",
}


@dataclass
class WaitingSubquery:
    kind: SubqueryKind
    operands: tuple[Expr, ...]
    subplan: Node
    relation: Relation
    span: Span | None

    def outer_columns(self) -> Iterator[Column]:
        """The columns of the query around it that it looks at."""
        yield from (column for operand in self.operands for column in columns_of(operand))
        yield from outer_columns(self.subplan)

    def outer_aggregates(self) -> Iterator[Call]:
        """Aggregates of the groups around it that it looks at: `HAVING EXISTS (... sum(t.v))`."""
        outer = {column.id for column in outer_columns(self.subplan)}
        for node in topological(self.subplan):
            for expr in node.expressions if not node.folds else ():
                for part in walk(expr):
                    used = {column.id for column in columns_of(part)}
                    if is_aggregate(part) and used and used <= outer:
                        yield as_call(part)

    def rewrite(self, change: Callable[[Expr], Expr | None]) -> None:
        """Replaces parts of what it says about the rows of the query around it."""
        self.operands = tuple(rewrite(operand, change) for operand in self.operands)
        outer = {column.id for column in outer_columns(self.subplan)}

        def change_outer(expr: Expr) -> Expr | None:
            about_outer = any(column.id in outer for column in columns_of(expr))
            return change(expr) if about_outer else None

        def change_node(node: Node) -> Node | None:
            before = node.expressions
            after = [rewrite(expr, change_outer) for expr in before]
            if all(new is old for new, old in zip(after, before, strict=True)):
                return None
            return node.with_expressions(after)

        self.subplan = transform_up(self.subplan, change_node) or self.subplan


@dataclass
class WaitingSubqueries:
    """The subqueries of one SELECT that have no place in its plan yet."""

    ids: Ids
    plan_query: PlanQuery
    waiting: dict[int, WaitingSubquery] = field(default_factory=dict)
    _asked: dict[tuple[SubqueryKind, tuple[Expr, ...], str], Column] = field(default_factory=dict)
    _first: dict[ColumnId, Column] = field(default_factory=dict)

    def add(self, kind: SubqueryKind, operands: tuple[Expr, ...], tree: exp.Expr) -> Column:
        """Plans a subquery; the column that will hold its answer."""
        subplan = self.plan_query(tree)
        shown = _spark_name(kind, operands, subplan)
        dtype: DataType = BOOLEAN
        if kind is not SubqueryKind.EXISTS:
            _check_columns(kind, len(operands), subplan, tree)
        if kind is SubqueryKind.EXISTS:
            subplan = self._only_rows(subplan)
        if kind is SubqueryKind.SCALAR:
            dtype = subplan.outputs[0].dtype
        number = self.ids.new()
        schema = Struct((Field(f"{_NAMES[kind]}_{number}", dtype),))
        relation = Relation(number, None, schema)
        span = span_of(tree)
        self.waiting[number] = WaitingSubquery(kind, operands, subplan, relation, span)
        column = replace(relation.column(0, span), written_as=shown)
        self._asked.setdefault((kind, operands, tree.sql(dialect="spark")), column)
        self._first[column.id] = self._asked[kind, operands, tree.sql(dialect="spark")]
        return column

    def first(self, expr: Expr) -> Expr:
        """The expression, with the first of all subqueries that ask the same in place of each."""
        return rewrite(expr, lambda e: self._first.get(e.id) if isinstance(e, Column) else None)

    def _only_rows(self, plan: Node) -> Node:
        """EXISTS looks at no column, so nothing is computed from other rows for one."""
        if not isinstance(plan, Project):
            return plan
        child = plan.child
        while isinstance(child, (Analytic, Sort)):
            child = child.child
        if child is plan.child:
            return plan
        one = NamedExpr("1", literal(1))
        relation = relation_of(self.ids.new(), None, [one])
        return Project(child=child, fields=(one,), relation=relation)

    def place(self, plan: Node, expressions: Iterable[Expr]) -> Node:
        """The plan with the columns that these expressions need of subqueries."""
        for number in self._asked_by(expressions):
            subquery = self.waiting.pop(number, None)
            if subquery is not None:
                plan = Subquery(
                    kind=subquery.kind,
                    child=self.place(plan, subquery.operands),
                    subplan=subquery.subplan,
                    relation=subquery.relation,
                    operands=subquery.operands,
                )
        return plan

    def used_by(self, expressions: Iterable[Expr]) -> list[WaitingSubquery]:
        """Those whose column stands in one of the expressions."""
        return [self.waiting[number] for number in self._asked_by(expressions)]

    def _asked_by(self, expressions: Iterable[Expr]) -> list[int]:
        if not self.waiting:
            return []
        used = dict.fromkeys(column.id.relation for column in columns_of_all(expressions))
        return [number for number in used if number in self.waiting]

    def divide(
        self, expressions: Iterable[Expr], left: Collection[int], right: Collection[int]
    ) -> tuple[list[Column], list[Column], list[Column]]:
        """The answers that expressions need, by the side of a join whose rows tell them: the left
        (or none at all), the right, or only both together."""
        sides: tuple[list[Column], list[Column], list[Column]] = ([], [], [])
        for subquery in self.used_by(expressions):
            used = {column.id.relation for column in subquery.outer_columns()}
            place = 0 if not used & {*right} else 1 if not used & {*left} else 2
            sides[place].append(subquery.relation.columns[0])
        return sides

    def refuse(self, expressions: Iterable[Expr], where: str) -> None:
        for subquery in self.used_by(expressions):
            raise fail(
                Code.NOT_SUPPORTED, f"subqueries in {where} cannot be planned yet", subquery.span
            )


def _spark_name(kind: SubqueryKind, operands: Sequence[Expr], subplan: Node) -> str:
    """What Spark calls it in a column's name: by the columns around it that it looks at."""
    looks = ", ".join(column.name for column in outer_columns(subplan))
    if kind is SubqueryKind.SCALAR:
        return f"scalarsubquery({looks})"
    if kind is SubqueryKind.EXISTS:
        return f"exists({looks})"
    asked = [spark_name(operand) for operand in operands]
    if len(asked) > 1:
        asked = [f"named_struct({', '.join(f'{name}, {name}' for name in asked)})"]
    return f"({asked[0]} IN (listquery({looks})))"


def _check_columns(kind: SubqueryKind, operands: int, subplan: Node, tree: exp.Expr) -> None:
    wanted = operands if kind is SubqueryKind.IN else 1
    found = len(subplan.outputs)
    if found != wanted:
        raise fail(
            Code.WRONG_ARITY,
            f"the subquery gives {found} columns, {wanted} {'is' if wanted == 1 else 'are'} needed",
            span_of(tree),
        )
