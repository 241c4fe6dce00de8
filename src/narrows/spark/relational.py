"""Set operations, VALUES, grouping sets and OVER as DataFrame operations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from narrows.expressions import Call, Column, ColumnId, Expr, rewrite
from narrows.logical.nodes import Aggregation, NamedExpr, Node
from narrows.logical.relational_nodes import SetKind, SetOperation, Union, Values
from narrows.logical.results import named_columns as outputs_of
from narrows.spark.frame import Frame, column_name, named_columns, relation_columns
from narrows.spark.sql_text import SparkSql, Typed, quote
from narrows.sql.scope import Relation


def one_row(spark: SparkSession) -> Frame:
    return Frame(spark.range(1).select(F.lit(1).alias("one")), {}, {})


def values(spark: SparkSession, node: Values) -> Frame:
    sql = SparkSql({}, {})
    rows = ", ".join(f"({', '.join(map(sql.text, row))})" for row in node.rows)
    names = [column_name(node.relation.id, place) for place in range(len(node.relation.schema))]
    return _of_relation(
        spark.sql(f"SELECT * FROM VALUES {rows} AS given({', '.join(names)})"), node.relation
    )


def union(node: Union, inputs: Sequence[Frame]) -> Frame:
    sides = [
        _positional(frame, side, node.relation)
        for frame, side in zip(inputs, node.inputs, strict=True)
    ]
    data = sides[0]
    for other in sides[1:]:
        data = data.union(other)
    return _of_relation(data, node.relation)


def set_operation(node: SetOperation, left_frame: Frame, right_frame: Frame) -> Frame:
    left = _positional(left_frame, node.left, node.relation)
    right = _positional(right_frame, node.right, node.relation)
    match node.kind, node.all:
        case SetKind.INTERSECT, True:
            data = left.intersectAll(right)
        case SetKind.INTERSECT, False:
            data = left.intersect(right)
        case SetKind.EXCEPT, True:
            data = left.exceptAll(right)
        case _:
            data = left.subtract(right)
    return _of_relation(data, node.relation)


def grouping_sets(node: Aggregation, frame: Frame, sets: Sequence[Sequence[int]]) -> Frame:
    """Keys become columns first, so that `grouping(key)` can name them; aggregates see the values
    that are beside them, which no set of groups replaces by NULL."""
    number = node.relation.id
    made = relation_columns((*node.keys, *node.calls), number)
    places: dict[Expr, Expr] = {
        expr: node.relation.column(ordinal) for ordinal, (_, expr) in enumerate(node.keys)
    }

    def name_keys(expr: Expr) -> Expr | None:
        if isinstance(expr, Call) and expr.function.names_keys:
            return expr.with_children(tuple(rewrite(arg, places.get) for arg in expr.args))
        return None

    calls = [call._replace(expr=rewrite(call.expr, name_keys)) for call in node.calls]
    naming = Frame(frame.data, frame.sources, {**frame.columns, **made})
    folded = named_columns(naming, calls, number, len(node.keys))
    names = [column_name(number, ordinal) for ordinal in range(len(node.keys))]
    grouped = frame.data.select("*", *named_columns(frame, node.keys, number)).groupingSets(
        [[names[place] for place in chosen] for chosen in sets], *names
    )
    nothing = F.count(F.lit(1)).alias("rows")  # Spark has no grouping sets without aggregates
    return Frame(grouped.agg(*(folded or [nothing])), {}, made)


def analytic(frame: Frame, calls: Sequence[Call], relation: Relation) -> Frame:
    named = [NamedExpr("", call) for call in calls]
    data = frame.data.select("*", *named_columns(frame, named, relation.id))
    columns = {**frame.columns, **relation_columns(named, relation.id)}
    return Frame(data, frame.sources, columns)


def keep(frame: Frame, columns: Sequence[Column]) -> Frame:
    """Only these columns. Of a source's column that is all that was shipped of it."""
    kept = {column.id for column in columns}
    selected = []
    for relation, source in frame.sources.items():
        schema = source.projection.schema
        for place in range(source.projection.shipped):
            ordinal = schema.ordinal(str(source.projection.columns[place].path[0]))
            if ColumnId(relation, ordinal) in kept:
                selected.append(F.col(quote(source.names[place])))
    made: dict[ColumnId, Typed] = {}
    for key, typed in frame.columns.items():
        if key in kept:
            name = column_name(*key)
            selected.append(F.expr(typed.text).alias(name))
            made[key] = Typed(quote(name), typed.dtype)
    data = frame.data.select(*selected, *frame.fragments)
    return replace(frame, data=data, columns=made)


def _positional(frame: Frame, node: Node, relation: Relation) -> DataFrame:
    """The columns that a side of a set operation hands up, in their order, by its names."""
    return frame.data.select(named_columns(frame, outputs_of(node), relation.id))


def _of_relation(data: DataFrame, relation: Relation) -> Frame:
    columns = {
        column.id: Typed(quote(column_name(relation.id, ordinal)), column.dtype)
        for ordinal, column in enumerate(relation.columns)
    }
    return Frame(data, {}, columns)
