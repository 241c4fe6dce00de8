"""A session: a catalog whose statements run on Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from narrows.catalog.catalog import Answer, Catalog
from narrows.catalog.objects import Source
from narrows.codecs.decoder import decoder_for
from narrows.errors import Code, NarrowsError, Span, fail
from narrows.files.listing import list_files
from narrows.logical.nodes import DataSink, Decoded, Tail
from narrows.physical.nodes import PhysicalEncoder
from narrows.planner import Plan, plan_query
from narrows.schema import Struct, quoted
from narrows.spark.analyze import explain_analyze
from narrows.spark.compile import compile_plan
from narrows.spark.dead_letters import keep_payloads
from narrows.spark.embedded import embedded_session
from narrows.spark.projections import Projections
from narrows.spark.read_partition import ship
from narrows.spark.read_spec import ReadSpec
from narrows.spark.read_table import compares_sizes, read_table
from narrows.spark.run import Run, read_rows
from narrows.spark.shipping import ship_package
from narrows.spark.sink import NarrowsSink
from narrows.spark.source import NarrowsSource, shipped_schema
from narrows.spark.state import StateFolder
from narrows.spark.table_statistics import count_table, load_statistics, save_statistics
from narrows.sql.parse import parse, parse_query
from narrows.sql.scope import Name
from narrows.sql.statements import (
    Analyze,
    CreateProjection,
    CreateSource,
    DropProjection,
    Explain,
    ExplainMode,
    Query,
    RefreshProjection,
    Select,
    Start,
    Statement,
    Stop,
)
from narrows.sql.types import read_schema

DATAFRAME = "dataframe"
"""The connector of sources that are data frames of the user's."""


def connect(
    spark: SparkSession | None = None,
    *,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    state: str | Path = ".narrows",
    pruning: bool = True,
    catalog: Catalog | None = None,
) -> Session:
    """A session on an embedded Spark, on `master`, or on a Spark session of yours.

    `state` is the folder of checkpoints and dead letters. `pruning=False` decodes everything.
    """
    owned = spark is None
    return Session(
        spark or embedded_session(master, conf or {}, Path(state) / "spark.log"),
        state=StateFolder(state),
        pruning=pruning,
        catalog=catalog or Catalog(),
        owns_spark=owned,
    )


class Session:
    """Statements, queries and running pipelines. Use it in a `with` block, or `close()` it."""

    def __init__(
        self,
        spark: SparkSession,
        *,
        state: StateFolder,
        pruning: bool,
        catalog: Catalog,
        owns_spark: bool,
    ) -> None:
        self.spark = spark
        self.catalog = catalog
        self.state = state
        self.pruning = pruning
        self._owns_spark = owns_spark
        self._frames: dict[str, tuple[DataFrame, str]] = {}
        self._runs: list[Run] = []
        self._projections = Projections(self)
        ship_package(spark)
        spark.dataSource.register(NarrowsSource)
        spark.dataSource.register(NarrowsSink)

    # --- statements -------------------------------------------------------------------------------

    def execute(self, sql: str, filename: str | None = None) -> list[Answer | DataFrame | Run]:
        """Executes statements in order; the answers of all of them."""
        try:
            return [self._execute(statement) for statement in parse(sql, filename)]
        except NarrowsError as error:
            raise error.located(sql, filename) from None

    def _execute(self, statement: Statement) -> Answer | DataFrame | Run:
        match statement:
            case Select(query=query):
                return self._frame(query)
            case Start(pipelines=pipelines):
                return self.start(*(name for name, _ in pipelines))
            case Stop(pipelines=pipelines):
                self.stop(*(name for name, _ in pipelines))
                return None
            case Explain(mode=ExplainMode.ANALYZE, query=query) if query is not None:
                self._projections.check()
                plan = plan_query(query, self.catalog, pruning=self.pruning)
                return explain_analyze(self, plan)
            case Analyze(name=table, name_span=span):
                self.analyze(table, span)
                return None
            case CreateProjection():
                self._projections.create(statement)
                return None
            case RefreshProjection(name=name):
                self._projections.refresh(name)
                return None
            case DropProjection(name=name):
                self._projections.drop(name)
                return None
            case CreateSource(name=created):
                answer = self.catalog.execute_statement(statement)
                self._remember_statistics(created)
                return answer
            case _:
                self._projections.check()
                return self.catalog.execute_statement(statement)

    def query(self, sql: str) -> DataFrame:
        """The rows of a query over what is there now, as a data frame."""
        return self._frame(parse_query(sql))

    def query_of(self, source: Source, columns: str, more: str) -> DataFrame:
        """Columns of a source as it is, without its copies."""
        other = Catalog()
        other.add_source(source)
        query = parse_query(f"SELECT {columns} FROM {quoted(source.name)}{more}")
        plan = plan_query(query, other, pruning=self.pruning)
        return self.compile(plan, streaming=False, pipeline="query")

    def _frame(self, query: Query) -> DataFrame:
        self._projections.check()
        plan = plan_query(query, self.catalog, pruning=self.pruning)
        return self.compile(plan, streaming=False, pipeline="query")

    def compile(self, plan: Plan, *, streaming: bool, pipeline: str) -> DataFrame:
        """The data frame of a plan (without its sinks)."""
        root = plan.physical
        while isinstance(root, (Tail, DataSink, PhysicalEncoder)):
            root = root.children[0]
        return compile_plan(
            root,
            self.spark,
            lambda node, spec: self.open(
                node,
                self.placed(node, spec, pipeline),
                streaming=streaming,
                joined=compares_sizes(root),
            ),
        )

    # --- statistics -------------------------------------------------------------------------------

    def analyze(self, table: str, span: Span | None = None) -> None:
        """Counts rows, widths, distinct values and NULLs of a table, for the planner."""
        source = self.catalog.find_source(Name(table, span))
        if not source.bounded or source.connector == DATAFRAME:
            raise fail(
                Code.NOT_SUPPORTED,
                f"`{source.name}` has no statistics: only tables of files can be analyzed",
                span,
            )
        counted = count_table(self, source)
        save_statistics(self.state.table_statistics(source.name), counted)
        self.catalog.add_source(replace(source, statistics=counted))

    def _remember_statistics(self, name: str) -> None:
        """What was counted in an earlier session, if the table has not changed since."""
        source = self.catalog.find_source(Name(name, None))
        if source.bounded:
            counted = load_statistics(self.state.table_statistics(source.name), source)
            self.catalog.add_source(replace(source, statistics=counted))

    # --- sources ----------------------------------------------------------------------------------

    def register(
        self, name: str, frame: DataFrame, schema: str | Struct, payload: str = "value"
    ) -> None:
        """Makes the payloads of a data frame - of Kafka, Delta, anything - a source.

        `payload` is the column that holds them, `schema` what is in them. A streaming data frame
        makes a stream, any other a table.
        """
        if payload not in frame.columns:
            raise fail(
                Code.UNKNOWN_COLUMN,
                f"the data frame has no column `{payload}`",
                hint=f"its columns are {', '.join(frame.columns)}",
            )
        declared = read_schema(schema) if isinstance(schema, str) else schema
        source = Source(
            name=name, schema=declared, bounded=not frame.isStreaming, connector=DATAFRAME
        )
        self.catalog.add_source(source)
        self._frames[name.casefold()] = (frame, payload)

    def placed(self, node: Decoded, spec: ReadSpec, pipeline: str) -> ReadSpec:
        """The specification with its places in the state folder."""
        source = node.source.name
        zone = self.spark.conf.get("spark.sql.session.timeZone", "UTC") or "UTC"
        return replace(
            spec,
            options={**spec.options, "timezone": zone},
            dead_letters=str(self.state.dead_letters(source).absolute()),
            statistics=str(self.state.statistics(pipeline, source).absolute()),
            file_log=str(self.state.file_log(pipeline, node.relation.id).absolute()),
            partitions=self._parallelism,
        )

    @property
    def _parallelism(self) -> int:
        return int(self.spark.conf.get("spark.sql.shuffle.partitions", "2") or 2)

    def open(self, node: Decoded, spec: ReadSpec, *, streaming: bool, joined: bool) -> DataFrame:
        """A source as a data frame of what the specification ships."""
        if node.source.connector == DATAFRAME:
            return self._decode_frame(node.source, spec)
        stream = streaming and not node.source.bounded
        if not stream:
            # A table that is not there is said so before Spark starts.
            files = list_files(spec.path, missing_ok=not node.source.bounded)
            table = read_table(self.spark, spec, files, joined=joined)
            if table is not None:
                return table
        reader = self.spark.readStream if stream else self.spark.read
        return reader.format(NarrowsSource.name()).option("spec", spec.to_option()).load()

    def _decode_frame(self, source: Source, spec: ReadSpec) -> DataFrame:
        frame, payload = self._frames[source.name.casefold()]

        def decode(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            decoder = decoder_for(spec.format, spec.options)
            for batch in batches:
                payloads = batch.column(0).cast(pa.binary()).to_pylist()
                present = [value for value in payloads if value is not None]
                decoded = decoder.decode_with_projection(present, spec.projection)
                keep_payloads(spec, present, decoded.bad)
                yield ship(spec, decoded)

        return frame.select(payload).mapInArrow(decode, shipped_schema(spec))

    # --- pipelines --------------------------------------------------------------------------------

    def start(self, *pipelines: str, once: bool = False, trigger: str = "1 second") -> Run:
        """Starts pipelines: on what is there now (`once`), or until they are stopped."""
        names = [self.catalog.pipeline(name).name for name in pipelines]
        self.state.lock()
        run = Run(self, names, once=once, trigger=trigger)
        self._runs.append(run)
        return run

    def stop(self, *pipelines: str) -> None:
        for run in self._runs:
            run.stop(*pipelines)

    def rows(self, sink: str) -> list[dict[str, Any]]:
        """The rows that pipelines have written to a console or memory sink."""
        return read_rows(self.state.rows(self.catalog.sink(sink).name))

    @property
    def runs(self) -> Sequence[Run]:
        return self._runs

    # --- end --------------------------------------------------------------------------------------

    def close(self) -> None:
        """Stops what runs, and Spark if it is ours."""
        for run in self._runs:
            run.stop()
        self.state.unlock()
        if self._owns_spark:
            self.spark.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
