"""The shared streams of a session, and the pipelines that run on them.

Pipelines that are started together are registered with all their streams before any of them reads,
and begin when what is decoded covers what they need. One thread looks after all of it: leases,
jobs that take too long, entries that nobody needs any more, pipelines that have come to their end.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException
from pyspark.sql.streaming.query import StreamingQuery

from narrows.demand import Demand
from narrows.demand_text import leaves_text
from narrows.errors import Code, fail
from narrows.shared.registry import Registered
from narrows.spark.failures import reason_of
from narrows.spark.group import Member
from narrows.spark.shared_stream import Remaining, SharedStream

if TYPE_CHECKING:
    from narrows.catalog.objects import Source
    from narrows.spark.session import Session

READY_SECONDS = 120.0
_LOOK_SECONDS = 0.1


@dataclass
class Reads:
    """One place in a plan where a shared stream is read."""

    stream: SharedStream
    consumer: str
    demand: Demand


class SharedQuery:
    """A running pipeline on shared streams; to whoever looks, like a streaming query of Spark."""

    def __init__(
        self,
        streams: SharedStreams,
        name: str,
        reads: Sequence[Reads],
        *,
        member: Member | None = None,
        start: Callable[[], StreamingQuery] | None = None,
    ) -> None:
        """Either a member of its stream's group, or the start of a query of its own."""
        self.name = name
        self.reads = reads
        self.member = member
        self.began: Mapping[str, Registered] = {}
        self._streams = streams
        self._start = start
        self._query: StreamingQuery | None = None
        self._remaining: list[Remaining] = []
        self._until: int | None = None
        self._once = False
        self._failure: BaseException | None = None
        self._ended = threading.Event()
        if member is not None:
            member.on_failure = self._member_failed

    # --- like a streaming query -------------------------------------------------------------------

    @property
    def isActive(self) -> bool:  # noqa: N802
        return not self._ended.is_set()

    def exception(self) -> BaseException | None:
        return self._failure

    def awaitTermination(self, timeout: int | None = None) -> bool | None:  # noqa: N802
        return self._ended.wait(timeout)

    def stop(self) -> None:
        if self.member is not None:
            self.reads[0].stream.group.remove(self.member)
        self._streams.ended(self)

    # --- its life ---------------------------------------------------------------------------------

    def begin(self, found: Mapping[str, Registered], *, once: bool) -> None:
        """Begins to read: it is registered, and what is decoded covers it."""
        self.began = found
        self._once = once
        self._remaining = [Remaining(read.stream) for read in self.reads] if once else []
        if self.member is not None:
            read = self.reads[0]
            self.member.position = found[read.consumer].position
            read.stream.group.add(self.member)
        elif not once:
            self._run()

    def tend(self) -> bool:
        """Does what is to be done next; says whether it has come to its end."""
        if self._failure is not None:
            return True
        if self._query is not None:
            if self._query.isActive:
                return False
            self._failure = self._query.exception()
            return True
        if not self._once or not all(files.is_done for files in self._remaining):
            return False
        if self.member is None:
            self._run()
            return False
        if self._until is None:
            self._until = self.reads[0].stream.log.last()
        if self.member.position < self._until:
            return False
        self.member.leaving = True
        return self.member.gone.is_set()

    def fail(self, error: BaseException) -> None:
        self._failure = self._failure or error

    def halt(self) -> None:
        """Reads no further."""
        if self.member is not None:
            self.member.leaving = True
        elif self._query is not None:
            self._query.stop()

    def end(self) -> None:
        """Tells whoever waits."""
        self._ended.set()

    def _run(self) -> None:
        assert self._start is not None
        self._query = self._start()

    def _member_failed(self, member: Member, error: BaseException) -> None:
        self._failure = error

    # --- for people -------------------------------------------------------------------------------

    def progress(self) -> dict[str, dict[str, Any]]:
        """For each stream: what is decoded, what was counted, and how far behind this one is."""
        return {read.stream.source.name: self._progress(read) for read in self.reads}

    def _progress(self, read: Reads) -> dict[str, Any]:
        snapshot, last = read.stream.registry.snapshot(), read.stream.log.last()
        position = snapshot.positions.get(read.consumer, last)
        began = self.began.get(read.consumer)
        return {
            "version": snapshot.applied.version,
            "decodes": leaves_text(snapshot.applied.demand, read.stream.source.schema),
            "position": position,
            "first": None if began is None else began.position + 1,
            "missed": 0 if began is None else began.missed,
            "lag": last - position,
            "alone": self.member is None or read.stream.group.is_alone(self.member),
            **read.stream.counters(),
        }


@dataclass
class SharedStreams:
    """All shared streams of a session."""

    session: Session
    _streams: dict[str, SharedStream] = field(default_factory=dict)
    _queries: list[SharedQuery] = field(default_factory=list)
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _thread: threading.Thread | None = None

    def stream(self, source: Source) -> SharedStream:
        """The stream by its declaration; a new one when the declaration has changed."""
        with self._lock:
            known = self._streams.get(source.name.casefold())
            if known is None or (known.source is not source and not known.consumers):
                known = SharedStream(self.session, source)
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
        try:
            with self._lock:
                for name, (stream, wanted) in demands.items():
                    found[name] = stream.register(
                        wanted, once=once, trigger=trigger, start_at=start_at
                    )
            self._await_ready(list(demands.values()), timeout)
            with self._lock:
                for query in queries:
                    names = {read.stream.source.name for read in query.reads}
                    began = {c: r for name in names for c, r in found[name].items()}
                    query.begin(began, once=once)
                    self._queries.append(query)
                self._look_after()
        except BaseException:
            with self._lock:
                for query in queries:
                    if query in self._queries:
                        query.stop()
                for name in found:
                    stream, wanted = demands[name]
                    stream.unregister(*wanted)
            raise

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
                    f" `{consumer}` needs within {timeout:g} seconds",
                    None,
                    "its ingest may be busy with a large micro-batch: see `max_bytes_per_trigger`,"
                    " or wait longer with `session.start(..., ready_timeout=...)`",
                )
            if waiting:
                pause.wait(0.05)

    def ended(self, query: SharedQuery) -> None:
        """A pipeline has come to its end: the streams need not decode for it any more."""
        with self._lock:
            query.halt()
            if query in self._queries:
                self._queries.remove(query)
                for read in query.reads:
                    read.stream.unregister(read.consumer)
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
        # Spark finds Python data sources by the session of the thread that starts a query, and
        # this is what makes ours the session of this thread.
        self.session.spark.createDataFrame([], "nothing INT")
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
                    over = query.tend()
                except Exception as error:
                    query.fail(error)
                    over = True
                if over:
                    self.ended(query)
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
