"""The service without HTTP: one catalog, one state folder, one session."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, cast

from narrows.catalog.objects import Pipeline
from narrows.errors import Code, NarrowsError, fail
from narrows.planner.catalog import Answer, Catalog
from narrows.planner.query import plan
from narrows.service.declarations import Declarations
from narrows.service.inboxes import Inboxes
from narrows.service.letters import Letters
from narrows.service.lifecycle import Lifecycle
from narrows.service.queries import Queries, Rows
from narrows.service.samples import BatchTimes
from narrows.service.spark import BackgroundSession
from narrows.service.store import Declaration, ServiceStore, declaring_text
from narrows.sql.parser.script import parse_spans
from narrows.sql.parser.statements import (
    Analyze,
    CreateProjection,
    DropProjection,
    Explain,
    ExplainMode,
    RefreshProjection,
    Select,
    Start,
    Statement,
    Stop,
)
from narrows.state.folder import StateFolder

if TYPE_CHECKING:
    from narrows.spark.running.failures import Restart
    from narrows.spark.session import Session

OpenSession = Callable[[StateFolder, Catalog], "Session"]
Done = tuple[Statement, Answer | Rows]
_NEED_SPARK = (CreateProjection, RefreshProjection, DropProjection)


class StatementError(NarrowsError):
    """One of several statements failed."""

    def __init__(self, error: NarrowsError, executed: int) -> None:
        super().__init__(*error.problems, text=error.text, filename=error.filename)
        self.executed = executed
        """How many before it were executed, and stay so."""


class Service:
    def __init__(
        self,
        state: StateFolder,
        open_session: OpenSession,
        *,
        trigger: str = "1 second",
        restart: Restart = "transient",
        allowed: Sequence[Path] = (),
    ) -> None:
        self.state = state
        self.store = ServiceStore(state.path / "service")
        self.spark = BackgroundSession(lambda: open_session(state, self.catalog))
        self.pipelines = Lifecycle(state, self.store, self.spark, trigger=trigger, restart=restart)
        self.inboxes = Inboxes(state)
        self.declarations = Declarations(
            state, self.store, self.pipelines.running, allowed, self.inboxes
        )
        self.catalog = self.declarations.catalog
        self.queries = Queries(self.spark)
        self.letters = Letters(state)
        self.batch_times = BatchTimes(self.pipelines.active_runs)
        self.closing = self.pipelines.closing

    # --- its life ---------------------------------------------------------------------------------

    def open(self, files: Sequence[Path] = ()) -> None:
        """Takes the state folder, declares what was declared, and has Spark start."""
        self.state.lock()
        self.declarations.open()
        for file in files:
            self._load(file)
        self.pipelines.open()
        self.batch_times.watch(self.closing)

    def close(self) -> None:
        """Stops everything; what shall run starts again with the next service."""
        self.closing.set()
        self.queries.close()
        self.spark.close()
        self.inboxes.close_all()
        self.state.unlock()

    def _load(self, file: Path) -> None:
        """What a file declares is so afterwards, whatever was; what it starts, it starts the first
        time: what somebody has stopped since stays stopped."""
        try:
            sql = file.read_text("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise fail(Code.UNREADABLE_FILE, f"cannot read `{file}`: {error}") from None
        loaded = self.declarations.load(sql, replacing=True, filename=str(file))
        starts = [statement for statement in loaded if isinstance(statement, Start)]
        for name, _ in (pipeline for start in starts for pipeline in start.pipelines):
            if name.casefold() not in self.store.desired:
                self.store.desire(name, "running")

    # --- statements -------------------------------------------------------------------------------

    def execute(self, sql: str, limit: int = 1000, seconds: float = 60.0) -> list[Done]:
        """Executes statements in order. What was executed before one that fails stays executed."""
        done: list[Done] = []
        try:
            for statement, span in parse_spans(sql):
                answer: Answer | Rows = None
                if isinstance(statement, Select):
                    answer = self.query(sql[span.start : span.end], limit, seconds)
                elif isinstance(statement, Declaration):
                    self.declarations.declare(statement, declaring_text(statement, sql, span))
                else:
                    answer = self._execute(statement, sql[span.start : span.end], seconds)
                done.append((statement, answer))
            return done
        except NarrowsError as error:
            raise StatementError(error.located(sql), len(done)) from error

    def _execute(self, statement: Statement, sql: str, seconds: float) -> Answer:
        match statement:
            case Start(pipelines=pipelines):
                for name, span in pipelines:
                    self.start(self.catalog.pipeline(name, span))
                return None
            case Stop(pipelines=pipelines):
                for name, span in pipelines:
                    self.pipelines.stop(self.catalog.pipeline(name, span).name)
                return None
        explains = isinstance(statement, Explain) and statement.mode is ExplainMode.ANALYZE
        if explains or isinstance(statement, Analyze):  # they read as much as a query does
            return cast(
                "Answer",
                self.queries.call(lambda s: s.execute_statement(statement), sql, seconds),
            )
        needs_spark = isinstance(statement, _NEED_SPARK)
        session = self.spark.get() if needs_spark else self.spark.now
        if session is None:
            return self.catalog.execute_statement(statement)
        return cast("Answer", self.spark.call(session.execute_statement, statement))

    def start(self, pipeline: Pipeline) -> None:
        """Starts a pipeline that is still declared."""
        with self.declarations.lock:
            self.catalog.pipeline(pipeline.name)
        self.pipelines.start(pipeline.name)

    # --- queries ----------------------------------------------------------------------------------

    def query(self, sql: str, limit: int, seconds: float, id: str | None = None) -> Rows:
        plan(sql, self.catalog)  # what is wrong with it needs no Spark to be said
        return self.queries.run(sql, limit, seconds, id)

    def test(self, sql: str, rows: Mapping[str, Any], limit: int, seconds: float) -> Rows:
        """The rows of a query over rows that are given here."""
        plan(sql, self.catalog)
        with TemporaryDirectory(prefix="narrows-test-") as folder:
            return self.queries.run_frame(
                lambda session: session.query_given(sql, rows, Path(folder)), sql, limit, seconds
            )
