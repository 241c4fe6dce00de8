"""Subqueries of expressions as Spark SQL text.

Spark knows how to run a subquery, what NOT IN does with NULLs and how to turn a correlated one into
a join. So it gets them as text: `c0_1 IN (SELECT c2_0 FROM ...)`. What a subquery selects from is a
data frame like any other - decoded by our readers, compiled by `spark/compile.py` - that the text
reaches under the name of a temporary view. Only the nodes that look at the rows around the
subquery, and what is above them, have to be text: our column names are unique in a whole plan, so
Spark finds the outer ones by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Self
from uuid import uuid4

from pyspark.sql import DataFrame
from pyspark.sql.utils import is_remote

from narrows.errors import Code, fail
from narrows.expressions import Column, ColumnId, Expr, rewrite
from narrows.logical.nodes import (
    Aggregation,
    Distinct,
    Filter,
    Join,
    JoinKind,
    Limit,
    NamedExpr,
    Node,
    Project,
    Sort,
)
from narrows.logical.relational_nodes import Keep, Subquery, Union
from narrows.logical.subqueries import outer_columns
from narrows.spark.frame import Frame, relation_columns
from narrows.spark.sql_text import ShippedSource, SparkSql, Typed
from narrows.sql.binding import SubqueryKind
from narrows.sql.scope import Relation

if TYPE_CHECKING:
    from narrows.spark.compile import Compiler


class TemporaryViews:
    """Data frames under names that SQL text can use, while a plan is being compiled."""

    def __init__(self) -> None:
        self._views: list[tuple[DataFrame, str]] = []

    def add(self, data: DataFrame) -> str:
        name = f"narrows_{uuid4().hex}"
        data.createOrReplaceTempView(name)
        self._views.append((data, name))
        return name

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # Spark Connect looks names up when the query runs, not when it is written down.
        if not is_remote():
            for data, name in self._views:
                data.sparkSession.catalog.dropTempView(name)


@dataclass(frozen=True)
class Text:
    """A query as text, and what its columns are to the plan."""

    query: str
    sources: Mapping[int, ShippedSource]
    columns: Mapping[ColumnId, Typed]
    selected: list[ColumnId] | None = None
    """The columns that the query gives, in their order; None where nobody has listed them."""


def with_subquery(compiler: Compiler, node: Subquery, frame: Frame) -> Frame:
    """The rows as they are; the subquery's column is a text that stands where it is used."""
    column = node.relation.columns[0]
    text = _Writer(compiler, frame.sources, frame.columns).answer(node)
    return Frame(frame.data, frame.sources, {**frame.columns, column.id: Typed(text, column.dtype)})


class _Writer:
    """Writes the plan of a subquery; `sources` and `columns` are those of the rows around it."""

    def __init__(
        self,
        compiler: Compiler,
        sources: Mapping[int, ShippedSource],
        columns: Mapping[ColumnId, Typed],
    ) -> None:
        self._compiler = compiler
        self._sources = sources
        self._columns = columns

    def answer(self, node: Subquery) -> str:
        inner = self._text(node.subplan)
        if node.kind is SubqueryKind.EXISTS:
            return f"EXISTS (SELECT 1 FROM ({inner.query}))"
        sql = self._sql(inner)
        query = f"({inner.query})"
        if [column.id for column in node.subplan.outputs] != inner.selected:
            outputs = ", ".join(sql.text(column) for column in node.subplan.outputs)
            query = f"(SELECT {outputs} FROM {query})"
        if node.kind is SubqueryKind.SCALAR:
            return query
        around = SparkSql(self._sources, self._columns)
        operands = ", ".join(around.text(operand) for operand in node.operands)
        return f"(({operands}) IN {query})"

    def _sql(self, text: Text) -> SparkSql:
        return SparkSql({**self._sources, **text.sources}, {**self._columns, **text.columns})

    def _text(self, node: Node) -> Text:
        if not any(True for _ in outer_columns(node)):
            frame = self._compiler.frame(node)
            name = self._compiler.views.add(frame.data)
            return Text(f"SELECT * FROM {name}", frame.sources, frame.columns)
        match node:
            case Filter(child=child, predicate=predicate):
                below = self._text(child)
                test = self._sql(below).text(predicate)
                return Text(
                    f"SELECT * FROM ({below.query}) WHERE {test}", below.sources, below.columns
                )
            case Keep(child=child):
                return self._text(child)
            case Project(child=Aggregation(sets=None) as grouped, fields=fields, relation=relation):
                return self._aggregation(grouped, fields, relation)
            case Project(child=child, fields=fields, relation=relation):
                return self._selected(self._text(child), fields, relation.id)
            case Aggregation(sets=None):
                return self._aggregation(node, (*node.keys, *node.calls), node.relation)
            case Join():
                return self._join(node)
            case Sort(child=child, keys=keys):
                below = self._text(child)
                sort = ", ".join(map(self._sql(below).sort_key, keys))
                query = f"SELECT * FROM ({below.query}) ORDER BY {sort}"
                return Text(query, below.sources, below.columns)
            case Limit(child=child, count=count, offset=offset):
                below = self._text(child)
                limit = f" LIMIT {count}" if count is not None else ""
                skip = f" OFFSET {offset}" if offset else ""
                query = f"SELECT * FROM ({below.query}){limit}{skip}"
                return Text(query, below.sources, below.columns)
            case Distinct(child=child):
                below = self._text(child)
                query = f"SELECT DISTINCT * FROM ({below.query})"
                return Text(query, below.sources, below.columns)
            case Union(inputs=inputs, relation=relation):
                parts = []
                for branch in inputs:
                    named = [NamedExpr(column.name, column) for column in branch.outputs]
                    parts.append(self._selected(self._text(branch), named, relation.id))
                query = " UNION ALL ".join(f"({part.query})" for part in parts)
                return Text(query, {}, parts[0].columns)
            case Subquery(child=child):
                below = self._text(child)
                column = node.relation.columns[0]
                writer = _Writer(
                    self._compiler,
                    {**self._sources, **below.sources},
                    {**self._columns, **below.columns},
                )
                answer = Typed(writer.answer(node), column.dtype)
                return Text(below.query, below.sources, {**below.columns, column.id: answer})
            case _:
                operator = node.operator.removeprefix("Physical")
                raise fail(
                    Code.NOT_SUPPORTED,
                    f"{operator} in a correlated subquery cannot be run",
                    hint="join with the subquery instead",
                )

    def _selected(self, below: Text, fields: Sequence[NamedExpr], relation: int) -> Text:
        columns = relation_columns(fields, relation)
        selected = self._list(below, fields, columns)
        query = f"SELECT {selected} FROM ({below.query})"
        return Text(query, {}, columns, list(columns))

    def _list(
        self, below: Text, fields: Sequence[NamedExpr], columns: Mapping[ColumnId, Typed]
    ) -> str:
        sql = self._sql(below)
        parts = zip(fields, columns.values(), strict=True)
        return ", ".join(f"{sql.text(expr)} AS {name.text}" for (_, expr), name in parts) or "1"

    def _aggregation(
        self, node: Aggregation, fields: Sequence[NamedExpr], relation: Relation
    ) -> Text:
        """What is computed from aggregates stands in the same SELECT as they: only of an
        aggregation that is not below anything else does Spark know that no rows give one row, and
        otherwise it would join all rows around the subquery to its own first."""
        below = self._text(node.child)
        grouped = {
            node.relation.column(ordinal).id: expr
            for ordinal, (_, expr) in enumerate((*node.keys, *node.calls))
        }

        def written_out(expr: Expr) -> Expr | None:
            return grouped.get(expr.id) if isinstance(expr, Column) else None

        whole = [field._replace(expr=rewrite(field.expr, written_out)) for field in fields]
        columns = relation_columns(whole, relation.id)
        query = f"SELECT {self._list(below, whole, columns)} FROM ({below.query})"
        sql = self._sql(below)
        if node.keys:
            query += f" GROUP BY {', '.join(sql.text(expr) for _, expr in node.keys)}"
        return Text(query, {}, columns, list(columns))

    def _join(self, node: Join) -> Text:
        left, right = self._text(node.left), self._text(node.right)
        both = Text("", {**left.sources, **right.sources}, {**left.columns, **right.columns})
        word = "CROSS" if node.kind is JoinKind.CROSS else node.kind.value.upper()
        query = f"SELECT * FROM ({left.query}) {word} JOIN ({right.query})"
        if node.condition is not None:
            query += f" ON {self._sql(both).text(node.condition)}"
        return Text(query, both.sources, both.columns)
