"""A shared stream on the driver: its registry, its log, its ingest, and those who read it."""

from __future__ import annotations

import hashlib
import time
from dataclasses import replace
from typing import Any

from narrows.catalog.objects import Source
from narrows.demand import NOTHING, Demand
from narrows.plugins.options import parse_duration
from narrows.plugins.start_at import EARLIEST, LATEST, START_AT
from narrows.projection.columns import DecodeProjection
from narrows.shared.log import EMPTY, SharedLog
from narrows.shared.registry import CONSUMER_LOGS, LEASE_SECONDS, ConsumerRegistry, Registered
from narrows.shared.source import CONSUMER, FOLDER
from narrows.spark.compile.context import Context
from narrows.spark.shared.frame_ingest import FrameIngest
from narrows.spark.shared.group import Group
from narrows.spark.shared.ingest import DEFAULT_BATCH_BYTES, Goal, Ingest
from narrows.spark.streaming.failures import Attempts
from narrows.worker.event_time import EventTime
from narrows.worker.read_spec import ReadSpec


class SharedStream:
    """One stream. Its methods are called under the lock of `SharedStreams`."""

    def __init__(self, context: Context, source: Source) -> None:
        self._context = context
        self.source = source
        self.folder = context.state.shared(source.name).absolute()
        self.registry = ConsumerRegistry(self.folder)
        self.log = SharedLog(self.folder)
        self.group = Group(
            context.spark, self.log, self.registry.advance, parallelism=context.parallelism
        )
        self.consumers: dict[str, bool] = {}
        """Those of this process, and whether each wants only what is there now."""
        self.trigger = "1 second"
        self._ingest = self._make_ingest()
        self._attempts = Attempts()
        self._again_at: float | None = None
        """When the ingest, which has failed, is started again."""
        self._renewed = time.monotonic()
        self._kept = EMPTY

    # --- consumers --------------------------------------------------------------------------------

    def register(
        self, demands: dict[str, Demand], *, once: bool, trigger: str, start_at: str | None
    ) -> dict[str, Registered]:
        """Registers consumers and sees to it that the ingest runs."""
        if not self._ingest.is_active:
            self.registry.begin(_definition(self.source))
            self.log.sweep()
        start_at = start_at or str(self.source.options.get(START_AT, LATEST))
        if start_at != LATEST:  # where the ingest begins in its source is the connector's business
            start_at = EARLIEST
        found = self.registry.register(demands, start_at)
        self.consumers |= dict.fromkeys(demands, once)
        self.trigger = trigger
        if not self._ingest.is_active:
            self._start_ingest(once=once)
        return found

    def add_goal(self) -> Goal:
        """For whoever wants what is there now, and no more."""
        return self._ingest.add_goal()

    def reached(self, goal: Goal) -> bool:
        """Is everything decoded that was there when the goal was set?"""
        return self._ingest.reached(goal)

    def read_by(self, consumer: str, spec: ReadSpec) -> ReadSpec:
        """How a consumer reads what is decoded."""
        return replace(
            self._context.placed(self.source, spec),
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
        if failed:
            self.registry.abandon(*names)
        else:
            self.registry.unregister(*names)
        for name in names:
            self.consumers.pop(name, None)
        if not self.consumers:
            self.stop_ingest()
            self.registry.retain()

    def covers(self, demand: Demand) -> bool:
        """Is what is decoded enough for this?"""
        return self.registry.snapshot().applied.demand.covers(demand)

    # --- the ingest -------------------------------------------------------------------------------

    @property
    def failure(self) -> str | None:
        """Why the ingest failed, if it did."""
        failure = self._ingest.failure
        if failure is None or self._again_at is not None:
            return None
        pause = self._attempts.pause_after(failure)
        if pause is None:
            return str(failure)
        self._again_at = time.monotonic() + pause
        return None

    def ensure_ingest(self) -> None:
        """Starts the ingest again, should it have come to its end."""
        self._ingest.poll()
        if self._ingest.is_active or self.failure is not None:
            return
        if self._again_at is not None:
            if time.monotonic() < self._again_at:
                return
            self._again_at = None
            self._attempts.begin()
        self._start_ingest(once=all(self.consumers.values()))

    def _start_ingest(self, *, once: bool) -> None:
        every = (parse_duration(self.trigger) or 0) / 1_000
        self._ingest.start(None if once else every)

    def stop_ingest(self) -> None:
        self._ingest.stop()

    def _make_ingest(self) -> Ingest | FrameIngest:
        context, spec = self._context, self._read_spec()
        if self.source.comes_as_frame:
            frame = context.frames[self.source.name.casefold()]
            return FrameIngest(frame, spec, self.folder)
        return Ingest(context.spark, spec, self.folder)

    def _read_spec(self) -> ReadSpec:
        source = self.source
        options = dict(source.options)
        if not any(name.startswith("max_") and name.endswith("_per_trigger") for name in options):
            options["max_bytes_per_trigger"] = DEFAULT_BATCH_BYTES
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
        return replace(self._context.placed(source, spec), entry_log=str(self.folder / "entries"))

    def _event_time(self) -> EventTime | None:
        """Rows without one are dead letters of the ingest; its place depends on the projection."""
        column = self.source.eventtime
        return None if column is None else EventTime(column, -1, self.source.eventtime_unit)

    # --- from time to time ------------------------------------------------------------------------

    def tend(self) -> None:
        """What must be done now and then while there are consumers."""
        self.group.watch()
        now = time.monotonic()
        if now - self._renewed > LEASE_SECONDS / 4:
            self.registry.renew(*self.consumers)
            self._renewed = now
        if not all(self.consumers.values()):
            self.ensure_ingest()  # it may have been for those who wanted only what was there
        self._retain()

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
    text = f"{source.row.sql()} {source.format} {source.identity}"
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
