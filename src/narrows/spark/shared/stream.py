"""A shared stream on the driver: its registry, its log, its ingest, and those who read it."""

from __future__ import annotations

import hashlib
import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pyspark.sql.streaming.query import StreamingQuery

from narrows.catalog.objects import Source
from narrows.connectors.file.file_log import FileLog
from narrows.demand import NOTHING, Demand
from narrows.files.listing import list_files
from narrows.files.names import file_name
from narrows.projection.columns import DecodeProjection
from narrows.shared.log import EMPTY, SharedLog
from narrows.shared.registry import LEASE_SECONDS, Registered, Registry
from narrows.spark.shared.group import Group
from narrows.spark.shared.ingest import DEFAULT_BATCH_BYTES, IngestSpec, NarrowsIngest
from narrows.spark.streaming.failures import ATTEMPTS, was_too_slow
from narrows.worker.carried import Carried
from narrows.worker.event_time import EventTime
from narrows.worker.read_spec import ReadSpec

if TYPE_CHECKING:
    from narrows.spark.session import Session


_LOOK_SECONDS = 2.0


class SharedStream:
    """One stream. Its methods are called under the lock of `SharedStreams`."""

    def __init__(self, session: Session, source: Source) -> None:
        self._session = session
        self.source = source
        self.folder = session.state.shared(source.name).absolute()
        self.registry = Registry(self.folder)
        self.log = SharedLog(self.folder)
        self.group = Group(
            session.spark, self.log, self.registry.advance, parallelism=session.parallelism
        )
        self.consumers: dict[str, bool] = {}
        """Those of this process, and whether each wants only what is there now."""
        self.trigger = "1 second"
        self._ingest: StreamingQuery | None = None
        self._attempts = 1
        self._renewed = time.monotonic()
        self._kept = EMPTY

    # --- consumers --------------------------------------------------------------------------------

    def register(
        self, demands: dict[str, Demand], *, once: bool, trigger: str, start_at: str | None
    ) -> dict[str, Registered]:
        """Registers consumers and sees to it that the ingest runs."""
        if not self._is_ingesting:
            self.registry.begin(_definition(self.source))
            self.log.sweep()
        start_at = start_at or str(self.source.options.get("start_at", "latest"))
        found = self.registry.register(demands, start_at)
        self.consumers |= dict.fromkeys(demands, once)
        self.trigger = trigger
        if not self._is_ingesting:
            self._start_ingest(once=once)
        return found

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
    def _is_ingesting(self) -> bool:
        return self._ingest is not None and self._ingest.isActive

    @property
    def failure(self) -> str | None:
        """Why the ingest failed, if it did."""
        failure = None if self._ingest is None else self._ingest.exception()
        if failure is None or (was_too_slow(failure) and self._attempts < ATTEMPTS):
            return None
        return str(failure)

    def ensure_ingest(self) -> None:
        """Starts the ingest again, should it have come to its end."""
        if not self._is_ingesting and self.failure is None:
            if self._ingest is not None and self._ingest.exception() is not None:
                self._attempts += 1
            self._start_ingest(once=all(self.consumers.values()))

    def _start_ingest(self, *, once: bool) -> None:
        spec = Carried(IngestSpec(str(self.folder), self._read_spec())).to_option()
        frame = self._session.spark.readStream.format(NarrowsIngest.name()).option("spec", spec)
        writer = (
            frame.load()
            .writeStream.format(NarrowsIngest.name())
            .option("spec", spec)
            .queryName(f"{file_name(self.source.name)} (ingest)")
            .option("checkpointLocation", str(self.folder / "checkpoint"))
        )
        if once:
            self._ingest = writer.trigger(availableNow=True).start()
        else:
            self._ingest = writer.trigger(processingTime=self.trigger).start()

    def stop_ingest(self) -> None:
        if self._ingest is not None:
            self._ingest.stop()
            self._ingest = None

    def _read_spec(self) -> ReadSpec:
        source = self.source
        options = dict(source.options)
        if not options.keys() & {"max_files_per_trigger", "max_bytes_per_trigger"}:
            options["max_bytes_per_trigger"] = DEFAULT_BATCH_BYTES
        spec = ReadSpec(
            source=source.name,
            format=source.format,
            projection=DecodeProjection(source.schema, NOTHING),
            names=(),
            options=options,
            on_error=str(options.get("on_error", "dead_letter")),
            event_time=self._event_time(),
        )
        placed = self._session.placed(source, spec)
        return replace(placed, statistics=None, file_log=str(self.folder / "files"))

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


class Remaining:
    """The files that were there at a moment, and of which of them the log has nothing yet."""

    def __init__(self, stream: SharedStream) -> None:
        self.stream = stream
        path = str(stream.source.options["path"])
        self._paths = {file.path for file in list_files(path, missing_ok=True)}
        self._seen = EMPTY
        self._looked = time.monotonic()

    @property
    def is_done(self) -> bool:
        last = self.stream.log.last()
        if last > self._seen:
            taken = FileLog(self.stream.folder / "files").entries(after=self._seen, upto=last)
            self._paths -= {file.path for file in taken}
            self._seen = last
        if time.monotonic() - self._looked > _LOOK_SECONDS:  # somebody may have removed some
            self._paths = {path for path in self._paths if os.path.exists(path)}
            self._looked = time.monotonic()
        return not self._paths


def _definition(source: Source) -> str:
    """What the entries of a stream are made of; short, for a schema may have 15 000 columns."""
    text = f"{source.schema.sql()} {source.format} {source.options.get('path', '')}"
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
