"""The physical plan as DataFrame operations, node by node.

Columns get names of ours in the data frame (`c3_0`: relation 3, ordinal 0), so that no user's name
can collide with another or with a keyword. The user's names come back at the very end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from narrows.catalog.objects import Source
from narrows.codecs.event_time import EventTime
from narrows.codecs.projection import Aspect, DecodeProjection
from narrows.demand import NOTHING, Demand
from narrows.errors import Code, fail
from narrows.expressions import Column, ColumnId, SortKey
from narrows.logical.conjuncts import conjunction
from narrows.logical.nodes import (
    Aggregation,
    Decoded,
    Distinct,
    Filter,
    Generate,
    Join,
    JoinKind,
    Limit,
    NamedExpr,
    Node,
    Project,
    Sort,
    StatefulFunction,
    Window,
)
from narrows.logical.relational_nodes import (
    Analytic,
    Keep,
    OneRow,
    SetOperation,
    Subquery,
    Union,
    Values,
)
from narrows.logical.required import required
from narrows.physical.nodes import (
    PhysicalFilter,
    PhysicalProject,
    PhysicalReader,
    PhysicalStreamingAggregation,
)
from narrows.physical.worker_predicate import worker_predicate
from narrows.schema import DataType, Struct
from narrows.spark import relational
from narrows.spark.event_time import RunTime
from narrows.spark.frame import (
    Frame,
    column_name,
    fragment_name,
    named_columns,
    relation_columns,
)
from narrows.spark.input_end import input_end
from narrows.spark.read_spec import ReadSpec
from narrows.spark.row_functions import remember_rows
from narrows.spark.sql_text import ShippedSource, SparkSql, Typed, quote
from narrows.spark.subqueries import TemporaryViews, with_subquery
from narrows.spark.windows import (
    aggregate_windows,
    cut_windows,
    hidden_below,
    ordered_pairs,
    windows_above,
    with_time,
)
from narrows.sql.scope import Relation

_JOINS = {
    JoinKind.INNER: "inner",
    JoinKind.LEFT: "left",
    JoinKind.RIGHT: "right",
    JoinKind.FULL: "full",
    JoinKind.CROSS: "cross",
    JoinKind.SEMI: "left_semi",
    JoinKind.ANTI: "left_anti",
}

OpenSource = Callable[[Decoded, ReadSpec], DataFrame]
"""Opens a source as a data frame of the columns that the specification ships."""


def compile_plan(
    plan: Node,
    spark: SparkSession,
    open_source: OpenSource,
    time: RunTime | None = None,
    given: Mapping[Node, Frame] | None = None,
) -> DataFrame:
    """The data frame of a plan, with the user's names; duplicates are allowed, as in Spark.

    Behind the columns stand the fragments that readers have encoded, if there are any. `given` are
    nodes whose rows are there already: what they stand on is not compiled.
    """
    with TemporaryViews() as views:
        compiler = Compiler(plan, spark, views, open_source, time or RunTime(), given or {})
        return _with_names(plan, compiler.frame(plan))


def compile_node(
    plan: Node, node: Node, spark: SparkSession, open_source: OpenSource, time: RunTime
) -> Frame:
    """The data frame of a node in a plan, with names of ours."""
    with TemporaryViews() as views:
        return Compiler(plan, spark, views, open_source, time, {}).frame(node)


def _with_names(plan: Node, frame: Frame) -> DataFrame:
    outputs = [column for column in plan.outputs if not _is_delayed(plan, column)]
    texts = [*(frame.sql.text(column) for column in outputs), *map(quote, frame.fragments)]
    selected = frame.data.select([F.expr(t).alias(f"o{i}") for i, t in enumerate(texts)])
    return selected.toDF(*[column.name for column in outputs], *frame.fragments)


def _is_delayed(plan: Node, column: Column) -> bool:
    return isinstance(plan, PhysicalProject) and column.id.ordinal in plan.delayed


class Compiler:
    def __init__(
        self,
        plan: Node,
        spark: SparkSession,
        views: TemporaryViews,
        open_source: OpenSource,
        time: RunTime,
        given: Mapping[Node, Frame],
    ) -> None:
        self.views = views
        self._spark = spark
        self._open_source = open_source
        self._time = time
        self._windows = windows_above(plan)
        self._hidden = hidden_below(plan)
        self._done: dict[int, Frame] = {id(node): frame for node, frame in given.items()}

    def frame(self, node: Node) -> Frame:
        """The frame of a node; one that several parents share is made once."""
        found = self._done.get(id(node))
        if found is None:
            found = self._done[id(node)] = self._frame(node)
        return found

    def _frame(self, node: Node) -> Frame:
        match node:
            case PhysicalReader():
                return self._source(node)
            case Filter(child=child, predicate=predicate):
                frame = self.frame(child)
                return self._with(frame, frame.data.where(F.expr(frame.sql.text(predicate))))
            case Project(child=child, relation=relation):
                frame = self.frame(child)
                return _selected(frame, node.computed, relation.id, hidden=node in self._hidden)
            case StatefulFunction():
                return remember_rows(self.frame(node.child), node)
            case Window():
                return cut_windows(self.frame(node.child), node, self._time)
            case PhysicalStreamingAggregation():
                return aggregate_windows(self.frame(node.child), node)
            case Join():
                return self._join(node)
            case Aggregation():
                return self._aggregate(node)
            case Generate():
                return self._generate(node)
            case Sort(child=child, keys=keys):
                frame = self.frame(child)
                ordered = frame.data.orderBy([_sort_column(frame.sql, key) for key in keys])
                return self._with(frame, ordered)
            case Limit(child=child, count=count, offset=offset):
                frame = self.frame(child)
                data = frame.data.offset(offset) if offset else frame.data
                return self._with(frame, data if count is None else data.limit(count))
            case Distinct(child=child):
                frame = self.frame(child)
                return self._with(frame, frame.data.distinct())
            case Keep(child=child, columns=columns):
                return relational.keep(self.frame(child), columns)
            case Analytic(child=child, calls=calls, relation=relation):
                return relational.analytic(self.frame(child), calls, relation)
            case Subquery(child=child):
                return with_subquery(self, node, self.frame(child))
            case Union(inputs=inputs):
                return relational.union(node, [self.frame(side) for side in inputs])
            case SetOperation(left=left, right=right):
                return relational.set_operation(node, self.frame(left), self.frame(right))
            case OneRow():
                return relational.one_row(self._spark)
            case Values():
                return relational.values(self._spark, node)
            case _:
                raise fail(
                    Code.NOT_SUPPORTED,
                    f"{node.operator.removeprefix('Physical')} can be planned, but not run yet",
                )

    def _with(self, frame: Frame, data: DataFrame) -> Frame:
        return frame.with_data(data)

    # --- sources ----------------------------------------------------------------------------------

    def _source(self, node: PhysicalReader) -> Frame:
        source, relation, window = node.source, node.relation.id, self._windows.get(node)
        end = input_end(source, relation, window, self._time.checkpoint)
        spec = replace(read_spec(node), end=end)
        shipped = ShippedSource(spec.projection, spec.names)
        frame = Frame(
            self._open_source(node, spec),
            {relation: shipped},
            {},
            spec.fragments,
            order=spec.order,
        )
        return with_time(frame, node, window, self._time, end)

    # --- relational operators ---------------------------------------------------------------------

    def _join(self, node: Join) -> Frame:
        left, right = self.frame(node.left), self.frame(node.right)
        both = Frame(
            left.data,
            {**left.sources, **right.sources},
            {**left.columns, **right.columns},
            (*left.fragments, *right.fragments),
            stamp=left.stamp or right.stamp,
            clock=left.clock or right.clock,
        )
        if node.condition is None:
            data = left.data.crossJoin(right.data)
        else:
            condition = F.expr(both.sql.text(node.condition))
            data = left.data.join(right.data, condition, _JOINS[node.kind])
        return ordered_pairs(both.with_data(data), left, right, node)

    def _aggregate(self, node: Aggregation) -> Frame:
        frame = self.frame(node.child)
        if node.sets is not None:
            return relational.grouping_sets(node, frame, node.sets)
        keys = named_columns(frame, node.keys, node.relation.id, 0)
        calls = named_columns(frame, node.calls, node.relation.id, len(node.keys))
        if not calls:
            data = frame.data.select(keys).distinct()
        elif not keys:
            data = frame.data.agg(*calls)
        else:
            data = frame.data.groupBy(*keys).agg(*calls)
        return Frame(data, {}, relation_columns((*node.keys, *node.calls), node.relation.id))

    def _generate(self, node: Generate) -> Frame:
        frame = self.frame(node.child)
        value = frame.sql.typed(node.generator)
        text = value.text
        if node.outer and not node.generator.function.name.endswith("_outer"):
            text = text.replace("(", "_outer(", 1)
        names = [column_name(node.relation.id, o) for o in range(len(node.relation.schema))]
        if frame.order is not None:
            raise fail(
                Code.NOT_SUPPORTED,
                f"the rows that `{node.generator.function.name}` makes have no place in the stream,"
                " so no function or window above it can go by their order",
                node.generator.span,
            )
        data = frame.data.select("*", F.expr(text).alias(*names))
        types = _generated_types(frame.sql, node)
        made = {
            ColumnId(node.relation.id, ordinal): Typed(quote(name), dtype)
            for ordinal, (name, dtype) in enumerate(zip(names, types, strict=True))
        }
        return replace(frame, data=data, columns={**frame.columns, **made})


# --- sources --------------------------------------------------------------------------------------


def read_spec(node: PhysicalReader) -> ReadSpec:
    """What the reader of this source has to decode, test, encode and ship."""
    source, relation, tests = node.source, node.relation.id, node.filter
    projection = DecodeProjection(
        source.schema, node.shipped, tested=_tested(node), fragments=node.encodes
    )
    return ReadSpec(
        source=source.name,
        format=source.format,
        projection=projection,
        names=tuple(column_name(relation, place) for place in range(projection.shipped)),
        fragments=tuple(fragment_name(relation, place) for place in range(len(node.encodes))),
        predicate=worker_predicate(tests, relation, projection) if tests else None,
        options=source.options,
        on_error=str(source.options.get("on_error", "dead_letter")),
        event_time=_event_time(source, projection),
        order=f"order{relation}" if node.order else None,
    )


def _event_time(source: Source, projection: DecodeProjection) -> EventTime | None:
    if source.eventtime is None:
        return None
    place = projection.by_place[(source.eventtime,), Aspect.VALUE]
    return EventTime(source.eventtime, place, source.eventtime_unit)


def _tested(node: PhysicalReader) -> Demand:
    """What the decoder's own tests look at: as if they stood in a filter above it."""
    if not node.filter:
        return NOTHING
    test = PhysicalFilter(child=node, predicate=conjunction(node.filter))
    nothing_else = Project(child=test, fields=(), relation=Relation(-1, None, Struct(())))
    return required(nothing_else).row(node)


# --- columns --------------------------------------------------------------------------------------


def _selected(
    frame: Frame, fields: Sequence[tuple[int, NamedExpr]], relation: int, *, hidden: bool
) -> Frame:
    """`hidden`: somebody above still needs the hidden columns."""
    columns = [
        F.expr(frame.sql.text(named.expr)).alias(column_name(relation, ordinal))
        for ordinal, named in fields
    ]
    kept = [*frame.fragments, *(frame.hidden if hidden else ())]
    made = {
        ColumnId(relation, ordinal): Typed(quote(column_name(relation, ordinal)), named.expr.dtype)
        for ordinal, named in fields
    }
    selected = replace(frame, data=frame.data.select(*columns, *kept), sources={}, columns=made)
    return selected if hidden else replace(selected, order=None, stamp=None, clock=None)


def _sort_column(sql: SparkSql, key: SortKey) -> SparkColumn:
    column = F.expr(sql.text(key.expr))
    if key.descending:
        return column.desc_nulls_first() if key.nulls_first else column.desc_nulls_last()
    return column.asc_nulls_first() if key.nulls_first else column.asc_nulls_last()


def _generated_types(sql: SparkSql, node: Generate) -> list[DataType]:
    """The types of the generated columns as they are: elements of the list that was shipped."""
    call = node.generator
    narrow = [replace(arg, dtype=sql.typed(arg).dtype) for arg in call.args]
    assert call.function.generator is not None
    outputs = call.function.generator.outputs(narrow)
    return [output.dtype for output in outputs or ()]
