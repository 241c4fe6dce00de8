"""The nodes of a logical plan.

Nodes are immutable and compare by identity, for a plan is a graph: two sinks may share what is
below them. A node that makes new columns (a source, a projection, an aggregation) carries the
`Relation` that they belong to; every other node hands on the columns of its children.

Each kind of node tells, beside its fields: its `children`, the expressions it evaluates, the
columns it hands up (`outputs`) and what EXPLAIN shows of it (`info`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import ClassVar, NamedTuple, Self

from narrows.catalog.objects import Sink, Source
from narrows.demand import ALL, Demand, Fields, of_columns
from narrows.demand_text import Texts, leaves_text, row_parts
from narrows.errors import InternalError
from narrows.expressions.function import Kind
from narrows.expressions.nodes import Call, Column, ColumnId, Expr, FieldAccess, SortKey
from narrows.expressions.text import expression_text, sort_key_text
from narrows.schema import Field, Struct, Unaliased, quoted
from narrows.sql.scope import Relation
from narrows.stateful.windows.window import StreamWindow


@dataclass(frozen=True)
class Listing:
    """A list in EXPLAIN, which the printers may cut when it is long."""

    parts: Sequence[str]
    separator: str = "; "


Info = Mapping[str, str | Listing]
"""What EXPLAIN shows of a node, in this order."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Node:
    """Base of all plan nodes, logical and physical.

    What a node does with the rows of earlier micro-batches, and with their order, is said by it
    alone: `keeps_state`, `folds`, `remembers_rows`, `without_place`.
    """

    keeps_state: ClassVar[bool] = False
    """Does it keep something of a stream from one micro-batch to the next? Then the pipeline is a
    query of its own, and its checkpoint belongs to this node as it is."""
    folds: ClassVar[bool] = False
    """Does it make one row of many, which in a stream changes as long as rows come?"""

    without_place: ClassVar[str | None] = None
    """What its rows are rows of, in the user's words, if they have no place of their own in the
    order of a stream: "UNION"."""

    @property
    def remembers_rows(self) -> bool:
        """Does it keep rows in a state of ours, and go by their order? That takes
        `transformWithState`, each row's place, and a state store that can hold it."""
        return False

    @property
    def operator(self) -> str:
        return type(self).__name__

    @property
    def children(self) -> tuple[Node, ...]:
        return ()

    def with_children(self, children: Sequence[Node]) -> Node:
        return self

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """What the node evaluates on the rows of its children."""
        return ()

    def with_expressions(self, expressions: Sequence[Expr]) -> Node:
        return self

    @property
    def outputs(self) -> Sequence[Column]:
        """The columns that the node hands up."""
        return [column for child in self.children for column in child.outputs]

    @property
    def output_ids(self) -> Sequence[ColumnId]:
        """Which columns those are."""
        return [column.id for column in self.outputs]

    @property
    def explained(self) -> tuple[Node, ...]:
        """What EXPLAIN shows below the node."""
        return self.children

    def info(self) -> Info:
        return {}


@dataclass(frozen=True, kw_only=True, eq=False)
class UnaryNode(Node):
    """A node with one child."""

    child: Node

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.child,)

    def with_children(self, children: Sequence[Node]) -> Self:
        return replace(self, child=children[0])


@dataclass(frozen=True, kw_only=True, eq=False)
class DecodedSource(Node):
    """A source's rows as far as somebody looks at them: what logical and physical sources share.

    `decode_projection` is what has to be decoded of a row, and made of its metadata; until a rule
    has looked it is all columns, but of the metadata those that the query names. A regular source's
    schema shrinks with it. A shared source keeps its full schema, because many pipelines read it by
    ordinal: what *this* pipeline needs is `shared_required_schema`, a view.
    """

    source: Source
    relation: Relation
    decode_projection: Demand = ALL
    metadata_alone: bool = False
    """The query names metadata of it and no other column: a payload that is NULL is a row, too."""

    @property
    def shared_required_schema(self) -> Demand | None:
        return self.decode_projection if self.source.shared else None

    @property
    def outputs(self) -> Sequence[Column]:
        return decoded_columns(self.source, self.relation, self.decode_projection)

    @property
    def source_text(self) -> str:
        alias = self.relation.name
        return self.source.name if alias == self.source.name else f"{self.source.name} AS {alias}"

    def schema_info(self) -> Info:
        """The schema as pruned, and how much of the full one that leaves to decode."""
        schema = self.source.schema
        decoded = of_columns(self.decode_projection, schema)
        needed = Listing(row_parts(decoded, schema), ", ")
        info: dict[str, str | Listing] = {"schema": needed}
        if self.source.shared:
            info["schema"] = Listing(row_parts(ALL, schema), ", ")
            info["shared_required_schema"] = needed
        info["decodes"] = leaves_text(decoded, schema)
        info |= metadata_info(self.source, self.decode_projection)
        if self.source.eventtime is not None:
            info["eventtime"] = self.source.eventtime
        info |= self.source.explained_options
        copy = self.source.options.get("projection")
        if copy is not None:
            info["projection"] = str(copy)
        return info


def metadata_info(source: Source, demand: Demand) -> Info:
    """Which metadata columns are made."""
    parts = row_parts(of_columns(demand, source.metadata), source.metadata)
    return {"metadata": Listing(parts, ", ")} if parts else {}


def decoded_columns(source: Source, relation: Relation, projection: Demand) -> Sequence[Column]:
    """The columns of a source that a projection leaves; all of them where the source is shared."""
    if source.shared or projection is ALL:
        return relation.columns
    names = projection.parts if isinstance(projection, Fields) else ()
    return [column for column in relation.columns if column.name in names]


@dataclass(frozen=True, kw_only=True, eq=False)
class DataSource(DecodedSource):
    """A stream or table of the catalog."""

    def info(self) -> Info:
        return {"source": self.source_text, "decoder": self.source.format, **self.schema_info()}


@dataclass(frozen=True, kw_only=True, eq=False)
class Filter(UnaryNode):
    predicate: Expr

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return (self.predicate,)

    def with_expressions(self, expressions: Sequence[Expr]) -> Self:
        return replace(self, predicate=expressions[0])

    def info(self) -> Info:
        return {"predicate": expression_text(self.predicate)}


class NamedExpr(NamedTuple):
    """An expression and the name of the column that it makes."""

    name: str
    expr: Expr

    def __str__(self) -> str:
        text = expression_text(self.expr)
        given = not isinstance(self.name, Unaliased) and self.name != default_name(self.expr)
        return f"{text} AS {self.name}" if given else text


def default_name(expr: Expr) -> str:
    """What a column is called in plans: by the column's or field's own name, else by its text."""
    match expr:
        case Column(name=name) | FieldAccess(name=name):
            return name
        case _:
            return expression_text(expr)


def relation_of(relation_id: int, name: str | None, named: Sequence[NamedExpr]) -> Relation:
    """The relation that a list of named expressions makes."""
    return Relation(relation_id, name, Struct(tuple(Field(n, e.dtype) for n, e in named)))


@dataclass(frozen=True, kw_only=True, eq=False)
class Project(UnaryNode):
    fields: tuple[NamedExpr, ...]
    relation: Relation

    @property
    def computed(self) -> Sequence[tuple[int, NamedExpr]]:
        """The fields that the node itself computes, by their ordinals."""
        return list(enumerate(self.fields))

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return tuple([named.expr for _, named in self.computed])

    def with_expressions(self, expressions: Sequence[Expr]) -> Self:
        fields = list(self.fields)
        for (ordinal, named), expr in zip(self.computed, expressions, strict=True):
            fields[ordinal] = NamedExpr(named.name, expr)
        return replace(self, fields=tuple(fields))

    @property
    def outputs(self) -> Sequence[Column]:
        return self.relation.columns

    @property
    def output_ids(self) -> Sequence[ColumnId]:
        return self.relation.ids

    def info(self) -> Info:
        return {"fields": Listing(Texts(lambda field: str(field[1]), self.computed))}


class JoinKind(Enum):
    INNER = "inner"
    LEFT = "left"
    RIGHT = "right"
    FULL = "full"
    CROSS = "cross"
    SEMI = "left semi"
    ANTI = "left anti"


@dataclass(frozen=True, kw_only=True, eq=False)
class Join(Node):
    keeps_state = True

    kind: JoinKind
    left: Node
    right: Node
    condition: Expr | None = None
    lateral: bool = field(default=False, compare=False)
    """The right side is asked anew for each row of the left, whose columns it may use. No pipeline
    has such a join, so the state of none depends on it."""

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    def with_children(self, children: Sequence[Node]) -> Self:
        return replace(self, left=children[0], right=children[1])

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return () if self.condition is None else (self.condition,)

    def with_expressions(self, expressions: Sequence[Expr]) -> Self:
        return replace(self, condition=expressions[0] if expressions else None)

    @property
    def outputs(self) -> Sequence[Column]:
        if self.kind in (JoinKind.SEMI, JoinKind.ANTI):
            return self.left.outputs
        return [*self.left.outputs, *self.right.outputs]

    def info(self) -> Info:
        info = {"kind": f"{self.kind.value}{' lateral' if self.lateral else ''}"}
        if self.condition is not None:
            info["on"] = expression_text(self.condition)
        return info


@dataclass(frozen=True, kw_only=True, eq=False)
class Generate(UnaryNode):
    """Many rows for one, by a generator such as explode; its columns are added to the row's."""

    without_place = "a generator"

    generator: Call
    relation: Relation
    outer: bool = False

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return (self.generator,)

    def with_expressions(self, expressions: Sequence[Expr]) -> Self:
        (generator,) = expressions
        assert isinstance(generator, Call)
        return replace(self, generator=generator)

    @property
    def outputs(self) -> Sequence[Column]:
        return [*self.child.outputs, *self.relation.columns]

    def info(self) -> Info:
        info: dict[str, str | Listing] = {"generator": expression_text(self.generator)}
        info["columns"] = Listing(self.relation.schema.names, ", ")
        if self.outer:
            info["outer"] = "true"
        return info


@dataclass(frozen=True, kw_only=True, eq=False)
class StatefulFunction(UnaryNode):
    """Adds a column for each call that remembers earlier rows (lag, latest, acc_sum ...).

    Stands right above the source, below WHERE: what a row remembers must not depend on which rows
    the query shows.
    """

    keeps_state = True

    calls: tuple[Call, ...]
    relation: Relation
    option: str | None = field(default=None, compare=False)
    """The option of the stream that says by which keys rows are remembered; None: OVER does."""

    @property
    def remembers_rows(self) -> bool:
        return True

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
class Window(UnaryNode):
    """Cuts a stream into windows, by a stream-window function of GROUP BY.

    `keys` are the group keys beside the window. The node adds the window's bounds to the row and,
    where two windows may have the same bounds, the window's number.
    """

    keeps_state = True

    window: Call
    relation: Relation
    keys: tuple[Expr, ...] = ()

    @property
    def remembers_rows(self) -> bool:
        return self.kind.cut_by_rows

    @property
    def kind(self) -> type[StreamWindow]:
        return window_kind(self.window)

    @property
    def cut_apart_by(self) -> tuple[Expr, ...]:
        """Whose windows are cut apart: each key's, but where only PARTITION BY says it."""
        own = self.window.partition_by
        return tuple(dict.fromkeys((*self.keys, *own))) if self.kind.keys_cut else own

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return (self.window, *self.keys)

    def with_expressions(self, expressions: Sequence[Expr]) -> Self:
        window, *keys = expressions
        return replace(self, window=as_call(window), keys=tuple(keys))

    @property
    def outputs(self) -> Sequence[Column]:
        return [*self.child.outputs, *self.relation.columns]

    def info(self) -> Info:
        info: dict[str, str | Listing] = {"window": expression_text(self.window)}
        if self.keys:
            info["keys"] = Listing([expression_text(key) for key in self.keys])
        return info


@dataclass(frozen=True, kw_only=True, eq=False)
class Aggregation(UnaryNode):
    """Groups rows by keys and folds each group; outputs the keys, then the calls.

    With `sets` (ROLLUP, CUBE, GROUPING SETS), rows are grouped once by each set of keys, given by
    their places; the keys that a set leaves out are NULL in its groups.
    """

    keeps_state = True
    folds = True
    without_place = "an aggregation"

    keys: tuple[NamedExpr, ...]
    calls: tuple[NamedExpr, ...]
    relation: Relation
    sets: tuple[tuple[int, ...], ...] | None = None

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return tuple(expr for _, expr in (*self.keys, *self.calls))

    def with_expressions(self, expressions: Sequence[Expr]) -> Self:
        named = [
            NamedExpr(old.name, new)
            for old, new in zip((*self.keys, *self.calls), expressions, strict=True)
        ]
        split = len(self.keys)
        return replace(self, keys=tuple(named[:split]), calls=tuple(named[split:]))

    @property
    def outputs(self) -> Sequence[Column]:
        return self.relation.columns

    def info(self) -> Info:
        info = {}
        if self.keys:
            info["keys"] = Listing([expression_text(expr) for _, expr in self.keys])
        if self.sets is not None:
            info["sets"] = Listing(
                [f"({', '.join(self.keys[place].name for place in keys)})" for keys in self.sets],
                ", ",
            )
        if self.calls:
            info["calls"] = Listing([expression_text(expr) for _, expr in self.calls])
        return info


class RetractingAggregation(Aggregation):
    """Groups of a stream that no window ends, for sinks that want retractions: whenever a group has
    changed, a row of what it was and one of what it is. Its last call says which of them it is."""

    folds = False  # its rows change no more: another row takes them back

    @property
    def remembers_rows(self) -> bool:
        return True


@dataclass(frozen=True, kw_only=True, eq=False)
class Sort(UnaryNode):
    keys: tuple[SortKey, ...]
    per_batch: bool = False
    """Are the rows of each micro-batch sorted by themselves? Else a stream cannot be sorted."""

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return tuple(key.expr for key in self.keys)

    def with_expressions(self, expressions: Sequence[Expr]) -> Self:
        keys = zip(self.keys, expressions, strict=True)
        return replace(self, keys=tuple(key._replace(expr=expr) for key, expr in keys))

    def info(self) -> Info:
        keys = Listing([sort_key_text(key) for key in self.keys])
        return {"keys": keys, "per": "batch"} if self.per_batch else {"keys": keys}


@dataclass(frozen=True, kw_only=True, eq=False)
class Limit(UnaryNode):
    keeps_state = True  # how many rows there were

    count: int | None
    offset: int = 0

    def info(self) -> Info:
        info = {}
        if self.count is not None:
            info["count"] = str(self.count)
        if self.offset:
            info["offset"] = str(self.offset)
        return info


@dataclass(frozen=True, kw_only=True, eq=False)
class Distinct(UnaryNode):
    """Drops repeated rows. Looks at whole rows, so nothing below it may be pruned."""

    keeps_state = True
    folds = True
    without_place = "DISTINCT"


@dataclass(frozen=True, kw_only=True, eq=False)
class DataSink(UnaryNode):
    sink: Sink
    changed: Mapping[int, int] = field(default_factory=dict)
    """Columns of which only what has changed is written, and the columns, which are not written,
    that say in which rows; all by their ordinals."""
    updates: Sequence[str] | None = None
    """The columns that say which earlier row a row stands for; None where every row is new."""

    def info(self) -> Info:
        outputs = self.child.outputs
        changed = [quoted(outputs[ordinal].name) for ordinal in self.changed]
        info: dict[str, str | Listing] = {
            "sink": self.sink.name,
            "connector": self.sink.connector,
            "format": self.sink.format,
        }
        if "mode" in self.sink.options:
            info["mode"] = str(self.sink.options["mode"])
        if changed:
            info["changed"] = Listing(changed, ", ")
        if self.updates is not None:
            info["updates"] = Listing(list(map(quoted, self.updates)), ", ")
        return info


@dataclass(frozen=True, kw_only=True, eq=False)
class Tail(Node):
    """The root of a plan with several sinks."""

    sinks: tuple[Node, ...]

    @property
    def children(self) -> tuple[Node, ...]:
        return self.sinks

    def with_children(self, children: Sequence[Node]) -> Self:
        return replace(self, sinks=tuple(children))


def as_call(expr: Expr) -> Call:
    assert isinstance(expr, Call), expr
    return expr


def is_aggregate(expr: Expr) -> bool:
    return isinstance(expr, Call) and expr.function.kind is Kind.AGGREGATE


def window_kind(call: Call) -> type[StreamWindow]:
    kind = call.function.window
    if kind is None:
        raise InternalError(f"`{call.function.name}` is no window")
    return kind
