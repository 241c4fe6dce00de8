"""The nodes of a physical plan.

A relational operator computes what its logical counterpart says, so it *is* that node with a
physical name. What is new are the ends of the pipeline: where payloads are read, decoded, encoded
and written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Self

from narrows.catalog.objects import Sink, Source
from narrows.demand import ALL, Demand, of_columns
from narrows.demand_text import leaves_text, row_parts
from narrows.expressions.nodes import Call, Column, Expr
from narrows.expressions.text import expression_text
from narrows.logical.nodes import (
    Aggregation,
    DataSink,
    DecodedSource,
    Distinct,
    Filter,
    Generate,
    Info,
    Join,
    Limit,
    Listing,
    NamedExpr,
    Node,
    Project,
    RetractingAggregation,
    Sort,
    StatefulFunction,
    Tail,
    UnaryNode,
    Window,
    as_call,
    decoded_columns,
    metadata_info,
    window_kind,
)
from narrows.physical.incremental import why_not_incremental
from narrows.physical.join_filters import JoinFilter
from narrows.physical.row_limit import ReaderLimit
from narrows.projection.columns import Path, path_text
from narrows.projection.fragments import Fragment, OptionItems
from narrows.schema import DataType
from narrows.sql.scope import Relation
from narrows.stateful.windows.window import RowWindow, StreamWindow

_BY_TASKS = "by tasks"
"""Who keeps what is remembered, where it is not Spark's state store."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PhysicalDataSource(Node):
    """Reads payloads. Their bytes are nobody's columns yet."""

    source: Source

    def info(self) -> Info:
        info = {"source": self.source.name, "connector": self.source.connector}
        return info | {
            name: str(self.source.options[name])
            for name in ("path", "topic")
            if name in self.source.options
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class PhysicalReader(DecodedSource):
    """Hands decoded columns to Spark: those of the projection, and no others.

    It may test rows before it ships them (`filter`; `join_filters`, by what another reader has) and
    encode fields that nobody computes with (`encodes`), and then ships as columns only what is
    needed above it (`ships`; otherwise the whole projection). Of a LIMIT it may ship no more rows
    than that leaves (`limit`). Where others test by its keys, it may hand its rows to the plan when
    it is asked for those (`hands_on`).
    """

    filter: tuple[Expr, ...] = ()
    join_filters: tuple[JoinFilter, ...] = ()
    encodes: tuple[Fragment, ...] = ()
    ships: Demand = ALL
    limit: ReaderLimit | None = None
    hands_on: bool = False
    order: bool = False
    """Ships each row's place in the source, for functions and windows that go by it."""

    @property
    def shipped(self) -> Demand:
        return self.ships if self.filter or self.encodes else self.decode_projection

    @property
    def outputs(self) -> Sequence[Column]:
        return decoded_columns(self.source, self.relation, self.shipped)

    @property
    def is_read_once(self) -> bool:
        """Are its rows those that it is asked for keys of, no more and no less?"""
        return self.hands_on and not self.encodes and self.limit is None and not self.order

    def _encoded_fields(self) -> Mapping[str, Sequence[str]]:
        """What is encoded for each format; its options tell two ways of writing one apart."""
        ways: dict[str, dict[OptionItems, list[str]]] = {}
        for fragment in self.encodes:
            fields = ways.setdefault(fragment.format, {}).setdefault(fragment.options, [])
            fields += [path_text(field.path) for field in fragment.fields]
        named: dict[str, Sequence[str]] = {}
        for form, by_options in ways.items():
            for options, fields in by_options.items():
                text = ", ".join(f"{name}={value}" for name, value in options)
                named[form if len(by_options) == 1 else f"{form}({text})"] = fields
        return named

    def shipping_info(self) -> Info:
        info: dict[str, str | Listing] = {}
        if self.filter:
            info["filter"] = Listing([expression_text(test) for test in self.filter])
        if self.join_filters:
            info["join_filter"] = Listing([str(test) for test in self.join_filters])
        if self.is_read_once:
            info["reads"] = "once"
        for dialect, fields in self._encoded_fields().items():
            info[f"encodes_{dialect}"] = Listing(fields)
        if self.filter or self.encodes:
            info["ships"] = Listing(row_parts(self.ships, self.source.row), ", ")
        if self.limit is not None:
            info["limit"] = str(self.limit)
        if self.order:
            info["order"] = "source"
        return info


@dataclass(frozen=True, kw_only=True, eq=False)
class PhysicalDecoder(PhysicalReader, UnaryNode):
    """Turns payloads into columns."""

    def info(self) -> Info:
        return {"decoder": self.source.format, **self.schema_info(), **self.shipping_info()}


@dataclass(frozen=True, kw_only=True, eq=False)
class PhysicalIngest(Node):
    """Decodes a shared stream once for all its pipelines. It runs by itself: no plan contains it,
    EXPLAIN shows it below those who read what it decodes.
    """

    source: Source
    applied: Demand | None = None
    """What it decodes at the moment; None when it is not known whether it runs."""
    version: int = 0

    @property
    def explained(self) -> tuple[Node, ...]:
        return (PhysicalDataSource(source=self.source),)

    def info(self) -> Info:
        info: dict[str, str | Listing] = {"decoder": self.source.format, "shared": "true"}
        if self.applied is None:
            return {**info, "decodes": "what its running pipelines need together"}
        schema = self.source.schema
        info["version"] = str(self.version)
        decoded = of_columns(self.applied, schema)
        info["decoding_columns"] = Listing(row_parts(decoded, schema), ", ")
        info["decodes"] = leaves_text(decoded, schema)
        return {**info, **metadata_info(self.source, self.applied)}


@dataclass(frozen=True, kw_only=True, eq=False)
class PhysicalSharedStream(PhysicalReader):
    """Reads what the shared stream's one ingest has decoded for all its pipelines."""

    ingest: PhysicalIngest | None = None

    @property
    def explained(self) -> tuple[Node, ...]:
        return (self.ingest or PhysicalIngest(source=self.source),)

    def info(self) -> Info:
        shared = {"source": self.source_text, "shared": "true"}
        return {**shared, **self.schema_info(), **self.shipping_info()}


class PhysicalFilter(Filter):
    pass


@dataclass(frozen=True, kw_only=True, eq=False)
class PhysicalProject(Project):
    """Computes columns, but for those that it leaves to the encoders above it (`delayed`)."""

    delayed: frozenset[int] = frozenset()
    in_reader: bool = False
    """Does the reader below compute them? Or, above groups that tasks merge, do those?"""

    @property
    def passthrough_messages(self) -> bool:
        """Do rows pass as they came, with some fields in the readers' fragments?"""
        return bool(self.delayed)

    @property
    def computed(self) -> Sequence[tuple[int, NamedExpr]]:
        return [item for item in enumerate(self.fields) if item[0] not in self.delayed]

    def info(self) -> Info:
        passes = {"passthrough_messages": "true"} if self.passthrough_messages else {}
        where = "reader" if isinstance(self.child, PhysicalReader) else "tasks"
        return {**super().info(), **passes, **({"in": where} if self.in_reader else {})}


@dataclass(frozen=True, kw_only=True, eq=False)
class PhysicalJoin(Join):
    by_tasks: bool = field(default=False, compare=False)
    """As in `PhysicalStatefulFunction`; of a join of two streams."""

    def info(self) -> Info:
        return {**super().info(), **({"state": _BY_TASKS} if self.by_tasks else {})}


class PhysicalGenerate(Generate):
    pass


@dataclass(frozen=True, kw_only=True, eq=False)
class PhysicalStatefulFunction(StatefulFunction):
    by_tasks: bool = field(default=False, compare=False)
    """Do tasks keep what it remembers, in files? Otherwise Spark's state store does."""

    def info(self) -> Info:
        return {**super().info(), **({"state": _BY_TASKS} if self.by_tasks else {})}


@dataclass(frozen=True, kw_only=True, eq=False)
class PhysicalWindow(Window):
    by_tasks: bool = field(default=False, compare=False)
    """As in `PhysicalStatefulFunction`; of windows that rows cut."""

    def info(self) -> Info:
        return {**super().info(), **({"state": _BY_TASKS} if self.by_tasks else {})}


class PhysicalWindowRows(PhysicalWindow):
    """A window whose rows tasks keep in files until it closes, as the reader below ships them. Its
    keys are those that cut windows apart."""

    @property
    def reader(self) -> PhysicalReader:
        assert isinstance(self.child, PhysicalReader)
        return self.child

    def info(self) -> Info:
        return {**super().info(), "state": "rows", "in": "files"}


class PhysicalAggregation(Aggregation):
    def info(self) -> Info:
        if not isinstance(self.child, Window) or isinstance(self.child, PhysicalWindowRows):
            return super().info()
        # Some reasons hold in ANSI mode only; where none holds the rule has not been asked.
        why = why_not_incremental(self, ansi=False) or why_not_incremental(self, ansi=True)
        why = why or "`streaming_aggregation_rewrite` is off"
        return {**super().info(), "state": f"rows ({why})"}


@dataclass(frozen=True, kw_only=True, eq=False)
class PhysicalPartialAggregation(Aggregation):
    """What the tasks of the reader below make of their own rows: parts of groups, for the
    aggregation above to merge."""

    keeps_state = False
    folds = False

    limit: int | None = None
    """How many groups are enough; None: all."""

    @property
    def reader(self) -> PhysicalReader:
        assert isinstance(self.child, PhysicalReader)
        return self.child

    def info(self) -> Info:
        limit = {} if self.limit is None else {"limit": str(self.limit)}
        return {**super().info(), "in": "reader", **limit}


@dataclass(frozen=True, kw_only=True, eq=False)
class PhysicalStreamingAggregation(Aggregation):
    """A window and its aggregation in one: the window keeps what the calls need, and no rows.

    `bounds` are the columns that the window would have added; some of the keys refer to them.
    """

    folds = False  # its rows come when their window has closed, and change no more

    window: Call
    bounds: Relation
    by_tasks: bool = field(default=False, compare=False)
    """As in `PhysicalStatefulFunction`; of windows that rows cut."""

    @property
    def kind(self) -> type[StreamWindow]:
        return window_kind(self.window)

    @property
    def remembers_rows(self) -> bool:
        return self.kind.cut_by_rows

    @property
    def merges(self) -> bool:
        """Do tasks keep its windows, as what readers made of their rows?"""
        return isinstance(self.child, PhysicalPartialAggregation)

    @property
    def group(self) -> tuple[Expr, ...]:
        """The keys, but for the window's bounds."""
        keys = (expr for _, expr in self.keys)
        return tuple(expr for expr in keys if self.bound(expr) is None)

    @property
    def cut_apart_by(self) -> tuple[Expr, ...]:
        """Whose windows are cut apart, as in `Window`."""
        return self.group if self.kind.keys_cut else self.window.partition_by

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return (*super().expressions, self.window)

    def with_expressions(self, expressions: Sequence[Expr]) -> Self:
        *folded, window = expressions
        return replace(super().with_expressions(folded), window=as_call(window))

    def bound(self, expr: Expr) -> int | None:
        """Which column of the window a key is; None for others."""
        if isinstance(expr, Column) and expr.id.relation == self.bounds.id:
            return expr.id.ordinal
        return None

    def info(self) -> Info:
        kind = self.kind
        state = (kind.folds_to if issubclass(kind, RowWindow) else None) or "aggregates"
        state = "partial aggregates" if self.merges else state
        state += f", {_BY_TASKS}" if self.by_tasks else ""
        return {"window": expression_text(self.window), **super().info(), "state": state}


class PhysicalEndlessAggregation(Aggregation):
    """Groups of a stream that no window ends, which tasks keep as what readers made of their rows.
    It gives those that an entry has changed, as they are then; where there are only keys, those
    that are new."""

    @property
    def partial(self) -> PhysicalPartialAggregation:
        assert isinstance(self.child, PhysicalPartialAggregation)
        return self.child

    def info(self) -> Info:
        kept = "partial aggregates" if self.partial.calls else "keys"
        return {**super().info(), "state": kept}


@dataclass(frozen=True, kw_only=True, eq=False)
class PhysicalRetractingAggregation(RetractingAggregation):
    by_tasks: bool = field(default=False, compare=False)
    """As in `PhysicalStatefulFunction`."""

    def info(self) -> Info:
        kept = f"aggregates, {_BY_TASKS}" if self.by_tasks else "aggregates"
        return {**super().info(), "state": kept}


class PhysicalSort(Sort):
    pass


class PhysicalLimit(Limit):
    pass


@dataclass(frozen=True, kw_only=True, eq=False)
class PhysicalDistinct(Distinct):
    by_tasks: bool = field(default=False, compare=False)
    """As in `PhysicalStatefulFunction`; they remember which rows there were."""

    def info(self) -> Info:
        return {**super().info(), **({"state": _BY_TASKS} if self.by_tasks else {})}


@dataclass(frozen=True, kw_only=True, eq=False)
class PhysicalGather(UnaryNode):
    """Brings the rows that tasks have shuffled into one task: what stands above is computed there,
    and nothing is shuffled once more."""

    def info(self) -> Info:
        return {"tasks": "1"}


class PhysicalDataSink(DataSink):
    pass


class PhysicalTail(Tail):
    pass


@dataclass(frozen=True, kw_only=True, eq=False)
class PhysicalBatch(UnaryNode):
    """Gathers rows into batches, each of which becomes one payload."""

    sink: Sink

    def info(self) -> Info:
        return batch_info(self.sink)


class DelayedColumn(NamedTuple):
    """A field of the select list that a reader encodes, because it is a plain value of a source."""

    ordinal: int
    """Its place in the select list."""
    column: Column
    path: Path
    name: str
    dtype: DataType

    def __str__(self) -> str:
        inside = path_text(self.path).removeprefix(self.column.name)
        return f"{self.column.qualifier}#{self.column.id.ordinal}{inside}->{self.name}"


@dataclass(frozen=True, kw_only=True, eq=False)
class PhysicalEncoder(UnaryNode):
    """Turns rows into payloads of the sink's format."""

    sink: Sink
    by_index_projection: tuple[DelayedColumn, ...] = ()

    def info(self) -> Info:
        info: dict[str, str | Listing] = {"encoder": self.sink.format}
        if self.by_index_projection:
            info["by_index_projection"] = Listing([str(c) for c in self.by_index_projection])
        return info


@dataclass(frozen=True, kw_only=True, eq=False)
class PhysicalStreamingEncoder(PhysicalEncoder):
    """Writes a payload while its rows still come, instead of gathering them first."""

    def info(self) -> Info:
        return {**super().info(), **batch_info(self.sink)}


def batch_info(sink: Sink) -> Info:
    limits = {name: sink.options.get(name) for name in ("batch_count", "batch_duration")}
    return {name: str(value) for name, value in limits.items() if value is not None}
