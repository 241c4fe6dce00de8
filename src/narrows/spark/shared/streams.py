"""The shared streams of a session, and the pipelines that run on them.

Pipelines that are started together are registered with all their streams before any of them reads,
and begin when what is decoded covers what they need. One thread looks after all of it: leases,
jobs that take too long, entries that nobody needs any more, pipelines that have come to their end.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.errors import PySparkException

from narrows.catalog.objects import Source
from narrows.demand import Demand
from narrows.errors import Code, fail
from narrows.files.names import name_of
from narrows.shared.registry import Registered, pipeline_of
from narrows.spark.compile.context import Context
from narrows.spark.shared.query import SharedQuery
from narrows.spark.shared.stream import SharedStream
from narrows.spark.streaming.failures import reason_of

READY_SECONDS = 120.0
_LOOK_SECONDS = 0.1


@dataclass
class SharedStreams:
    """All shared streams of a session."""

    context: Context
    _streams: dict[str, SharedStream] = field(default_factory=dict)
    _queries: list[SharedQuery] = field(default_factory=list)
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _thread: threading.Thread | None = None

    def stream(self, source: Source) -> SharedStream:
        """The stream by its declaration; a new one when the declaration has changed."""
        with self._lock:
            known = self._streams.get(source.name.casefold())
            if known is None or (known.source is not source and not known.consumers):
                known = SharedStream(self.context, source)
                self._streams[source.name.casefold()] = known
            return known

    def start(
        self,
        queries: Sequence[SharedQuery],
        *,
        once: bool,
        trigger: str,
        start_at: str | None,
        timeout: float,
    ) -> None:
        """Starts pipelines together; when one of them cannot begin, none does."""
        demands: dict[str, tuple[SharedStream, dict[str, Demand]]] = {}
        for read in (read for query in queries for read in query.reads):
            name = read.stream.source.name
            demands.setdefault(name, (read.stream, {}))[1][read.consumer] = read.demand
        found: dict[str, dict[str, Registered]] = {}
        self._refuse_running(queries)
        try:
            with self._lock:
                for query in queries:
                    query.prepare(once=once)
                for name, (stream, wanted) in demands.items():
                    found[name] = stream.register(
                        wanted, once=once, trigger=trigger, start_at=start_at
                    )
            self._await_ready(list(demands.values()), timeout)
            with self._lock:
                for query in queries:
                    names = {read.stream.source.name for read in query.reads}
                    query.begin({c: r for name in names for c, r in found[name].items()})
                    self._queries.append(query)
                self._look_after()
        except BaseException:
            with self._lock:
                for query in queries:
                    if query in self._queries:
                        query.stop()
                for stream, wanted in demands.values():
                    stream.unregister(*wanted)
            raise

    def _refuse_running(self, queries: Sequence[SharedQuery]) -> None:
        running = {query.name.casefold() for query in self._queries}
        for query in queries:
            if query.name.casefold() in running:
                hint = f"stop it first: `STOP PIPELINE {query.name}`"
                message = f"pipeline `{query.name}` is running already"
                raise fail(Code.OBJECT_IN_USE, message, None, hint)

    def _await_ready(
        self, demands: Sequence[tuple[SharedStream, Mapping[str, Demand]]], timeout: float
    ) -> None:
        pause, deadline = threading.Event(), time.monotonic() + timeout
        waiting = [(stream, c, d) for stream, wanted in demands for c, d in wanted.items()]
        while waiting:
            waiting = [(stream, c, d) for stream, c, d in waiting if not stream.covers(d)]
            for stream, _, _ in waiting:
                if stream.failure is not None:
                    reason = reason_of(stream.failure)
                    message = f"shared stream `{stream.source.name}`: {reason}"
                    raise fail(Code.PIPELINE_FAILED, message)
            if waiting and time.monotonic() > deadline:
                stream, consumer, _ = waiting[0]
                raise fail(
                    Code.NOT_READY,
                    f"shared stream `{stream.source.name}` did not begin to decode what pipeline"
                    f" `{name_of(pipeline_of(consumer))}` needs within {timeout:g} seconds",
                    None,
                    "its ingest may be busy with a large micro-batch: see `max_bytes_per_trigger`,"
                    " or wait longer with `session.start(..., ready_timeout=...)`",
                )
            if waiting:
                with self._lock:
                    for stream, _, _ in waiting:
                        stream.ensure_ingest()
                pause.wait(0.05)

    def ended(self, query: SharedQuery) -> None:
        """A pipeline has come to its end: the streams need not decode for it any more."""
        with self._lock:
            try:
                query.halt()
                if query in self._queries:
                    self._queries.remove(query)
                    for read in query.reads:
                        failed = query.exception() is not None
                        read.stream.unregister(read.consumer, failed=failed)
            finally:
                query.end()

    def close(self) -> None:
        """Stops what still runs."""
        for query in list(self._queries):
            query.stop()

    # --- looking after all of it ------------------------------------------------------------------

    def _look_after(self) -> None:
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(
                target=self._run, name="narrows-shared-streams", daemon=True
            )
            self._thread.start()

    def _run(self) -> None:
        # Spark finds the clock, a Python data source, by the session of the thread that starts a
        # query, and this is what makes ours the session of this thread.
        self.context.spark.createDataFrame([], "nothing INT")
        pause = threading.Event()
        while self._tend():
            pause.wait(_LOOK_SECONDS)

    def _tend(self) -> bool:
        with self._lock:
            for stream in self._streams.values():
                if stream.consumers:
                    self._tend_stream(stream)
            for query in list(self._queries):
                try:
                    if query.tend():
                        self.ended(query)
                except Exception as error:
                    query.fail(error)  # and, with the next look, ended
            if not self._queries:
                self._thread = None
            return bool(self._queries)

    def _tend_stream(self, stream: SharedStream) -> None:
        problem: BaseException | None = None
        try:
            stream.tend()
            if stream.failure is not None:
                problem = PySparkException(stream.failure)
        except Exception as error:
            problem = error
        if problem is not None:
            for query in self._queries:
                if any(read.stream is stream for read in query.reads):
                    query.fail(problem)
