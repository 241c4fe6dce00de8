"""A session: a catalog whose statements run on Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from narrows.catalog.catalog import Answer, Catalog
from narrows.catalog.objects import Source
from narrows.codecs.decoder import decoder_for
from narrows.errors import Code, NarrowsError, fail
from narrows.files.listing import list_files
from narrows.logical.nodes import Decoded
from narrows.planner import Plan, plan_query
from narrows.schema import Struct
from narrows.spark.compile import OpenSource, compile_plan
from narrows.spark.dead_letters import keep_payloads
from narrows.spark.embedded import embedded_session
from narrows.spark.read_partition import ship, with_time
from narrows.spark.read_spec import ReadSpec
from narrows.spark.row_order import Place, RowOrder
from narrows.spark.run import Run, read_rows, without_sinks
from narrows.spark.shipping import ship_package
from narrows.spark.sink import NarrowsSink
from narrows.spark.source import NarrowsSource, shipped_schema
from narrows.spark.state import StateFolder
from narrows.sql.parse import parse, parse_query
from narrows.sql.statements import Query, Select, Start, Statement, Stop
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
            case _:
                return self.catalog.execute_statement(statement)

    def query(self, sql: str) -> DataFrame:
        """The rows of a query over what is there now, as a data frame."""
        return self._frame(parse_query(sql))

    def _frame(self, query: Query) -> DataFrame:
        plan = plan_query(query, self.catalog, pruning=self.pruning)
        return self.compile(plan, streaming=False, pipeline="query")

    def compile(self, plan: Plan, *, streaming: bool, pipeline: str) -> DataFrame:
        """The data frame of a plan (without its sinks)."""
        opened = self.opener(pipeline, streaming=streaming)
        return compile_plan(without_sinks(plan.physical), opened)

    def opener(self, pipeline: str, *, streaming: bool, frozen: bool = False) -> OpenSource:
        """Opens the sources of a pipeline; frozen ones give nothing that they have not given."""

        def opened(node: Decoded, spec: ReadSpec) -> DataFrame:
            placed = replace(self._placed(node, spec, pipeline), frozen=frozen)
            return self._open(node, placed, streaming)

        return opened

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

    def _placed(self, node: Decoded, spec: ReadSpec, pipeline: str) -> ReadSpec:
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

    def _open(self, node: Decoded, spec: ReadSpec, streaming: bool) -> DataFrame:
        if node.source.connector == DATAFRAME:
            return self._decode_frame(node.source, spec)
        if node.source.bounded:
            list_files(spec.path)  # a table that is not there is said so before Spark starts
        stream = streaming and not node.source.bounded
        reader = self.spark.readStream if stream else self.spark.read
        return reader.format(NarrowsSource.name()).option("spec", spec.to_option()).load()

    def _decode_frame(self, source: Source, spec: ReadSpec) -> DataFrame:
        frame, payload = self._frames[source.name.casefold()]

        def decode(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            decoder = decoder_for(spec.format, spec.options)
            order: RowOrder | None = None
            for batch in batches:
                if order is None and spec.order is not None and batch.num_rows:
                    task = TaskContext.get()
                    number = task.partitionId() if task is not None else 0
                    order = RowOrder(Place(batch.column(1)[0].as_py(), number))
                payloads = batch.column(0).cast(pa.binary()).to_pylist()
                present = [value for value in payloads if value is not None]
                decoded = decoder.decode_with_projection(present, spec.projection)
                decoded = with_time(spec, decoded)
                keep_payloads(spec, present, decoded.bad)
                if decoded.batch.num_rows:
                    yield ship(spec, decoded, order)

        # The time of the batch orders the batches; inside one, tasks and their rows are in order.
        read_at = F.unix_micros(F.current_timestamp()).alias("read_at")
        columns = [F.col(payload)] if spec.order is None else [F.col(payload), read_at]
        return frame.select(*columns).mapInArrow(decode, shipped_schema(spec))

    # --- pipelines --------------------------------------------------------------------------------

    def start(
        self,
        *pipelines: str,
        once: bool = False,
        trigger: str = "1 second",
        close_windows: bool = True,
    ) -> Run:
        """Starts pipelines: on what is there now (`once`), or until they are stopped.

        At the end of what is there, open windows close; or, without `close_windows`, they stay
        open for the rows of a later run.
        """
        names = [self.catalog.pipeline(name).name for name in pipelines]
        self.state.lock()
        run = Run(self, names, once=once, trigger=trigger, close_windows=close_windows)
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
