"""What it takes to run plans: Spark, the state folder, and how sources are opened.

Rooms that run something are handed this, and not the session.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, SparkSession

from narrows.catalog.objects import Source
from narrows.connectors.base import SourceConnector, SourceDeclaration
from narrows.connectors.opening import open_source
from narrows.errors import Code, NarrowsError, fail
from narrows.explain.plan import Plan
from narrows.logical.nodes import DecodedSource
from narrows.physical.execution import rows_of
from narrows.spark.compile.plan import OpenSource, compile_plan
from narrows.spark.read.cores import cores
from narrows.spark.read.marker_source import read_stream
from narrows.spark.read.payload_frame import PayloadFrame, decode_payloads
from narrows.spark.read.plain_read import named_read
from narrows.spark.read.table import TableReads, read_available
from narrows.spark.sql.rows import SqlText
from narrows.state.folder import StateFolder
from narrows.worker.read_spec import KeyValues, ReadSpec
from narrows.worker.table_keys import TableKeys

PlaceReads = Callable[[DecodedSource, ReadSpec], ReadSpec]
"""Adds to what a reader must know where in the state folder it finds and leaves things."""


@dataclass(frozen=True)
class Context:
    spark: SparkSession
    state: StateFolder
    pruning: bool
    tables: TableReads
    frames: Mapping[str, PayloadFrame]
    """Data frames of the user's that are sources, by name."""
    queries: str = "query"
    """Under which name the readers of queries leave counts."""

    @property
    def timezone(self) -> str:
        """The zone of timestamps that name none, and of those that are written."""
        return self.spark.conf.get("spark.sql.session.timeZone", "UTC") or "UTC"

    @property
    def parallelism(self) -> int:
        """How many tasks read a source, at most."""
        shuffled = int(self.spark.conf.get("spark.sql.shuffle.partitions", "2") or 2)
        return min(shuffled, cores(self.spark))

    # --- sources ----------------------------------------------------------------------------------

    def placed_for(
        self, node: DecodedSource, spec: ReadSpec, pipeline: str, number: int = 0
    ) -> ReadSpec:
        """The specification with the places in the state folder that are this pipeline's; `number`
        tells apart the places where it reads one source."""
        name, state = node.source.name, self.state
        number = number if node.source.is_fed else 0
        entry_log = state.entry_log(pipeline, name, number) if node.source.is_fed else None
        return replace(
            self.placed(spec),
            pipeline=pipeline,
            statistics=str(state.statistics(pipeline, name, number).absolute()),
            entry_log=None if entry_log is None else str(entry_log.absolute()),
        )

    def placed(self, spec: ReadSpec) -> ReadSpec:
        """The specification with what is the same for everybody who reads the source."""
        return replace(
            spec,
            options={**spec.options, "timezone": self.timezone},
            dead_letters=str(self.state.dead_letters(spec.source).absolute()),
            folder=str(self.state.received(spec.connector).absolute()),
            partitions=self.parallelism,
        )

    def open(self, node: DecodedSource, spec: ReadSpec, *, streaming: bool) -> DataFrame | SqlText:
        """The rows of a source, with the columns that the specification ships."""
        if streaming and spec.entry_log is not None:
            return read_stream(self.spark, self.with_table_keys(spec))
        if node.source.comes_as_frame:
            payloads = self.frames[node.source.name.casefold()]
            if payloads.frame.isStreaming and not streaming:
                raise _is_streaming(node.source)
            return decode_payloads(payloads, spec)
        return self.tables.query(spec)

    def with_table_keys(self, spec: ReadSpec) -> ReadSpec:
        """Tables that are read for keys: of each what is there now, as where it is joined."""
        tests = []
        for test in spec.keys:
            asked = test.values.asked
            assert isinstance(asked, TableKeys), "a stream is tested by nothing else"
            table = self.with_table_keys(self.placed(asked.spec))
            source = open_source(table.connector, table.declared)
            shares = source.split(source.whole(source.available()), 1)
            tests.append(test._replace(values=KeyValues(TableKeys(table, tuple(shares)))))
        return replace(spec, keys=tuple(tests))

    def opener(self, place: PlaceReads, *, streaming: bool) -> OpenSource:
        """Opens a plan's sources; `place` says where what their readers need is kept."""
        return lambda node, spec: self.open(node, place(node, spec), streaming=streaming)

    # --- queries ----------------------------------------------------------------------------------

    def query(self, plan: Plan) -> DataFrame:
        """The rows of a plan over what is there now."""

        def place(node: DecodedSource, spec: ReadSpec) -> ReadSpec:
            return self.placed_for(node, spec, self.queries)

        root = rows_of(plan.physical)
        names = [column.name for column in root.outputs]
        # Without columns, a reader ships one all the same, for rows must have something.
        plain = named_read(root, names) if names else None
        if plain is not None and plain.in_order and not plain.node.source.comes_as_frame:
            return read_available(self.spark, place(plain.node, plain.spec))
        return compile_plan(root, self.spark, self.opener(place, streaming=False))


def _is_streaming(source: Source) -> NarrowsError:
    return fail(
        Code.NOT_SUPPORTED,
        f"`{source.name}` is a streaming data frame: only Spark knows what it has, so no query can"
        " read what is there now",
        hint="make a pipeline of the query: `CREATE PIPELINE ... AS SELECT ...`, and start it; or"
        " register a data frame that is not streaming (`spark.read`)",
    )


def connected(source: Source) -> SourceConnector:
    """A declared source, ready to say what it has."""
    declared = SourceDeclaration(source.name, source.format, source.options, source.bounded)
    return open_source(source.connector, declared)
