"""The physical plan as Spark SQL, node by node.

Relational operators become text, one SELECT around the other (`rows.py`); sources, windows and
functions with memory are data frames that the text selects from. Columns get names of ours (`c3_0`:
relation 3, ordinal 0), so that no user's name can collide with another or with a keyword. The
user's names come back at the very end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col

from narrows.errors import Code, fail
from narrows.expressions.nodes import (
    Column,
    ColumnId,
    Expr,
    FieldAccess,
    Literal,
    columns_of,
    columns_of_all,
    rewrite,
)
from narrows.logical.conjuncts import is_deterministic
from narrows.logical.nodes import (
    Aggregation,
    DecodedSource,
    Distinct,
    Filter,
    Generate,
    Join,
    JoinKind,
    Limit,
    NamedExpr,
    Node,
    Project,
    RetractingAggregation,
    Sort,
    StatefulFunction,
    Window,
)
from narrows.logical.relational_nodes import (
    Analytic,
    Keep,
    NearestJoin,
    OneRow,
    Pivot,
    Recursion,
    RecursiveRows,
    SetOperation,
    SparkTable,
    Subquery,
    TableFunction,
    Union,
    Values,
)
from narrows.logical.streaming.supported import is_stream
from narrows.logical.walk import topological
from narrows.optimizer.estimates import Estimates
from narrows.physical.execution import made_of
from narrows.physical.join_filters import kept_share
from narrows.physical.kept_by_tasks import is_kept_by_tasks
from narrows.physical.nodes import (
    PhysicalEndlessAggregation,
    PhysicalGather,
    PhysicalJoin,
    PhysicalPartialAggregation,
    PhysicalProject,
    PhysicalReader,
    PhysicalStreamingAggregation,
)
from narrows.schema import DataType
from narrows.spark.compile import relational
from narrows.spark.compile.drawn import drawn_once
from narrows.spark.compile.key_queries import handed_by, key_values, keys_asked
from narrows.spark.compile.subqueries import with_subquery
from narrows.spark.compile.whole_batches import taken_whole
from narrows.spark.read.reader import partial_spec, read_spec
from narrows.spark.sql.frame import (
    Frame,
    column_name,
    relation_columns,
    select_list,
)
from narrows.spark.sql.parsed import VARIABLE
from narrows.spark.sql.rows import SparkRows, SqlText, Views, select
from narrows.spark.sql.sql_text import ShippedSource, SparkSql, Typed, quote
from narrows.spark.windows.distinct_rows import new_rows
from narrows.spark.windows.event_time import RunTime
from narrows.spark.windows.input_end import input_end
from narrows.spark.windows.retractions import retract_groups
from narrows.spark.windows.row_functions import remember_rows
from narrows.spark.windows.stream_joins import join_streams
from narrows.spark.windows.task_memory import TaskMemory
from narrows.spark.windows.windows import (
    aggregate_windows,
    cut_windows,
    hidden_below,
    joined_streams,
    ordered_below,
    ordered_pairs,
    windows_above,
    with_time,
)
from narrows.worker.read_spec import ReadSpec

_JOINS = {
    JoinKind.INNER: "INNER",
    JoinKind.LEFT: "LEFT",
    JoinKind.RIGHT: "RIGHT",
    JoinKind.FULL: "FULL",
    JoinKind.CROSS: "CROSS",
    JoinKind.SEMI: "LEFT SEMI",
    JoinKind.ANTI: "LEFT ANTI",
}

_OF_ALL_ROWS = " HAVING count(*) >= 0"
"""Makes one row of all, where nobody looks at an aggregate."""

_APART = {"__is_duplicate": None}
"""What Spark itself tells columns of one name apart with, on their way through a union."""

_WITH_OUTER = ("explode", "posexplode", "inline")
"""Generators that may give no row, and their kin that then give one of NULLs: `explode_outer`."""

OpenSource = Callable[[DecodedSource, ReadSpec], DataFrame | SqlText]
"""Opens a source: the rows of the columns that the specification ships, by its names."""


def compile_plan(
    plan: Node,
    spark: SparkSession,
    open_source: OpenSource,
    time: RunTime | None = None,
    given: Mapping[Node, Frame] | None = None,
    *,
    memory: TaskMemory | None = None,
    by_entry: bool = False,
    in_place: bool = False,
) -> DataFrame:
    """The data frame of a plan, with the user's names; duplicates are allowed, as in Spark.

    Behind the columns stand the fragments that readers have encoded, if there are any. `given` are
    nodes whose rows are there already: what they stand on is not compiled. `memory` is where tasks
    keep what is remembered, if they do. `by_entry` if what is
    read of its stream is one entry, and not all there is; `in_place` if its rows should not be
    shuffled: those of tables are broadcast, and rows are sorted where they are, by one task.
    """
    with closing(Views(spark)) as views:
        compiler = Compiler(
            plan,
            views,
            open_source,
            time or RunTime(),
            given or {},
            memory,
            by_entry=by_entry,
            in_place=in_place,
        )
        return _named(plan, compiler.frame(plan))


def is_planned_once(plan: Node) -> bool:
    """May the data frame of a plan be run again and again, whenever there are new rows? It makes
    each row of one row, and of nothing else: no table whose content may change, and no `now()`,
    `rand()` and `uuid()`, of which Spark fixes the time and the lots before it runs anything."""
    return made_of(plan) is not None and all(
        is_deterministic(expr) for node in topological(plan) for expr in node.expressions
    )


def compile_node(
    plan: Node, node: Node, spark: SparkSession, open_source: OpenSource, time: RunTime
) -> Frame:
    """The frame of a node in a plan, with names of ours; its data frame has been made."""
    with closing(Views(spark)) as views:
        frame = Compiler(plan, views, open_source, time, {}).frame(node)
        return frame.with_rows(frame.data)


def _named(plan: Node, frame: Frame) -> DataFrame:
    outputs = [column for column in plan.outputs if not _is_delayed(plan, column)]
    names = [column.name for column in outputs]
    written = names
    if any(VARIABLE in name for name in names):  # a name that Spark would read as another
        written = [f"n{place}" for place in range(len(names))]
    named = [
        f"{frame.sql.text(column)} AS {quote(name)}"
        for column, name in zip(outputs, written, strict=True)
    ]
    if not named and not frame.fragments:
        return frame.data.select()  # rows without a column, which SQL text cannot say
    data = frame.with_rows(select([*named, *map(quote, frame.fragments)], frame.text)).data
    return data if written is names else data.toDF(*names, *frame.fragments)


def _broadcast(frame: Frame) -> Frame:
    return frame.with_rows(select(["/*+ BROADCAST */ *"], frame.text))


def _repeats_names(plan: Node) -> bool:
    """Whether columns that a union has made come to one name: `SELECT c, c FROM t UNION ALL SELECT
    c, c FROM t`. Spark finds that the names are those which `t` has, drops what we call the columns
    by, and fails, for a side of its union has one column twice then."""
    names = [column.name for column in plan.outputs]
    return len(set(names)) < len(names) and any(isinstance(n, Union) for n in topological(plan))


def _is_delayed(plan: Node, column: Column) -> bool:
    return isinstance(plan, PhysicalProject) and column.id.ordinal in plan.delayed


class Compiler:
    def __init__(
        self,
        plan: Node,
        views: Views,
        open_source: OpenSource,
        time: RunTime,
        given: Mapping[Node, Frame],
        memory: TaskMemory | None = None,
        *,
        by_entry: bool = False,
        in_place: bool = False,
    ) -> None:
        self.views = views
        self.open_source = open_source
        self._time = time
        self.runs = by_entry or bool(time.checkpoint)
        """Is it a stream that runs?"""
        self._in_place = in_place
        self._memory = memory
        self._windows = windows_above(plan)
        self._hidden = hidden_below(plan)
        self._ordered = ordered_below(plan)
        self._joined = joined_streams(plan)
        self._around: list[Frame] = []
        # A stream is read by as many queries as read it, and knows no such tables.
        self._drawn = set() if self.runs else drawn_once(plan)
        self.readers = {
            n.relation.id: n for n in topological(plan) if isinstance(n, PhysicalReader)
        }
        self.subqueries = {n.relation.id: n for n in topological(plan) if isinstance(n, Subquery)}
        self._keys_asked = keys_asked(plan)
        groups = self._keys_asked.keys() & self.subqueries.keys()
        self._asked = {id(self.subqueries[number].subplan) for number in groups}
        self._specs: dict[int, ReadSpec] = {}
        self._repeated = _repeats_names(plan)
        self._estimates = Estimates(plan)
        self._done: dict[int, Frame] = {}
        for node, frame in given.items():
            there = replace(frame, rows=SparkRows(views, frame.data))
            self._done[id(node)] = self._given(plan, node, there)

    def _given(self, plan: Node, node: Node, frame: Frame) -> Frame:
        """Rows that are there already. Answers of subqueries are texts, which name views of when
        those rows were compiled; those that somebody above looks at are written anew."""
        below = set(map(id, topological(node)))
        above = [each for each in topological(plan) if id(each) not in below]
        asked = {c.id for each in above for c in columns_of_all(each.expressions)}
        for subquery in (each for each in topological(node) if isinstance(each, Subquery)):
            if subquery.relation.column(0).id in asked & frame.columns.keys():
                frame = with_subquery(self, subquery, frame)
        return frame

    def frame(self, node: Node) -> Frame:
        """The frame of a node; one that several parents share is made once."""
        found = self._done.get(id(node))
        if found is None:
            found = self._frame(node)
            if id(node) in self._drawn:
                found = found.with_rows(self.views.once(found.text))
            if id(node) in self._asked:
                found = found.with_rows(select(["/*+ REPARTITION */ *"], found.text))
            self._done[id(node)] = found
        return found

    def sql(self, frame: Frame) -> SparkSql:
        """Writes expressions over the frame's columns, and those of the queries around it."""
        sources, columns = dict(frame.sources), dict(frame.columns)
        for outer in self._around:
            sources, columns = {**outer.sources, **sources}, {**outer.columns, **columns}
        return SparkSql(sources, columns, frame.order)

    def inside(self, around: Frame, node: Node) -> Frame:
        """The frame of a subquery, which may look at the columns of the rows around it."""
        self._around.append(around)
        try:
            return self.frame(node)
        finally:
            self._around.pop()

    def _frame(self, node: Node) -> Frame:
        match node:
            case PhysicalReader():
                return self._source(node)
            case PhysicalPartialAggregation():
                return self._partial(node)
            case Filter(child=child, predicate=predicate):
                frame = self.frame(child)
                asked = {column.id.relation for column in columns_of(predicate)}
                if self.runs and not asked.isdisjoint(self.subqueries):
                    frame = taken_whole(frame, child)
                where = f" WHERE {self.sql(frame).text(predicate)}"
                return frame.with_rows(select(["*"], frame.text, where))
            case Project(child=PhysicalEndlessAggregation() as merged):
                # Its rows are given: tasks have made them.
                return self._selected(self.frame(merged), node)
            case Project(child=Aggregation(keys=(), sets=None, folds=True) as folded):
                # In one SELECT: only of an aggregation that nothing stands above does Spark know
                # that it gives a row for no rows, and joins a correlated one without detours.
                return self._folded(folded, node)
            case Project(child=child):
                return self._selected(self.frame(child), node)
            case StatefulFunction():
                return remember_rows(self.frame(node.child), node, self._memory)
            case Window():
                return cut_windows(self.frame(node.child), node, self._time, self._memory)
            case RetractingAggregation():
                return retract_groups(self.frame(node.child), node, self._memory)
            case PhysicalStreamingAggregation():
                return aggregate_windows(self.frame(node.child), node, self._time, self._memory)
            case Join():
                return self._join(node)
            case NearestJoin(left=left, right=right):
                return relational.nearest_join(node, self.frame(left), self.frame(right))
            case Aggregation():
                return self._aggregate(node)
            case Generate():
                return self._generate(node)
            case Sort(child=child, keys=keys):
                frame = self.frame(child)
                if node.per_batch and not self._in_place:
                    # One task writes them, for several would not keep the order.
                    frame = frame.with_rows(select(["/*+ REPARTITION(1) */ *"], frame.text))
                # A constant does not sort, and Spark would take a number for a column's place.
                by = [key for key in keys if not isinstance(key.expr, Literal)]
                order = ", ".join(map(self.sql(frame).sort_key, by))
                return frame.with_rows(
                    select(["*"], frame.text, f" ORDER BY {order}" if by else "")
                )
            case Limit(child=child, count=count, offset=offset):
                frame = self.frame(child)
                limit = "" if count is None else f" LIMIT {count}"
                skip = f" OFFSET {offset}" if offset else ""
                return frame.with_rows(select(["*"], frame.text, limit + skip))
            case Distinct(child=child):
                frame = self.frame(child)
                if self._memory is not None and is_kept_by_tasks(node):
                    return new_rows(frame, node, self._memory)
                return frame.with_rows(select(["DISTINCT *"], frame.text))
            case PhysicalGather(child=child):
                # Not REPARTITION(1), which would shuffle: the task takes what is shuffled already.
                frame = self.frame(child)
                return frame.with_rows(select(["/*+ COALESCE(1) */ *"], frame.text))
            case Keep(child=child, columns=columns):
                return relational.keep(self.frame(child), columns)
            case Analytic(child=child, calls=calls, relation=relation):
                frame = self.frame(child)
                return relational.analytic(frame, self.sql(frame), calls, relation)
            case Subquery(child=child):
                return with_subquery(self, node, self.frame(child))
            case Union(inputs=inputs):
                return relational.union(node, [self.frame(side) for side in inputs])
            case SetOperation(left=left, right=right):
                return relational.set_operation(node, self.frame(left), self.frame(right))
            case OneRow():
                return Frame(SparkRows(self.views, SqlText("SELECT 1 AS `one`")), {}, {})
            case Pivot():
                return relational.pivot(node, self.frame(node.child))
            case Recursion():
                return relational.recursion(node, self.frame(node.first), self.frame(node.step))
            case RecursiveRows():
                return relational.of_relation(
                    SparkRows(self.views, relational.recursive_rows(node)), node.relation
                )
            case SparkTable():
                rows = self._told_apart(relational.spark_table(node))
                return relational.of_relation(rows, node.relation)
            case TableFunction():
                rows = self._told_apart(relational.table_function(node))
                return relational.of_relation(rows, node.relation)
            case Values():
                return relational.of_relation(
                    SparkRows(self.views, relational.values(node)), node.relation
                )
            case _:
                raise fail(
                    Code.NOT_SUPPORTED,
                    f"{node.operator.removeprefix('Physical')} can be planned, but not run yet",
                )

    # --- sources ----------------------------------------------------------------------------------

    def _source(self, node: PhysicalReader) -> Frame:
        source, relation, window = node.source, node.relation.id, self._windows.get(node)
        end = input_end(source, relation, window, self._time.checkpoint)
        spec = replace(self.reader_spec(node), end=end)
        shipped = ShippedSource(spec.projection, spec.names)
        frame = Frame(
            SparkRows(self.views, self.open_source(node, spec)),
            {relation: shipped},
            {},
            spec.fragments,
            order=spec.order,
        )
        joined, closes = node in self._joined, bool(self._windows)
        return with_time(frame, node, window, self._time, end, joined=joined, closes=closes)

    def reader_spec(self, node: PhysicalReader) -> ReadSpec:
        """What a reader has to do for the plan."""
        if id(node) not in self._specs:  # a relation may be read twice, with other tests
            spec = read_spec(node, key_values(self, node))
            self._specs[id(node)] = replace(
                spec,
                kept=kept_share(node.filter, node.join_filters, self._estimates),
                hands_on=handed_by(self._keys_asked.get(node.relation.id, ()), node, spec),
            )
        return self._specs[id(node)]

    def _told_apart(self, rows: SqlText) -> SparkRows:
        """Rows of which Spark knows the columns by names of their own, which the user may see."""
        if not self._repeated:
            return SparkRows(self.views, rows)
        data = self.views.query(rows)
        columns = [col(name).alias(name, metadata=_APART) for name in data.columns]
        return SparkRows(self.views, data.select(columns))

    def _partial(self, node: PhysicalPartialAggregation) -> Frame:
        rows = SparkRows(self.views, self.open_source(node.reader, partial_spec(node)))
        return relational.of_relation(rows, node.relation)

    # --- relational operators ---------------------------------------------------------------------

    def _selected(self, frame: Frame, node: Project) -> Frame:
        relation, hidden = node.relation.id, node in self._hidden
        columns = _listed(self.sql(frame), node.computed, relation)
        kept = [*frame.fragments, *(frame.hidden if hidden else ())]
        selected = replace(
            frame.with_rows(select([*columns, *map(quote, kept)], frame.text)),
            sources={},
            columns=_made(node.computed, relation),
        )
        # Without somebody above who still needs them, the hidden columns end here.
        return selected if hidden else replace(selected, order=None, stamp=None, clock=None)

    def _join(self, node: Join) -> Frame:
        left = self.frame(node.left)
        if is_kept_by_tasks(node) and self._memory is not None:
            assert isinstance(node, PhysicalJoin)
            return join_streams(left, self.frame(node.right), node, self._memory)
        right = self.inside(left, node.right) if node.lateral else self.frame(node.right)
        if self.runs and is_stream(node.left) != is_stream(node.right):
            left, right = taken_whole(left, node.left), taken_whole(right, node.right)
            if self._in_place:
                left = left if is_stream(node.left) else _broadcast(left)
                right = right if is_stream(node.right) else _broadcast(right)
        both = Frame(
            left.rows,
            {**left.sources, **right.sources},
            {**left.columns, **right.columns},
            (*left.fragments, *right.fragments),
            stamp=left.stamp or right.stamp,
            clock=left.clock or right.clock,
        )
        if node.condition is None:
            kind, condition = "CROSS", ""
        else:
            kind, condition = _JOINS[node.kind], f" ON {self.sql(both).text(node.condition)}"
        rows = right.text
        if node.lateral:
            rows = f"LATERAL {self._generator(left, node.right) or rows}"
        joined = select(["*"], left.text, f" {kind} JOIN {rows}{condition}")
        if node not in self._ordered:  # each side may have gone by it below
            return both.with_rows(joined)
        return ordered_pairs(both.with_rows(joined), left, right, node)

    def _generator(self, around: Frame, node: Node) -> str | None:
        """A generator that is all of a lateral side, as Spark has it: a function in FROM."""
        if not (isinstance(node, Generate) and isinstance(node.child, OneRow)):
            return None
        call = self.sql(around).typed(node.generator).text
        places = _generated_types(self.sql(around), node)
        names = ", ".join(quote(column_name(node.relation.id, place)) for place in places)
        return f"{call} AS given({names})"

    def _folded(self, node: Aggregation, project: Project) -> Frame:
        """An aggregation of all rows, and what is computed from it."""
        frame = self.frame(node.child)
        calls = {node.relation.column(place).id: call for place, (_, call) in enumerate(node.calls)}

        def written_out(expr: Expr) -> Expr | None:
            return calls.get(expr.id) if isinstance(expr, Column) else None

        fields = [
            (ordinal, named._replace(expr=rewrite(named.expr, written_out)))
            for ordinal, named in project.computed
        ]
        relation = project.relation.id
        columns = _listed(self.sql(frame), fields, relation)
        before = [named.expr for _, named in project.computed]
        unused = all(named.expr in before for _, named in fields)
        query = select(columns, frame.text, _OF_ALL_ROWS if unused else "")
        folded = frame.rows.then(query)
        return Frame(folded, {}, _made(fields, relation))

    def _aggregate(self, node: Aggregation) -> Frame:
        frame = self.frame(node.child)
        if node.sets is not None:
            return relational.grouping_sets(node, frame, node.sets)
        sql, relation = self.sql(frame), node.relation.id
        keys = select_list(sql, node.keys, relation)
        by = [sql.text(expr) for _, expr in node.keys]
        rows = frame.text
        if not all(isinstance(expr, (Column, FieldAccess)) for _, expr in node.keys):
            # Columns first: Spark takes a number for a column's place, and draws lots once more.
            rows = f"({select(['*', *keys], rows)})"
            keys = by = [quote(column_name(relation, place)) for place in range(len(node.keys))]
        columns = [*keys, *select_list(sql, node.calls, relation, len(keys))]
        folded = f" GROUP BY {', '.join(by)}" if by else "" if columns else _OF_ALL_ROWS
        query = select(columns, rows, folded)
        made = relation_columns((*node.keys, *node.calls), relation)
        return Frame(frame.rows.then(query), {}, made)

    def _generate(self, node: Generate) -> Frame:
        frame = self.frame(node.child)
        text = self.sql(frame).typed(node.generator).text
        if node.outer and node.generator.function.name in _WITH_OUTER:
            text = text.replace("(", "_outer(", 1)
        types = _generated_types(self.sql(frame), node)
        names = {ordinal: column_name(node.relation.id, ordinal) for ordinal in types}
        aliases = ", ".join(map(quote, names.values()))
        generated = select(["*", f"{text} AS ({aliases})"], frame.text)
        assert node.generator.function.generator is not None
        if node.generator.function.generator.in_from:
            join, on = ("LEFT JOIN", " ON true") if node.outer else ("JOIN", "")
            rows = f" {join} LATERAL {text} AS given({aliases}){on}"
            generated = select(["*"], frame.text, rows)
        if isinstance(node.child, OneRow):
            # In FROM, where Spark lets it look at the rows around a lateral join.
            generated = select(["*"], f"{text} AS given({aliases})")
        made = {
            ColumnId(node.relation.id, ordinal): Typed(quote(names[ordinal]), dtype)
            for ordinal, dtype in types.items()
        }
        columns = {**frame.columns, **made}
        return replace(frame.with_rows(generated), columns=columns, order=None)


# --- columns --------------------------------------------------------------------------------------


def _listed(sql: SparkSql, fields: Sequence[tuple[int, NamedExpr]], relation: int) -> list[str]:
    return [
        f"{sql.text(named.expr)} AS {quote(column_name(relation, ordinal))}"
        for ordinal, named in fields
    ]


def _made(fields: Sequence[tuple[int, NamedExpr]], relation: int) -> dict[ColumnId, Typed]:
    return {
        ColumnId(relation, ordinal): Typed(quote(column_name(relation, ordinal)), named.expr.dtype)
        for ordinal, named in fields
    }


def _generated_types(sql: SparkSql, node: Generate) -> dict[int, DataType]:
    """The columns that Spark generates, by their ordinals in the plan, with the types that they
    have: of a list of structs, `inline` makes just the fields that were shipped."""
    call = node.generator
    narrow = [replace(arg, dtype=sql.typed(arg).dtype) for arg in call.args]
    assert call.function.generator is not None
    declared = call.function.generator.outputs(call.args)
    outputs = call.function.generator.outputs(narrow)
    if outputs is None or declared is None:
        return {place: column.dtype for place, column in enumerate(node.relation.columns)}
    if len(outputs) == len(declared):
        return {place: output.dtype for place, output in enumerate(outputs)}
    places = {output.name: place for place, output in enumerate(declared)}
    return {places[output.name]: output.dtype for output in outputs}
