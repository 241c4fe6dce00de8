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
from narrows.demand_text import leaves_text, row_parts
from narrows.expression_text import expression_text
from narrows.expressions import Column, Expr
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


@dataclass(frozen=True, kw_only=True, eq=False)
class PhysicalDataSource(Node):
    """Reads payloads. Their bytes are nobody's columns yet."""

    source: Source

    def info(self) -> Info:
        path = self.source.options.get("path")
        info = {"source": self.source.name, "connector": self.source.connector}
        return {**info, "path": str(path)} if path is not None else info


@dataclass(frozen=True, kw_only=True, eq=False)
class PhysicalReader(Decoded):
    """Hands decoded columns to Spark: those of the projection, and no others.

    It may test rows before it ships them (`filter`), and then ships only what is needed above
    (`ships`; the whole projection where nothing is filtered).
    """

    filter: tuple[Expr, ...] = ()
    ships: Demand = ALL

    @property
    def shipped(self) -> Demand:
        return self.ships if self.filter else self.decode_projection

    @property
    def outputs(self) -> Sequence[Column]:
        return decoded_columns(self.source, self.relation, self.shipped)

    def filter_info(self) -> Info:
        if not self.filter:
            return {}
        return {
            "filter": Listing([expression_text(test) for test in self.filter]),
            "ships": Listing(row_parts(self.ships, self.source.schema), ", "),
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class PhysicalDecoder(PhysicalReader, UnaryNode):
    """Turns payloads into columns."""

    def info(self) -> Info:
        return {"decoder": self.source.format, **self.schema_info(), **self.filter_info()}


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
        info["decoding_columns"] = Listing(row_parts(self.applied, schema), ", ")
        return {**info, "decodes": leaves_text(self.applied, schema)}


@dataclass(frozen=True, kw_only=True, eq=False)
class PhysicalSharedStream(PhysicalReader):
    """Reads what the shared stream's one ingest has decoded for all its pipelines."""

    ingest: PhysicalIngest | None = None

    @property
    def explained(self) -> tuple[Node, ...]:
        return (self.ingest or PhysicalIngest(source=self.source),)

    def info(self) -> Info:
        shared = {"source": self.source_text, "shared": "true"}
        return {**shared, **self.schema_info(), **self.filter_info()}


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
    pass


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
