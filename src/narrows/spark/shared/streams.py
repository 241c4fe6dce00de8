"""The shared streams of a session, and how pipelines begin to read them.

Pipelines that are started together are registered with all their streams before any of them reads,
and begin when what is decoded covers what they need. From then on the session's supervisor looks
after streams and pipelines.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from narrows.catalog.objects import Source
from narrows.demand import Demand
from narrows.errors import Code, fail
from narrows.files.names import name_of
from narrows.shared.registry import Registered, pipeline_of
from narrows.spark.compile.context import Context
from narrows.spark.running.failures import reason_of
from narrows.spark.running.supervisor import Supervisor
from narrows.spark.shared.reads import SharedReads
from narrows.spark.shared.stream import SharedStream

READY_SECONDS = 120.0
_LOOK_SECONDS = 0.05


class SharedStreams:
    """All shared streams of a session."""

    def __init__(self, context: Context, supervisor: Supervisor) -> None:
        self._context = context
        self._supervisor = supervisor
        self._streams: dict[str, SharedStream] = {}
        self._lock = threading.Lock()

    def stream(self, source: Source) -> SharedStream:
        """The stream by its declaration; a new one when the declaration has changed."""
        with self._lock:
            known = self._streams.get(source.name.casefold())
            if known is None or (known.source is not source and not known.consumers):
                known = SharedStream(self._context, source, self._supervisor)
                self._streams[source.name.casefold()] = known
            return known

    def start(
        self,
        pipelines: Sequence[SharedReads],
        *,
        once: bool,
        trigger: str,
        start_at: str | None,
        timeout: float,
    ) -> None:
        """Registers pipelines together, and waits until what is decoded covers them; when one of
        them cannot begin, none does."""
        demands: dict[str, tuple[SharedStream, dict[str, Demand]]] = {}
        for read in (read for pipeline in pipelines for read in pipeline.reads):
            name = read.stream.source.name
            demands.setdefault(name, (read.stream, {}))[1][read.consumer] = read.demand
        quick = {name for pipeline in pipelines for name in pipeline.quick_consumers}
        found: dict[str, Registered] = {}
        with _released_if_it_fails(pipelines):
            for pipeline in pipelines:
                pipeline.prepare(once=once)
            for stream, wanted in demands.values():
                found |= stream.register(
                    wanted,
                    once=once,
                    trigger=trigger,
                    start_at=start_at,
                    quick=quick & wanted.keys(),
                )
            _await_ready(list(demands.values()), timeout)
        for pipeline in pipelines:
            pipeline.begin({read.consumer: found[read.consumer] for read in pipeline.reads})


def pause(pipelines: Iterable[SharedReads]) -> None:
    """Has streams take nothing more that nobody else reads: these pipelines stop, all at once."""
    leaving: dict[int, tuple[SharedStream, set[str]]] = {}
    for read in (read for pipeline in pipelines for read in pipeline.reads):
        leaving.setdefault(id(read.stream), (read.stream, set()))[1].add(read.consumer)
    for stream, names in leaving.values():
        stream.pause(names)


@contextmanager
def _released_if_it_fails(pipelines: Sequence[SharedReads]) -> Iterator[None]:
    try:
        yield
    except BaseException:
        for pipeline in pipelines:
            pipeline.release()
        raise


def _await_ready(
    demands: Sequence[tuple[SharedStream, Mapping[str, Demand]]], timeout: float
) -> None:
    pause, deadline = threading.Event(), time.monotonic() + timeout
    waiting = [(stream, c, d) for stream, wanted in demands for c, d in wanted.items()]
    while waiting := [(stream, c, d) for stream, c, d in waiting if not stream.covers(d)]:
        for stream, _, _ in waiting:
            if stream.failure is not None:
                reason = reason_of(stream.failure)
                message = f"shared stream `{stream.source.name}`: {reason}"
                raise fail(Code.PIPELINE_FAILED, message)
        if time.monotonic() > deadline:
            stream, consumer, _ = waiting[0]
            raise fail(
                Code.NOT_READY,
                f"shared stream `{stream.source.name}` did not begin to decode what pipeline"
                f" `{name_of(pipeline_of(consumer))}` needs within {timeout:g} seconds",
                None,
                "its ingest may be busy with a large micro-batch: see `max_bytes_per_trigger`,"
                " or wait longer with `session.start(..., ready_timeout=...)`",
            )
        pause.wait(_LOOK_SECONDS)
