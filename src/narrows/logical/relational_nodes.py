"""Logical nodes of queries that are more than one SELECT: set operations, VALUES, subqueries, OVER.

What holds for `logical/nodes.py` holds here: a node that makes columns carries their relation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Self

from narrows.catalog.elsewhere import ElsewhereTable
from narrows.expressions.nodes import Call, Column, Expr
from narrows.expressions.text import expression_text
from narrows.logical.nodes import Info, JoinKind, Listing, NamedExpr, Node, UnaryNode, as_call
from narrows.sql.binder.context import SubqueryKind
from narrows.sql.scope import Relation


@dataclass(frozen=True, kw_only=True, eq=False)
class OneRow(Node):
    """A single row without columns: what a SELECT without FROM selects from."""

    without_place = "a query without FROM"


@dataclass(frozen=True, kw_only=True, eq=False)
class Values(Node):
    """Rows that the query itself spells out."""

    without_place = "VALUES"

    rows: tuple[tuple[Expr, ...], ...]
    relation: Relation

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return tuple(expr for row in self.rows for expr in row)

    def with_expressions(self, expressions: Sequence[Expr]) -> Self:
        rest = iter(expressions)
        return replace(self, rows=tuple(tuple(next(rest) for _ in row) for row in self.rows))

    @property
    def outputs(self) -> Sequence[Column]:
        return self.relation.columns

    def info(self) -> Info:
        columns = Listing(self.relation.schema.names, ", ")
        return {"columns": columns, "rows": str(len(self.rows))}


@dataclass(frozen=True, kw_only=True, eq=False)
class SparkTable(Node):
    """A view or table of the Spark session, which Spark reads: these columns of it."""

    without_place = "a table of Spark"

    table: ElsewhereTable
    relation: Relation

    @property
    def outputs(self) -> Sequence[Column]:
        return self.relation.columns

    def info(self) -> Info:
        names = self.relation.schema.names
        read = f"{len(names)} of {len(self.table.schema) - self.table.hidden} columns"
        return {"table": self.table.name, "schema": Listing(names, ", "), "reads": read}


@dataclass(frozen=True, kw_only=True, eq=False)
class TableFunction(Node):
    """The rows of a function that stands in FROM: `range(10)`."""

    without_place = "a table function"

    call: Call
    relation: Relation

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return (self.call,)

    def with_expressions(self, expressions: Sequence[Expr]) -> Self:
        return replace(self, call=as_call(expressions[0]))

    @property
    def outputs(self) -> Sequence[Column]:
        return self.relation.columns

    def info(self) -> Info:
        columns = Listing(self.relation.schema.names, ", ")
        return {"function": expression_text(self.call), "columns": columns}


@dataclass(frozen=True, kw_only=True, eq=False)
class Union(Node):
    """UNION ALL: the rows of all inputs. Columns meet by their place in the inputs' outputs."""

    without_place = "UNION"

    inputs: tuple[Node, ...]
    relation: Relation

    @property
    def children(self) -> tuple[Node, ...]:
        return self.inputs

    def with_children(self, children: Sequence[Node]) -> Self:
        return replace(self, inputs=tuple(children))

    @property
    def outputs(self) -> Sequence[Column]:
        return self.relation.columns

    def info(self) -> Info:
        return {"columns": Listing(self.relation.schema.names, ", ")}


@dataclass(frozen=True, kw_only=True, eq=False)
class NearestJoin(Node):
    """For each row of the left, so many of the right: those of which `ranking` is least (DISTANCE)
    or greatest (SIMILARITY). Which ones they are depends on all rows of the right."""

    without_place = "a join with the nearest rows"

    kind: JoinKind
    left: Node
    right: Node
    ranking: Expr
    count: int
    similarity: bool
    approximate: bool

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    def with_children(self, children: Sequence[Node]) -> Self:
        return replace(self, left=children[0], right=children[1])

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return (self.ranking,)

    def with_expressions(self, expressions: Sequence[Expr]) -> Self:
        return replace(self, ranking=expressions[0])

    @property
    def clause(self) -> str:
        """What stands before the ranking."""
        mode = "APPROX" if self.approximate else "EXACT"
        direction = "SIMILARITY" if self.similarity else "DISTANCE"
        return f"{mode} NEAREST {self.count} BY {direction}"

    def info(self) -> Info:
        return {"kind": self.kind.value, "by": f"{self.clause} {expression_text(self.ranking)}"}


class SetKind(Enum):
    INTERSECT = "intersect"
    EXCEPT = "except"


@dataclass(frozen=True, kw_only=True, eq=False)
class SetOperation(Node):
    """INTERSECT or EXCEPT. They compare whole rows, so nothing of their inputs may be pruned."""

    without_place = "INTERSECT or EXCEPT"

    kind: SetKind
    left: Node
    right: Node
    relation: Relation
    all: bool = False

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    def with_children(self, children: Sequence[Node]) -> Self:
        return replace(self, left=children[0], right=children[1])

    @property
    def outputs(self) -> Sequence[Column]:
        return self.relation.columns

    def info(self) -> Info:
        return {"kind": f"{self.kind.value}{' all' if self.all else ''}"}


@dataclass(frozen=True, kw_only=True, eq=False)
class Subquery(Node):
    """Adds a column to every row: what a subquery of an expression says of that row.

    The value of a scalar subquery, whether EXISTS finds a row, or whether the operands are IN its
    rows. Nodes of `subplan` may use columns of `child`; then the subquery is correlated.
    """

    kind: SubqueryKind
    child: Node
    subplan: Node
    relation: Relation
    operands: tuple[Expr, ...] = ()

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.child, self.subplan)

    def with_children(self, children: Sequence[Node]) -> Self:
        return replace(self, child=children[0], subplan=children[1])

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return self.operands

    def with_expressions(self, expressions: Sequence[Expr]) -> Self:
        return replace(self, operands=tuple(expressions))

    @property
    def outputs(self) -> Sequence[Column]:
        return [*self.child.outputs, *self.relation.columns]

    def info(self) -> Info:
        info: dict[str, str | Listing] = {"kind": self.kind.value}
        if self.operands:
            info["operands"] = Listing([expression_text(expr) for expr in self.operands], ", ")
        info["column"] = self.relation.schema.names[0]
        return info


@dataclass(frozen=True, kw_only=True, eq=False)
class Analytic(UnaryNode):
    """Adds a column for each call with an OVER clause that Spark computes: `rank() OVER (...)`."""

    calls: tuple[Call, ...]
    relation: Relation

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return self.calls

    def with_expressions(self, expressions: Sequence[Expr]) -> Self:
        return replace(self, calls=tuple(as_call(expr) for expr in expressions))

    @property
    def outputs(self) -> Sequence[Column]:
        return [*self.child.outputs, *self.relation.columns]

    def info(self) -> Info:
        return {"calls": Listing([expression_text(call) for call in self.calls])}


@dataclass(frozen=True, kw_only=True, eq=False)
class Pivot(UnaryNode):
    """Groups by keys, and folds the rows of each value of `by` into columns of their own.

    Outputs the keys, then for each value a column for each of what is computed of aggregates.
    """

    keeps_state = True
    folds = True
    without_place = "PIVOT"

    keys: tuple[NamedExpr, ...]
    by: tuple[Expr, ...]
    folded: tuple[Expr, ...]
    values: tuple[tuple[Expr, ...], ...]
    relation: Relation

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return (*(key.expr for key in self.keys), *self.by, *self.folded)

    def with_expressions(self, expressions: Sequence[Expr]) -> Self:
        keys, by = len(self.keys), len(self.keys) + len(self.by)
        named = zip(self.keys, expressions[:keys], strict=True)
        return replace(
            self,
            keys=tuple(NamedExpr(key.name, expr) for key, expr in named),
            by=tuple(expressions[keys:by]),
            folded=tuple(expressions[by:]),
        )

    @property
    def outputs(self) -> Sequence[Column]:
        return self.relation.columns

    def info(self) -> Info:
        return {
            "keys": Listing([expression_text(key.expr) for key in self.keys]),
            "calls": Listing([expression_text(expr) for expr in self.folded]),
            "for": Listing([expression_text(expr) for expr in self.by], ", "),
            "values": Listing([", ".join(map(expression_text, value)) for value in self.values]),
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class Recursion(Node):
    """WITH RECURSIVE: the rows of `first`, and those that `step` makes of the rows before them,
    until it makes none. In `step`, a `RecursiveRows` stands for the rows before."""

    without_place = "WITH RECURSIVE"

    first: Node
    step: Node
    relation: Relation
    most_steps: int | None = None
    """After so many it fails; if not given, Spark's setting counts."""
    any_number: bool = False
    """Whether a LIMIT ALL says that it may make more rows than another setting allows."""

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.first, self.step)

    def with_children(self, children: Sequence[Node]) -> Self:
        return replace(self, first=children[0], step=children[1])

    @property
    def outputs(self) -> Sequence[Column]:
        return self.relation.columns

    def info(self) -> Info:
        info: dict[str, str | Listing] = {"columns": Listing(self.relation.schema.names, ", ")}
        if self.most_steps is not None:
            info["max_level"] = str(self.most_steps)
        return {**info, "limit": "all"} if self.any_number else info


@dataclass(frozen=True, kw_only=True, eq=False)
class RecursiveRows(Node):
    """The rows that the last step of a recursion made."""

    without_place = "WITH RECURSIVE"

    of: int
    """The number of the recursion's relation."""
    relation: Relation

    @property
    def outputs(self) -> Sequence[Column]:
        return self.relation.columns

    def info(self) -> Info:
        return {"columns": Listing(self.relation.schema.names, ", ")}


@dataclass(frozen=True, kw_only=True, eq=False)
class Keep(UnaryNode):
    """Hands on only these columns of its child, as they are: the rest is not needed above."""

    columns: tuple[Column, ...]

    @property
    def operator(self) -> str:
        return "Project"

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return self.columns

    @property
    def outputs(self) -> Sequence[Column]:
        return self.columns

    def info(self) -> Info:
        return {"fields": Listing([expression_text(column) for column in self.columns])}
