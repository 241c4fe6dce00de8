"""A shared stream on the driver: its registry, its log, its ingest, and those who read it."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Collection
from dataclasses import replace
from typing import Any

from narrows.catalog.objects import Source
from narrows.connectors.base import find_connector
from narrows.demand import NOTHING, Demand
from narrows.plugins.options import parse_duration
from narrows.plugins.start_at import EARLIEST, LATEST, START_AT
from narrows.projection.columns import DecodeProjection
from narrows.shared.limits import with_limit
from narrows.shared.log import EMPTY, SharedLog
from narrows.shared.registry import CONSUMER_LOGS, LEASE_SECONDS, ConsumerRegistry, Registered
from narrows.shared.source import CONSUMER, FOLDER
from narrows.spark.compile.context import Context
from narrows.spark.running.failures import Attempts, Verdict
from narrows.spark.running.supervisor import Step, Supervisor
from narrows.spark.shared.frame_ingest import FrameIngest
from narrows.spark.shared.group import Group
from narrows.spark.shared.ingest import Goal, Ingest
from narrows.worker.event_time import EventTime
from narrows.worker.read_spec import ReadSpec


class SharedStream:
    """One stream. Whoever starts and stops pipelines does so in threads of their own; so what
    changes is changed under a lock, for which the supervisor does not wait."""

    def __init__(self, context: Context, source: Source, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._lock = threading.RLock()
        self._context = context
        self.source = source
        self.folder = context.state.shared(source.name).absolute()
        self.registry = ConsumerRegistry(self.folder)
        self.log = SharedLog(self.folder)
        self.group = Group(
            context.spark,
            self.log,
            self.registry.advance,
            parallelism=context.parallelism,
            on_end=supervisor.wake,
            name=source.name,
        )
        self.consumers: dict[str, bool] = {}
        """Those of this process, and whether each wants only what is there now."""
        self._quick: set[str] = set()
        """Those of them that are to have low latency."""
        self.trigger = "1 second"
        self._ingest = self._make_ingest()
        self._attempts = Attempts()
        self.failure: BaseException | None = None
        """Why the ingest has failed, for good."""
        self._renewed = time.monotonic()
        self._kept = EMPTY
        self._paused = False
        """Does everybody leave at once, and nothing is taken any more?"""

    # --- consumers --------------------------------------------------------------------------------

    def register(
        self,
        demands: dict[str, Demand],
        *,
        once: bool,
        trigger: str,
        start_at: str | None,
        quick: Collection[str] = (),
    ) -> dict[str, Registered]:
        """Registers consumers and sees to it that the ingest runs: quickly, if some of them are to
        have low latency."""
        with self._lock:
            self._paused = False
            if not self._ingest.isActive:
                self.registry.begin(_definition(self.source))
                self.log.sweep()
            if not self.consumers:
                self._attempts, self.failure = Attempts(), None
            start_at = start_at or str(self.source.options.get(START_AT, LATEST))
            if start_at != LATEST:  # where the ingest begins in its source is its connector's
                start_at = EARLIEST
            found = self.registry.register(demands, start_at)
            self.consumers |= dict.fromkeys(demands, once)
            self._quick |= set(quick)
            self._quicken()
            self.trigger = trigger
            if self._ingest.isActive:
                self.registry.apply()  # from its next entry on: the job that runs is not waited for
            else:
                self._start_ingest()
        self._supervisor.add(self)
        return found

    def reserve(self) -> None:
        """What its source has now is kept for the ingest."""
        self._ingest.reserve()

    def pause(self, names: Collection[str]) -> None:
        """Takes nothing more, if nobody reads it but these, who are about to stop: what would be
        taken then would be decoded for those that are left, and lost to those that have gone. What
        they have not read by then is kept for them."""
        with self._lock:
            if self.consumers and self.consumers.keys() <= set(names):
                self._paused = True
                self._ingest.stop()

    def add_goal(self) -> Goal:
        """For whoever wants what is there now, and no more."""
        return self._ingest.add_goal()

    def reached(self, goal: Goal) -> bool:
        """Is everything decoded that was there when the goal was set?"""
        return self._ingest.reached(goal)

    def read_by(self, consumer: str, spec: ReadSpec) -> ReadSpec:
        """How a consumer reads what is decoded."""
        return replace(
            self._context.placed(spec),
            connector="shared log",
            projection=spec.projection.stored,
            options={
                **spec.options,
                FOLDER: str(self.folder),
                CONSUMER: consumer,
                "timezone": self._context.timezone,
            },
            entry_log=str(self.folder / CONSUMER_LOGS / consumer),
        )

    def unregister(self, *names: str, failed: bool = False) -> None:
        """Takes consumers out; after the last one the ingest stops."""
        with self._lock:
            mine = [name for name in names if self.consumers.pop(name, None) is not None]
            self._quick.difference_update(mine)
            self._quicken()
            if failed:
                self.registry.abandon(*mine)
            else:
                self.registry.unregister(*mine, keep_unread=self._paused)
            if mine and not self.consumers:
                self._ingest.stop()
                self.registry.retain()

    def covers(self, demand: Demand) -> bool:
        """Is what is decoded enough for this?"""
        return self.registry.snapshot().applied.demand.covers(demand)

    # --- the ingest -------------------------------------------------------------------------------

    @property
    def problem(self) -> str | None:
        """Why its source cannot be asked at the moment; None if it can."""
        return self._ingest.problem

    @property
    def last_error(self) -> str | None:
        """The same; else why the ingest had to be started again."""
        return self.problem or self._attempts.last_failure

    def _start_ingest(self) -> None:
        with self._lock:
            if self.consumers:
                every = (parse_duration(self.trigger) or 0) / 1_000
                self._ingest.start(None if self._ends else every)

    @property
    def _ends(self) -> bool:
        """Does everybody want only what is there now?"""
        return all(self.consumers.values())

    def _quicken(self) -> None:
        if isinstance(self._ingest, Ingest):
            self._ingest.quicken(quick=bool(self._quick))

    def _make_ingest(self) -> Ingest | FrameIngest:
        context, spec = self._context, self._read_spec()
        if self.source.comes_as_frame:
            frame = context.frames[self.source.name.casefold()]
            return FrameIngest(frame, spec, self.folder)
        wake = self._supervisor.wake
        return Ingest(context.spark, spec, self.folder, on_end=wake, on_entry=self.group.wake)

    def _read_spec(self) -> ReadSpec:
        source = self.source
        options = with_limit(find_connector(source.connector), source.options)
        spec = ReadSpec(
            source=source.name,
            connector=source.connector,
            format=source.format,
            projection=DecodeProjection(source.schema, NOTHING, metadata=source.metadata),
            names=(),
            options=options,
            on_error=str(options.get("on_error", "dead_letter")),
            event_time=self._event_time(),
        )
        return replace(self._context.placed(spec), entry_log=str(self.folder / "entries"))

    def _event_time(self) -> EventTime | None:
        """Rows without one are dead letters of the ingest; its place depends on the projection."""
        column = self.source.eventtime
        return None if column is None else EventTime(column, -1, self.source.eventtime_unit)

    # --- for the supervisor -----------------------------------------------------------------------

    @property
    def is_over(self) -> bool:
        return not self.consumers

    def look(self) -> Step | None:
        if not self._lock.acquire(blocking=False):
            return None  # somebody is starting it or stopping it
        try:
            runs = self.consumers and self.failure is None and not self._paused
            return self._look() if runs else None
        finally:
            self._lock.release()

    def fail(self, error: BaseException) -> None:
        """Whoever reads it sees that it has failed, and fails as well."""
        self.failure = self.failure or error

    def _look(self) -> Step | None:
        self.group.watch()
        now = time.monotonic()
        if now - self._renewed > LEASE_SECONDS / 4:
            self.registry.renew(*self.consumers)
            self._renewed = now
        self._retain()
        if self._ingest.isActive:
            self._ingest.poll()
            return None
        failure = self._ingest.exception()
        verdict = Verdict.AGAIN if failure is None else self._attempts.after(failure)
        if failure is not None and verdict is Verdict.GIVE_UP:
            self.fail(failure)
        # It may have come to its end, having been for those who wanted only what was there.
        wanted = failure is not None or self._ingest.has_goals or not self._ends
        return self._start_ingest if wanted and verdict is Verdict.AGAIN else None

    def _retain(self) -> None:
        numbers = self.log.numbers()
        if len(numbers) < 2:
            return
        consumers = self.registry.snapshot().consumers.values()
        passed = min((c.position for c in consumers), default=numbers[-1])
        if passed >= numbers[0] and passed != self._kept:
            self.registry.retain()
            self._kept = passed

    def counters(self) -> dict[str, Any]:
        """What the ingest has counted since the stream began."""
        newest = self.log.newest()
        return {} if newest is None else dict(newest.totals)


def _definition(source: Source) -> str:
    """What the entries of a stream are made of; short, for a schema may have 15 000 columns."""
    text = " ".join([source.row.sql(), source.format, source.identity, *source.entry_form])
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
