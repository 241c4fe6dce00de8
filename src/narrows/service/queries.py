"""Bounded queries: rows over what is there now, as many as asked for, within a time.

    waiting ──► running ──► answered
       │           │
       └───────────┴──► cancelled, or too late: answered at once ──► stopping ──► gone

Whoever asked is answered when the time is over or somebody cancels it, whatever the query does. It
is then interrupted until it has ended, again and again, because it may be about to begin another
job. Until then it keeps its place among the few that may run, and everybody can see it there.
"""

from __future__ import annotations

import json
import logging
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from narrows.errors import Code, NarrowsError, fail
from narrows.service.spark import BackgroundSession

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from narrows.spark.run.apart import ApartSession
    from narrows.spark.session import Session

LOG = logging.getLogger("narrows.service")
T = TypeVar("T")
Frame = Callable[["Session"], "DataFrame"]
"""What makes the data frame of a query; it runs in a thread that may talk to Spark."""
Work = Callable[["Session", "RunningQuery"], Any]
QueryState = Literal["waiting", "running", "stopping"]

_RUNNING = 8
"""Queries that run at the same time; each of them has a thread, here and in the JVM."""
_ADMITTED = 24
"""Queries at all. The others wait, each in a thread of the HTTP server's, which has 40."""
_AGAIN_SECONDS = 0.5


@dataclass(frozen=True)
class Rows:
    columns: list[tuple[str, str]]
    """Names and types."""
    rows: list[dict[str, Any]]
    more: bool
    """Were there more than asked for?"""


@dataclass(eq=False)
class RunningQuery:
    id: str
    sql: str
    started: float = field(default_factory=time.time)
    state: QueryState = "waiting"
    outcome: Future[Any] = field(default_factory=Future)
    """What whoever asked is waiting for."""
    apart: ApartSession | None = None
    """Where its jobs are; None while it has none."""
    interrupting: threading.Lock = field(default_factory=threading.Lock)
    """Held while it is interrupted, for what comes after it in the same place must not be."""

    @property
    def is_stopping(self) -> bool:
        return self.state == "stopping"

    def rows(self, session: Session, frame: Frame, read: Callable[[DataFrame], T]) -> T:
        """Reads the rows of a data frame in the place where they can be interrupted."""
        assert self.apart is not None
        made = frame(session)
        if self.is_stopping:  # while it was planned; there is no job to be interrupted
            raise fail(Code.CANCELLED, "nobody waits for the query any more")
        with self.apart.rows(made) as rows:
            return read(rows)


class Queries:
    """The queries that have not ended."""

    def __init__(self, spark: BackgroundSession) -> None:
        self._spark = spark
        self._work: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._of_thread = threading.local()
        self._known: dict[str, RunningQuery] = {}
        self._lock = threading.Lock()
        self._interrupter: threading.Thread | None = None

    def known(self) -> list[RunningQuery]:
        with self._lock:
            return list(self._known.values())

    def run(self, sql: str, limit: int, seconds: float, id: str | None = None) -> Rows:
        return self.run_frame(lambda session: session.query(sql), sql, limit, seconds, id)

    def run_frame(
        self, frame: Frame, sql: str, limit: int, seconds: float, id: str | None = None
    ) -> Rows:
        """The rows as they are written to JSON by sinks."""

        def rows(session: Session, query: RunningQuery) -> Rows:
            return query.rows(session, frame, lambda found: _read(found, limit, session.timezone))

        return cast("Rows", self._within(rows, sql, seconds, id))

    def arrow(self, sql: str, limit: int, seconds: float, id: str | None = None) -> pa.Table:
        def table(session: Session, query: RunningQuery) -> pa.Table:
            return query.rows(
                session, lambda s: s.query(sql), lambda found: found.limit(limit).toArrow()
            )

        return self._within(table, sql, seconds, id)

    def call(self, call: Callable[[Session], T], sql: str, seconds: float) -> T:
        """Has something done that takes as long as a query. It cannot be interrupted."""
        return cast("T", self._within(lambda session, _: call(session), sql, seconds, None))

    def cancel(self, id: str) -> None:
        with self._lock:
            query = self._known.get(id)
        if query is None:
            raise fail(Code.UNKNOWN_OBJECT, f"no query is called `{id}`")
        self._give_up(query, fail(Code.CANCELLED, "the query was cancelled"))

    def close(self) -> None:
        """Nobody is waited for any more."""
        for query in self.known():
            self._give_up(query, fail(Code.CANCELLED, "the service ends"))

    # --- how --------------------------------------------------------------------------------------

    def _within(self, work: Work, sql: str, seconds: float, id: str | None) -> Any:
        deadline = time.monotonic() + seconds
        query = self._admit(sql, id or uuid.uuid4().hex)
        try:
            session = self._spark.get(seconds)
            self._submit(lambda: self._run(query, session, work))
        except BaseException:
            self._forget(query)
            raise
        try:
            return query.outcome.result(max(0.0, deadline - time.monotonic()))
        except TimeoutError:
            if not query.outcome.done():
                message = f"the query did not end within {seconds:g} seconds"
                late = fail(Code.TIMED_OUT, message, hint="give it more with `timeout`")
                self._give_up(query, late)
            return query.outcome.result(0)

    def _admit(self, sql: str, id: str) -> RunningQuery:
        with self._lock:
            if id in self._known:
                raise fail(Code.DUPLICATE_OBJECT, f"a query called `{id}` is running")
            if len(self._known) >= _ADMITTED:
                message = f"{len(self._known)} queries run or wait already"
                hint = "`GET /queries` lists them, `DELETE /queries/ID` ends one"
                raise fail(Code.TOO_MANY_QUERIES, message, hint=hint)
            query = self._known[id] = RunningQuery(id, sql)
            return query

    def _forget(self, query: RunningQuery) -> None:
        with self._lock:
            self._leave(query)

    def _leave(self, query: RunningQuery) -> None:
        if self._known.get(query.id) is query:
            del self._known[query.id]

    def _settle(self, query: RunningQuery, result: Any, error: BaseException | None) -> None:
        """Answers whoever asked, unless somebody else has."""
        with self._lock:
            if query.outcome.done():
                return
            self._leave(query)
            if error is not None:
                query.outcome.set_exception(error)
            else:
                query.outcome.set_result(result)

    def _give_up(self, query: RunningQuery, error: NarrowsError) -> None:
        """Answers whoever asked, and has the query end."""
        with self._lock:
            if query.outcome.done():
                return
            query.outcome.set_exception(error)
            if query.state == "waiting":
                self._leave(query)
                return
            query.state = "stopping"
            if self._interrupter is None:
                self._interrupter = threading.Thread(
                    target=self._interrupt, name="narrows-interrupts", daemon=True
                )
                self._interrupter.start()

    def _interrupt(self) -> None:
        """Interrupts those that shall end until they have."""
        pause = threading.Event()
        while stopping := self._stopping():
            for query in stopping:
                with query.interrupting:
                    try:
                        if query.apart is not None:
                            query.apart.interrupt()
                    except Exception as error:
                        LOG.warning("query %s could not be interrupted: %s", query.id, error)
            pause.wait(_AGAIN_SECONDS)

    def _stopping(self) -> list[RunningQuery]:
        with self._lock:
            found = [query for query in self._known.values() if query.is_stopping]
            if not found:
                self._interrupter = None
            return found

    # --- in threads of their own ------------------------------------------------------------------

    def _submit(self, work: Callable[[], None]) -> None:
        """Has it done when one of the threads is free. They are daemons: what one of them waits
        for may never come, and the service ends all the same."""
        with self._lock:
            if len(self._threads) < _RUNNING:
                name = f"narrows-query-{len(self._threads)}"
                self._threads.append(threading.Thread(target=self._serve, name=name, daemon=True))
                self._threads[-1].start()
        self._work.put(work)

    def _serve(self) -> None:
        while True:
            try:
                self._work.get()()
            except Exception as error:
                LOG.warning("a query could not be ended: %s", error)

    def _run(self, query: RunningQuery, session: Session, work: Work) -> None:
        with self._lock:
            if query.outcome.done():
                return  # while it waited
            query.state = "running"
        apart: ApartSession | None = None
        try:
            query.apart = apart = self._apart(session)
            self._settle(query, work(session, query), None)
        except BaseException as error:
            self._settle(query, None, _for_people(error))
        try:
            with query.interrupting:
                query.apart = None
            if query.is_stopping and apart is not None:
                apart.await_core()  # its last tasks may still have all of them
        finally:
            self._forget(query)

    def _apart(self, session: Session) -> ApartSession:
        from narrows.spark.run.apart import ApartSession

        if not hasattr(self._of_thread, "apart"):
            self._of_thread.apart = ApartSession(session.spark)
        return cast("ApartSession", self._of_thread.apart)


def _read(found: DataFrame, limit: int, timezone: str) -> Rows:
    from narrows.spark.write.json_lines import json_frame

    columns = [(f.name, f.dataType.simpleString()) for f in found.schema.fields]
    lines = [row[0] for row in json_frame(found.limit(limit + 1), timezone).collect()]
    kept = [json.loads(line) for line in lines[:limit]]
    return Rows(columns, kept, more=len(lines) > limit)


def _for_people(error: BaseException) -> BaseException:
    """What Spark says, in one line."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    from narrows.spark.running.failures import reason_of

    if isinstance(error, PySparkException | Py4JError):
        failed = fail(Code.QUERY_FAILED, f"the query failed: {reason_of(error)}")
        failed.__cause__ = error
        return failed
    return error
