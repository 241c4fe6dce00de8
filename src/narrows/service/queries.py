"""Bounded queries: rows over what is there now, as many as asked for, within a time.

A query has a name, given by whoever asks or by us. Its jobs are tagged with it, so that it can be
cancelled - by its name, or because its time is over - and no other query with it.
"""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from narrows.errors import Code, fail
from narrows.service.spark import BackgroundSession

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from narrows.spark.session import Session

T = TypeVar("T")
Frame = Callable[["Session"], "DataFrame"]
"""What makes the data frame of a query; it runs in a thread that may talk to Spark."""


@dataclass(frozen=True)
class Rows:
    columns: list[tuple[str, str]]
    """Names and types."""
    rows: list[dict[str, Any]]
    more: bool
    """Were there more than asked for?"""


@dataclass
class RunningQuery:
    id: str
    sql: str
    started: float = field(default_factory=time.time)
    cancelled: bool = False


class Queries:
    """The queries that run at the moment."""

    def __init__(self, spark: BackgroundSession) -> None:
        self._spark = spark
        self._running: dict[str, RunningQuery] = {}
        self._lock = threading.Lock()

    def running(self) -> list[RunningQuery]:
        with self._lock:
            return list(self._running.values())

    def run(self, sql: str, limit: int, seconds: float, id: str | None = None) -> Rows:
        return self.run_frame(lambda session: session.query(sql), sql, limit, seconds, id)

    def run_frame(
        self, frame: Frame, sql: str, limit: int, seconds: float, id: str | None = None
    ) -> Rows:
        """The rows as they are written to JSON by sinks."""

        def rows(session: Session) -> Rows:
            from narrows.spark.write.json_lines import json_lines

            found = frame(session)
            columns = [(f.name, f.dataType.simpleString()) for f in found.schema.fields]
            lines = list(json_lines(found.limit(limit + 1), session.timezone))
            kept = [json.loads(line) for line in lines[:limit]]
            return Rows(columns, kept, more=len(lines) > limit)

        return self._within(rows, sql, seconds, id)

    def arrow(self, sql: str, limit: int, seconds: float, id: str | None = None) -> pa.Table:
        def table(session: Session) -> pa.Table:
            return session.query(sql).limit(limit).toArrow()

        return self._within(table, sql, seconds, id)

    def cancel(self, id: str) -> None:
        with self._lock:
            query = self._running.get(id)
            if query is None:
                raise fail(Code.UNKNOWN_OBJECT, f"no query is called `{id}`")
            query.cancelled = True
        session = self._spark.now
        if session is not None:
            self._spark.call(session.spark.interruptTag, _tag(id))

    # --- how --------------------------------------------------------------------------------------

    def _within(self, call: Callable[[Session], T], sql: str, seconds: float, id: str | None) -> T:
        query = self._admit(sql, id or uuid.uuid4().hex)
        deadline = time.monotonic() + seconds
        try:
            session = self._spark.get(seconds)
            future: Future[T] = self._spark.submit(_tagged, session, _tag(query.id), call)
            try:
                return future.result(max(0.0, deadline - time.monotonic()))
            except TimeoutError:
                future.cancel()
                self._spark.call(session.spark.interruptTag, _tag(query.id))
                message = f"the query did not end within {seconds:g} seconds"
                raise fail(Code.TIMED_OUT, message, hint="give it more with `timeout`") from None
            except Exception:
                if query.cancelled:
                    raise fail(Code.CANCELLED, "the query was cancelled") from None
                raise
        finally:
            with self._lock:
                self._running.pop(query.id, None)

    def _admit(self, sql: str, id: str) -> RunningQuery:
        with self._lock:
            if id in self._running:
                raise fail(Code.DUPLICATE_OBJECT, f"a query called `{id}` is running")
            query = self._running[id] = RunningQuery(id, sql)
            return query


def _tagged(session: Session, tag: str, call: Callable[[Session], T]) -> T:
    session.spark.addTag(tag)
    try:
        return call(session)
    finally:
        session.spark.removeTag(tag)


def _tag(id: str) -> str:
    return f"narrows-query-{uuid.uuid5(uuid.NAMESPACE_OID, id).hex}"  # Spark wants no commas in it
