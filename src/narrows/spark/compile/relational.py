"""Set operations, joins with the nearest rows, VALUES, grouping sets and OVER as Spark SQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from narrows.expressions.nodes import Call, Column, ColumnId, Expr, rewrite, walk
from narrows.logical.nodes import Aggregation, NamedExpr, Node, is_aggregate
from narrows.logical.relational_nodes import (
    NearestJoin,
    Pivot,
    Recursion,
    RecursiveRows,
    SetOperation,
    SparkTable,
    TableFunction,
    Union,
    Values,
)
from narrows.logical.results import named_columns as outputs_of
from narrows.schema import Field, Struct
from narrows.spark.sql.frame import Frame, column_name, relation_columns, select_list
from narrows.spark.sql.rows import SparkRows, SqlText, select
from narrows.spark.sql.sql_text import SparkSql, Typed, quote
from narrows.sql.scope import Relation


def values(node: Values) -> SqlText:
    sql = SparkSql({}, {})
    rows = ", ".join(f"({', '.join(map(sql.text, row))})" for row in node.rows)
    names = [column_name(node.relation.id, place) for place in range(len(node.relation.schema))]
    return SqlText(f"SELECT * FROM VALUES {rows} AS given({', '.join(names)})")


def spark_table(node: SparkTable) -> SqlText:
    columns = [
        f"{quote(field.name)} AS {quote(column_name(node.relation.id, place))}"
        for place, field in enumerate(node.relation.schema)
    ]
    return select(columns, node.table.text)


def table_function(node: TableFunction) -> SqlText:
    names = [column_name(node.relation.id, place) for place in range(len(node.relation.schema))]
    call = SparkSql({}, {}).text(node.call)
    return SqlText(f"SELECT * FROM {call} AS given({', '.join(names)})")


def pivot(node: Pivot, frame: Frame) -> Frame:
    """Spark groups by every column that PIVOT does not name, so it gets none but those: the keys,
    and what values are looked for and folded in."""
    sql = frame.sql
    aggregates = [part for expr in node.folded for part in walk(expr) if is_aggregate(part)]
    inputs = list(dict.fromkeys(child for call in aggregates for child in call.children))
    columns = [
        *(f"{sql.text(key.expr)} AS k{place}" for place, key in enumerate(node.keys)),
        *(f"{sql.text(expr)} AS p{place}" for place, expr in enumerate(node.by)),
        *(f"{sql.text(expr)} AS a{place}" for place, expr in enumerate(inputs)),
    ]
    given = Relation(-1, None, Struct(tuple(Field("", expr.dtype) for expr in inputs)))
    folded = SparkSql({}, {c.id: Typed(f"a{c.id.ordinal}", c.dtype) for c in given.columns})
    places: dict[Expr, Expr] = dict(zip(inputs, given.columns, strict=True))

    def of_inputs(expr: Expr) -> Expr | None:
        if not is_aggregate(expr):
            return None
        return expr.with_children(tuple(places[child] for child in expr.children))

    calls = ", ".join(
        f"{folded.text(rewrite(expr, of_inputs))} AS m{place}"
        for place, expr in enumerate(node.folded)
    )
    by = ", ".join(f"p{place}" for place in range(len(node.by)))
    values = ", ".join(
        f"({', '.join(map(folded.text, value))}) AS v{place}"
        for place, value in enumerate(node.values)
    )
    made = [f"k{place}" for place in range(len(node.keys))]
    for place in range(len(node.values)):
        several = [f"v{place}_m{call}" for call in range(len(node.folded))]
        made.extend(several if len(several) > 1 else [f"v{place}"])
    named = [
        f"{name} AS {quote(column_name(node.relation.id, place))}"
        for place, name in enumerate(made)
    ]
    pivoted = f" PIVOT ({calls} FOR ({by}) IN ({values}))"
    query = select(named, f"({select(columns, frame.text)})", pivoted)
    return of_relation(frame.rows.then(query), node.relation)


def recursion(node: Recursion, first: Frame, step: Frame) -> Frame:
    number = node.relation.id
    names = [quote(column_name(number, place)) for place in range(len(node.relation.schema))]
    most = "" if node.most_steps is None else f" MAX RECURSION LEVEL {node.most_steps}"
    query = (
        f"WITH RECURSIVE {_recursive_name(number)}({', '.join(names)}){most} AS"
        f" ({_positional(first, node.first, node.relation)}"
        f" UNION ALL {_positional(step, node.step, node.relation)})"
        f" SELECT * FROM {_recursive_name(number)}{' LIMIT ALL' if node.any_number else ''}"
    )
    return of_relation(first.rows.then(SqlText(query)), node.relation)


def recursive_rows(node: RecursiveRows) -> SqlText:
    columns = [
        f"{quote(column_name(node.of, place))} AS {quote(column_name(node.relation.id, place))}"
        for place in range(len(node.relation.schema))
    ]
    return select(columns, _recursive_name(node.of))


def _recursive_name(number: int) -> str:
    return f"narrows_recursive_{number}"


def union(node: Union, inputs: Sequence[Frame]) -> Frame:
    """The rows of all sides; with their times, where each side has such: a window above goes by
    them."""
    stamp, clock = f"time{node.relation.id}", f"clock{node.relation.id}"
    timed = all(frame.stamp is not None for frame in inputs)
    # Mostly the column that the watermark follows is the rows' time: it must not be there twice.
    apart = timed and all(frame.clock not in (None, frame.stamp) for frame in inputs)
    followed = timed and all(frame.clock is not None for frame in inputs)
    sides = []
    for frame, side in zip(inputs, node.inputs, strict=True):
        hidden = [(frame.stamp, stamp)] * timed + [(frame.clock, clock)] * apart
        times = [f"{quote(str(name))} AS {quote(wanted)}" for name, wanted in hidden]
        columns = select_list(frame.sql, outputs_of(side), node.relation.id)
        sides.append(f"({select([*columns, *times], frame.text)})")
    made = of_relation(inputs[0].rows.then(SqlText(" UNION ALL ".join(sides))), node.relation)
    if not timed:
        return made
    return replace(made, stamp=stamp, clock=(clock if apart else stamp) if followed else None)


def nearest_join(node: NearestJoin, left: Frame, right: Frame) -> Frame:
    both = Frame(
        left.rows,
        {**left.sources, **right.sources},
        {**left.columns, **right.columns},
        (*left.fragments, *right.fragments),
    )
    nearest = f"{node.clause} {both.sql.text(node.ranking)}"
    join = f" {node.kind.value.upper()} JOIN {right.text} {nearest}"
    return both.with_rows(select(["*"], left.text, join))


def set_operation(node: SetOperation, left: Frame, right: Frame) -> Frame:
    word = f"{node.kind.value.upper()}{' ALL' if node.all else ''}"
    query = (
        f"({_positional(left, node.left, node.relation)}) {word}"
        f" ({_positional(right, node.right, node.relation)})"
    )
    return of_relation(left.rows.then(SqlText(query)), node.relation)


def of_relation(rows: SparkRows, relation: Relation) -> Frame:
    """Rows that have just the columns of a relation."""
    named = [NamedExpr(column.name, column) for column in relation.columns]
    return Frame(rows, {}, relation_columns(named, relation.id))


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
    naming = SparkSql(frame.sources, {**frame.columns, **made}, frame.order)
    folded = select_list(naming, calls, number, len(node.keys))
    names = [quote(column_name(number, ordinal)) for ordinal in range(len(node.keys))]
    keyed = select(["*", *select_list(frame.sql, node.keys, number)], frame.text)
    groups = ", ".join(f"({', '.join(names[place] for place in chosen)})" for chosen in sets)
    query = select(
        [*names, *folded], f"({keyed})", f" GROUP BY {', '.join(names)} GROUPING SETS ({groups})"
    )
    return Frame(frame.rows.then(query), {}, made)


def analytic(frame: Frame, sql: SparkSql, calls: Sequence[Call], relation: Relation) -> Frame:
    named = [NamedExpr("", call) for call in calls]
    query = select(["*", *select_list(sql, named, relation.id)], frame.text)
    columns = {**frame.columns, **relation_columns(named, relation.id)}
    return Frame(frame.rows.then(query), frame.sources, columns)


def keep(frame: Frame, columns: Sequence[Column]) -> Frame:
    """Only these columns. Of a source's column that is all that was shipped of it."""
    kept = {column.id for column in columns}
    selected = []
    for relation, source in frame.sources.items():
        row = source.projection.row
        for place in range(source.projection.shipped):
            ordinal = row.ordinal(str(source.projection.columns[place].path[0]))
            if ColumnId(relation, ordinal) in kept:
                selected.append(quote(source.names[place]))
    made: dict[ColumnId, Typed] = {}
    for key, typed in frame.columns.items():
        if key in kept:
            name = quote(column_name(*key))
            selected.append(f"{typed.text} AS {name}")
            made[key] = Typed(name, typed.dtype)
    query = select([*selected, *map(quote, frame.fragments)], frame.text)
    return replace(frame.with_rows(query), columns=made)


def _positional(frame: Frame, node: Node, relation: Relation) -> SqlText:
    """The columns that a side of a set operation hands up, in their order, by its names."""
    return select(select_list(frame.sql, outputs_of(node), relation.id), frame.text)
