"""A session: a catalog whose statements run on Spark."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession

from narrows.catalog.declare import declared_source
from narrows.catalog.describe import ResultTable
from narrows.catalog.in_use import refuse_changes, refuse_running
from narrows.catalog.measured import NOTHING_MEASURED, Measured
from narrows.catalog.objects import Source
from narrows.errors import Code, NarrowsError, Span, fail
from narrows.explain.plan import Plan
from narrows.logical.builder.on_change import check_on_change
from narrows.logical.nodes import Node
from narrows.logical.walk import sources_of, transform_up
from narrows.physical.nodes import PhysicalSharedStream
from narrows.planner.catalog import Answer, Catalog
from narrows.planner.query import plan_query
from narrows.plugins.options import Option, OptionValue
from narrows.plugins.registry import CONNECTORS
from narrows.schema import Struct
from narrows.shared.info import SharedStreamInfo, shared_stream_info
from narrows.spark.compile.context import Context
from narrows.spark.read.measured import KeyRepeats, source_size
from narrows.spark.read.payload_frame import PayloadFrame
from narrows.spark.read.table import TableReads
from narrows.spark.run.analyze import explain_analyze
from narrows.spark.run.embedded import embedded_session, stop_session
from narrows.spark.run.executor_package import ship_package
from narrows.spark.run.given_rows import Rows as GivenRows
from narrows.spark.run.given_rows import query_given_rows
from narrows.spark.run.pipeline_run import RUNNING
from narrows.spark.run.projections import Projections
from narrows.spark.run.query_counts import QueryCounts
from narrows.spark.run.run import Run, rows_of
from narrows.spark.run.session_tables import SessionTables
from narrows.spark.run.table_statistics import count_table, load_statistics, save_statistics
from narrows.spark.running.failures import Restart
from narrows.spark.running.supervisor import Supervisor
from narrows.spark.shared.streams import READY_SECONDS, SharedStreams, pause
from narrows.sql.parser.script import parse, parse_query
from narrows.sql.parser.statements import (
    Analyze,
    CreateProjection,
    CreateSource,
    Describe,
    DropProjection,
    Explain,
    ExplainMode,
    ObjectKind,
    Query,
    RefreshProjection,
    Select,
    Start,
    Statement,
    Stop,
)
from narrows.sql.parser.types import read_schema
from narrows.sql.scope import Name
from narrows.state.before_start import check_settings
from narrows.state.folder import StateFolder
from narrows.worker.counts import ReadCounts


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
    owned, catalog = spark is None, catalog or Catalog()
    lasting = sum(each.tasks for each in catalog.pipelines if each.wants_low_latency)
    if lasting:  # a shared stream needs one more, which decodes for all
        lasting += sum(source.shared for source in catalog.sources)
    return Session(
        spark or embedded_session(master, conf or {}, Path(state) / "spark.log", lasting),
        state=StateFolder(state),
        pruning=pruning,
        catalog=catalog,
        owns_spark=owned,
    )


class Session:
    """Statements, queries and running pipelines. Use it in a `with` block, or `close()` it.

    Several threads may use one: the catalog changes under a lock, and pipelines start and stop
    independently of each other.
    """

    def __init__(
        self,
        spark: SparkSession,
        *,
        state: StateFolder,
        pruning: bool,
        catalog: Catalog,
        owns_spark: bool,
        looks_elsewhere: bool = True,
    ) -> None:
        """`looks_elsewhere`: queries may name views, tables and functions of the Spark session, and
        files by their paths."""
        self.spark = spark
        self.catalog = catalog
        self.state = state
        self._owns_spark = owns_spark
        self._frames: dict[str, PayloadFrame] = {}
        self._runs: list[Run] = []
        self._starting: set[str] = set()
        self._lock = threading.RLock()
        self._context = Context(
            spark, state, pruning, TableReads(spark), self._frames, f"query-{uuid4().hex}"
        )
        self._counts = QueryCounts(state, self._context.queries)
        self._supervisor = Supervisor(self._own_thread)
        self._shared = SharedStreams(self._context, self._supervisor)
        self._projections = Projections(self._context, catalog)
        self._tables = SessionTables(spark)
        catalog.is_ansi = self._is_ansi
        catalog.setting = self._setting
        catalog.measured = Measured(source_size, KeyRepeats())
        if looks_elsewhere:
            catalog.elsewhere = self._tables
            catalog.functions.elsewhere = self._tables.function
            catalog.functions.variables = self._tables.variable
        ship_package(spark)

    @property
    def timezone(self) -> str:
        """The zone of timestamps that name none, and of those that are written."""
        return self._context.timezone

    # --- statements -------------------------------------------------------------------------------

    def execute(self, sql: str, filename: str | None = None) -> list[Answer | DataFrame | Run]:
        """Executes statements in order; the answers of all of them."""
        try:
            return [self.execute_statement(statement) for statement in parse(sql, filename)]
        except NarrowsError as error:
            raise error.located(sql, filename) from None

    def execute_statement(self, statement: Statement) -> Answer | DataFrame | Run:
        refuse_changes(self.catalog, self.running, statement)
        match statement:
            case Select(query=query):
                return self._frame(query)
            case Start(pipelines=pipelines):
                return self.start(*(name for name, _ in pipelines))
            case Stop(pipelines=pipelines):
                self.stop(*(name for name, _ in pipelines))
                return None
            case Explain(shared_stream=(name, span)):
                return self._shared_info(name, span).explain()
            case Explain(pipeline=(name, span), mode=mode):
                plan = self.catalog.plan_pipeline(self.catalog.pipeline(name, span).name)
                return self._with_ingest(plan).explain(mode)
            case Describe(name=name) if self._is_shared(statement):
                info = self._shared_info(name, statement.name_span)
                described = self.catalog.execute_statement(statement)
                assert isinstance(described, ResultTable)
                return ResultTable(described.columns, (*described.rows, *info.rows()))
            case Explain(mode=ExplainMode.ANALYZE, query=query) if query is not None:
                self._projections.check()
                plan = plan_query(query, self.catalog, pruning=self._context.pruning)
                return explain_analyze(self._context, plan)
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
                with self._lock:
                    answer = self.catalog.execute_statement(statement)
                    self._remember_statistics(created)
                    return answer
            case _:
                with self._lock:
                    self._projections.check()
                    return self.catalog.execute_statement(statement)

    @property
    def running(self) -> list[str]:
        """The names of the pipelines that run."""
        statuses = [status for run in list(self._runs) for status in run.status.items()]
        return [name for name, status in statuses if status == RUNNING]

    # --- shared streams ---------------------------------------------------------------------------

    def shared_stream(self, name: str) -> SharedStreamInfo:
        """What is decoded of a shared stream at the moment, and for whom."""
        return self._shared_info(name, None)

    def _shared_info(self, name: str, span: Span | None) -> SharedStreamInfo:
        source = self.catalog.find_source(Name(name, span))
        if not source.shared:
            hint = "declare it with `shared = true`"
            raise fail(Code.NOT_SUPPORTED, f"`{source.name}` is not a shared stream", span, hint)
        return shared_stream_info(source, self.state.shared(source.name))

    def _is_shared(self, statement: Describe) -> bool:
        described = self.catalog.described(statement)
        return isinstance(described, Source) and described.shared

    def _with_ingest(self, plan: Plan) -> Plan:
        """The plan, with what the shared streams below it decode at the moment."""

        def show(node: Node) -> Node | None:
            if not isinstance(node, PhysicalSharedStream):
                return None
            info = shared_stream_info(node.source, self.state.shared(node.source.name))
            return replace(node, ingest=info.ingest if info.version else None)

        return replace(plan, physical=transform_up(plan.physical, show) or plan.physical)

    # --- queries ----------------------------------------------------------------------------------

    def query(self, sql: str) -> DataFrame:
        """The rows of a query over what is there now, as a data frame."""
        return self._frame(parse_query(sql))

    def _frame(self, query: Query) -> DataFrame:
        self._projections.check()
        plan = plan_query(query, self.catalog, pruning=self._context.pruning)
        self._counts.begin([node.source.name for node in sources_of(plan.logical)])
        return self._context.query(plan)

    def query_given(self, sql: str, rows: GivenRows, folder: Path) -> DataFrame:
        """The rows of a query over the given rows of its sources, which are written to the folder;
        neither sources nor sinks are touched."""
        return query_given_rows(self._context, self.catalog, sql, rows, folder)

    def query_counts(self) -> dict[str, ReadCounts]:
        """What has been read for the last query, by source: payloads, and how many of them were
        bad; values that were not of their type. It is complete when the query has ended, and leaves
        out what a LIMIT did not read to its end."""
        return self._counts.read()

    # --- statistics -------------------------------------------------------------------------------

    def analyze(self, table: str, span: Span | None = None) -> None:
        """Counts rows, widths, distinct values and NULLs of a table, for the planner."""
        source = self.catalog.find_source(Name(table, span))
        if not source.bounded or source.comes_as_frame:
            raise fail(
                Code.NOT_SUPPORTED,
                f"`{source.name}` has no statistics: only tables that we read can be analyzed",
                span,
            )
        counted = count_table(source, self.query)
        save_statistics(self.state.table_statistics(source.name), counted)
        self.catalog.add_source(replace(source, statistics=counted))

    def _remember_statistics(self, name: str) -> None:
        """What was counted in an earlier session, if the table has not changed since."""
        source = self.catalog.find_source(Name(name, None))
        if source.bounded and not source.comes_as_frame:
            counted = load_statistics(self.state.table_statistics(source.name), source)
            self.catalog.add_source(replace(source, statistics=counted))

    # --- sources ----------------------------------------------------------------------------------

    def register(
        self,
        name: str,
        frame: DataFrame,
        schema: str | Struct | None = None,
        payload: str = "value",
        **options: OptionValue,
    ) -> None:
        """Makes a data frame a table, or its payloads - of Kafka, Delta, anything - a source.

        Without a schema it is a table of the frame's columns, of which Spark reads those that are
        used. With one, `payload` is the column that holds payloads, and `schema` what is in them.
        A streaming data frame makes a stream, any other a table. Options are those that all sources
        have: `format` and its own, `on_error`, `eventtime`, `eventtime_unit`, `watermark`; of a
        stream also `shared`, `start_at`, `on_change` and `on_change_by`.
        """
        if schema is None:
            self._register_rows(name, frame, options)
            return
        payloads = PayloadFrame(frame, payload)
        statement = CreateSource(
            name=name,
            name_span=Span(0, 0),
            kind=ObjectKind.STREAM if frame.isStreaming else ObjectKind.TABLE,
            schema=read_schema(schema) if isinstance(schema, str) else schema,
            options={key: Option(value) for key, value in options.items()},
        )
        source = declared_source(statement, CONNECTORS.find("dataframe"))
        check_on_change(source, statement.options, self.catalog.functions)
        self.catalog.add_source(source)
        self._frames[name.casefold()] = payloads

    def register_function(
        self,
        name: str,
        function: Callable[..., Any],
        returns: str = "string",
        looks: Sequence[str] = (),
    ) -> None:
        """Makes a Python function one that queries may call.

        `looks` says what it looks at, one argument after the other, so that no more is decoded for
        it: a type that has those fields (`STRUCT<c: BIGINT>`), or `length`, `presence`, `nothing`,
        `all`. Fields that it did not name are NULL. What nothing is said of it gets whole.
        """
        self.catalog.add_function(name, looks=looks, returns=returns)
        self.spark.udf.register(name, function, returns)

    def _register_rows(
        self, name: str, frame: DataFrame, options: Mapping[str, OptionValue]
    ) -> None:
        if options:
            raise fail(
                Code.UNKNOWN_OPTION,
                f"options ({', '.join(options)}) are for payloads, and `{name}` has columns",
                hint="give a schema of what is in the payloads",
            )
        self._tables.register(name, frame)

    # --- pipelines --------------------------------------------------------------------------------

    def start(
        self,
        *pipelines: str,
        once: bool = False,
        trigger: str = "1 second",
        start_at: str | None = None,
        ready_timeout: float = READY_SECONDS,
        close_windows: bool = True,
        restart: Restart = "transient",
    ) -> Run:
        """Starts pipelines: on what is there now (`once`), or until they are stopped.

        `start_at` is where a new pipeline begins on a shared stream: `latest`, or `earliest` for
        what is still there; what the stream says is the default. Its stream must have begun to
        decode what it needs within `ready_timeout` seconds.

        At the end of what is there, open windows close; or, without `close_windows`, they stay
        open for the rows of a later run.

        A pipeline that fails is started again, with pauses that grow: after failures of a busy
        machine (`transient`), after any (`always`), or `never`.
        """
        names = [self.catalog.pipeline(name).name for name in pipelines]
        check_settings(trigger, start_at)
        with self._only_starts(names):
            self.state.lock()
            if threading.current_thread() is not threading.main_thread():
                self._own_thread()
            run = Run(
                self._context,
                self._shared,
                self._supervisor,
                self.catalog,
                names,
                once=once,
                trigger=trigger,
                start_at=start_at,
                ready_timeout=ready_timeout,
                close_windows=close_windows,
                restart=restart,
            )
            with self._lock:
                # What has ended, and was started again or dropped, is history.
                declared = {pipeline.name for pipeline in self.catalog.pipelines} - set(names)
                self._runs = [r for r in self._runs if r.is_running or r.has_any_of(declared)]
                self._runs.append(run)
        return run

    def _own_thread(self) -> None:
        """Makes our Spark session that of this thread: by it Spark finds the clock, a Python data
        source, when a query is started."""
        self.spark.createDataFrame([], "nothing INT")

    @contextmanager
    def _only_starts(self, names: Sequence[str]) -> Iterator[None]:
        """Refuses pipelines that run, or are being started by somebody else at this moment."""
        keys = [name.casefold() for name in names]
        with self._lock:
            for place, name in enumerate(names):
                if name.casefold() in keys[:place]:
                    raise fail(Code.DUPLICATE_OBJECT, f"pipeline `{name}` is named twice")
                refuse_running({*self.running, *self._starting}, name, "is running already")
            self._starting |= set(keys)
        try:
            yield
        finally:
            with self._lock:
                self._starting -= set(keys)

    def stop(self, *pipelines: str) -> None:
        for run in list(self._runs):
            run.stop(*pipelines)

    def rows(self, sink: str) -> list[dict[str, Any]]:
        """The rows that pipelines have written to a console or memory sink."""
        return rows_of(self.catalog.sink(sink), self.state)

    @property
    def runs(self) -> Sequence[Run]:
        return self._runs

    # --- end --------------------------------------------------------------------------------------

    def close(self, finish: float = 0.0) -> None:
        """Stops what runs, and Spark if it is ours. Micro-batches that run have so many seconds to
        end by themselves."""
        deadline = time.monotonic() + finish
        pipelines = [pipeline for run in self._runs for pipeline in run.pipelines]
        pause(pipeline.reads for pipeline in pipelines if pipeline.reads is not None)
        for pipeline in pipelines:
            pipeline.end_soon()
        for pipeline in pipelines:
            pipeline.finish(deadline)
        for run in self._runs:
            run.stop()
        self._counts.forget()
        self.state.unlock()
        if self._owns_spark:
            stop_session(self.spark)
        else:
            self._context.tables.forget()
            self._tables.forget()
        if self.catalog.is_ansi == self._is_ansi:
            self.catalog.is_ansi = lambda: False
            self.catalog.setting = lambda key: None
            self.catalog.measured = NOTHING_MEASURED
        if self.catalog.elsewhere is self._tables:
            self.catalog.elsewhere = self.catalog.functions.elsewhere = None
            self.catalog.functions.variables = None

    def _is_ansi(self) -> bool:
        return self._setting("spark.sql.ansi.enabled") in (None, "true")

    def _setting(self, key: str) -> str | None:
        return self.spark.conf.get(key, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
