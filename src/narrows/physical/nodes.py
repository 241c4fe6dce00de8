"""The nodes of a physical plan.

A relational operator computes what its logical counterpart says, so it *is* that node with a
physical name. What is new are the ends of the pipeline: where payloads are read, decoded, encoded
and written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from narrows.catalog.objects import Sink, Source
from narrows.demand import ALL, Demand
from narrows.demand_text import row_parts
from narrows.expression_text import expression_text
from narrows.expressions import Call, Column, Expr
from narrows.logical.nodes import (
    Aggregation,
    DataSink,
    Decoded,
    Distinct,
    Filter,
    Generate,
    Info,
    Join,
    Limit,
    Listing,
    Node,
    Project,
    Sort,
    StatefulFunction,
    Tail,
    UnaryNode,
    Window,
    decoded_columns,
)
from narrows.physical.incremental import why_not_incremental
from narrows.sql.scope import Relation


@dataclass(frozen=True, kw_only=True, eq=False)
class PhysicalDataSource(Node):
    """Reads payloads. Their bytes are nobody's columns yet."""

    source: Source

    def info(self) -> Info:
        path = self.source.options.get("path")
        info = {"source": self.source.name, "connector": self.source.connector}
        return {**info, "path": str(path)} if path is not None else info


@dataclass(frozen=True, kw_only=True, eq=False)
class PhysicalDecoder(Decoded, UnaryNode):
    """Turns payloads into columns: those of the projection, and no others.

    It may test rows before it ships them (`filter`), and then ships only what is needed above
    (`ships`; the whole projection where nothing is filtered).
    """

    filter: tuple[Expr, ...] = ()
    ships: Demand = ALL
    order: bool = False
    """Ships each row's place in the source, for functions and windows that go by it."""

    @property
    def shipped(self) -> Demand:
        return self.ships if self.filter else self.decode_projection

    @property
    def outputs(self) -> Sequence[Column]:
        return decoded_columns(self.source, self.relation, self.shipped)

    def info(self) -> Info:
        info = {"decoder": self.source.format, **self.schema_info()}
        if self.filter:
            info["filter"] = Listing([expression_text(test) for test in self.filter])
            info["ships"] = Listing(row_parts(self.ships, self.source.schema), ", ")
        if self.order:
            info["order"] = "source"
        return info


@dataclass(frozen=True, kw_only=True, eq=False)
class PhysicalSharedStream(Decoded):
    """Reads what the shared stream's one ingest has decoded for all its pipelines."""

    order: bool = False
    """As of a decoder: also ships the place of each row."""

    def info(self) -> Info:
        info = {"source": self.source_text, "shared": "true", **self.schema_info()}
        return {**info, "order": "source"} if self.order else info


class PhysicalFilter(Filter):
    pass


class PhysicalProject(Project):
    pass


class PhysicalJoin(Join):
    pass


class PhysicalGenerate(Generate):
    pass


class PhysicalStatefulFunction(StatefulFunction):
    pass


class PhysicalWindow(Window):
    pass


class PhysicalAggregation(Aggregation):
    def info(self) -> Info:
        if not isinstance(self.child, Window):
            return super().info()
        return {**super().info(), "incremental": f"no: {why_not_incremental(self)}"}


@dataclass(frozen=True, kw_only=True, eq=False)
class PhysicalStreamingAggregation(Aggregation):
    """A window and its aggregation in one: the window keeps what the calls need, and no rows.

    `bounds` are the columns that the window would have added; some of the keys refer to them.
    """

    window: Call
    bounds: Relation

    def info(self) -> Info:
        return {"window": expression_text(self.window), **super().info()}


class PhysicalSort(Sort):
    pass


class PhysicalLimit(Limit):
    pass


class PhysicalDistinct(Distinct):
    pass


class PhysicalDataSink(DataSink):
    pass


class PhysicalTail(Tail):
    pass


@dataclass(frozen=True, kw_only=True, eq=False)
class PhysicalEncoder(UnaryNode):
    """Turns rows into payloads of the sink's format."""

    sink: Sink

    def info(self) -> Info:
        return {"encoder": self.sink.format}
