"""A pipeline that runs on shared streams, from its start to its end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql.streaming.listener import StreamingQueryProgress

from narrows.demand import Demand, of_columns
from narrows.demand_text import leaves_text
from narrows.shared.registry import Registered
from narrows.spark.shared.group_member import Member
from narrows.spark.shared.ingest import Goal
from narrows.spark.shared.stream import SharedStream
from narrows.spark.streaming.failures import Attempts
from narrows.spark.streaming.feed import Query

if TYPE_CHECKING:
    from narrows.spark.shared.streams import SharedStreams


@dataclass
class Reads:
    """One place in a plan where a shared stream is read."""

    stream: SharedStream
    consumer: str
    demand: Demand


Then = Callable[[Query], Query | None]
"""What comes after a query that has ended well: another one, maybe."""


class SharedQuery:
    """A running pipeline on shared streams; to whoever looks, like a streaming query of Spark."""

    def __init__(
        self,
        streams: SharedStreams,
        name: str,
        reads: Sequence[Reads],
        *,
        member: Member | None = None,
        start: Callable[[], Query] | None = None,
        then: Then | None = None,
    ) -> None:
        """Either a member of its stream's group, or the start of a query of its own, and what
        comes after that query when it has read everything."""
        self.name = name
        self.reads = reads
        self.member = member
        self.began: Mapping[str, Registered] = {}
        self._streams = streams
        self._start = start
        self._then = then
        self._attempts = Attempts()
        self._again_at: float | None = None
        self._query: Query | None = None
        self._goals: list[tuple[SharedStream, Goal]] = []
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

    @property
    def recentProgress(self) -> Sequence[StreamingQueryProgress]:  # noqa: N802
        return [] if self._query is None else self._query.recentProgress

    def stop(self) -> None:
        self._then = None
        if self.member is not None and self.began:
            self.reads[0].stream.group.remove(self.member)
        self._streams.ended(self)

    # --- its life ---------------------------------------------------------------------------------

    def prepare(self, *, once: bool) -> None:
        """Looks what is there now, if that is all it shall read; before any ingest does."""
        self._once = once
        self._goals = [(r.stream, r.stream.add_goal()) for r in self.reads] if once else []

    def begin(self, found: Mapping[str, Registered]) -> None:
        """Begins to read: it is registered, and what is decoded covers it."""
        self.began = found
        if self.member is not None:
            read = self.reads[0]
            self.member.position = found[read.consumer].position
            read.stream.group.add(self.member)
        elif not self._once:
            self._run()

    def tend(self) -> bool:
        """Does what is to be done next; says whether it has come to its end."""
        if self._failure is not None:
            return True
        if self._query is not None:
            if self._query.isActive:
                return False
            failure = self._query.exception()
            if failure is not None and self._tries_again(failure):
                return False
            self._failure = self._query.exception()
            return self._failure is not None or not self._goes_on(self._query)
        if not self._once or not self._is_all_there():
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

    def _tries_again(self, failure: BaseException) -> bool:
        if self._again_at is None:
            pause = self._attempts.pause_after(failure)
            if pause is None:
                return False
            self._again_at = time.monotonic() + pause
        if time.monotonic() >= self._again_at:
            self._again_at = None
            self._attempts.begin()
            self._run()
        return True

    def _goes_on(self, ended: Query) -> bool:
        """Starts what comes after its query; false when that was all."""
        then, self._then = self._then, None
        following = None if then is None or not self._once else then(ended)
        self._query = following or ended
        return following is not None

    def _is_all_there(self) -> bool:
        """Has everything been decoded that was there at the start?"""
        missing = [stream for stream, goal in self._goals if not stream.reached(goal)]
        for stream in missing:
            stream.ensure_ingest()  # it may have been started for others, and seen less
        return not missing

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
        began, schema = self.began.get(read.consumer), read.stream.source.schema
        return {
            "version": snapshot.applied.version,
            "decodes": leaves_text(of_columns(snapshot.applied.demand, schema), schema),
            "position": position,
            "first": None if began is None else began.position + 1,
            "missed": 0 if began is None else began.missed,
            "lag": last - position,
            "alone": self.member is None or read.stream.group.is_alone(self.member),
            **read.stream.counters(),
        }
