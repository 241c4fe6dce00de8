"""What a pipeline reads of shared streams, from when it registers until it ends."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from narrows.demand import Demand, of_columns
from narrows.demand_text import leaves_text
from narrows.errors import Code, fail
from narrows.shared.registry import Registered
from narrows.spark.running.failures import reason_of
from narrows.spark.running.running import Running
from narrows.spark.shared.group_member import Member
from narrows.spark.shared.ingest import Goal
from narrows.spark.shared.stream import SharedStream


@dataclass
class Reads:
    """One place in a plan where a shared stream is read."""

    stream: SharedStream
    consumer: str
    demand: Demand


class SharedReads:
    """All of them. Its pipeline begins when what is decoded covers it, and says when it ends."""

    def __init__(self, name: str, reads: Sequence[Reads], member: Member | None = None) -> None:
        """With a member, if the pipeline runs in the group of its stream."""
        self.name = name
        self.reads = reads
        self.member = member
        self.began: Mapping[str, Registered] = {}
        self.goals: Sequence[tuple[SharedStream, Goal]] = ()
        """What is to be decoded for it, where it reads only what is there now."""
        self._released = threading.Lock()

    def prepare(self, *, once: bool) -> None:
        """Looks what is there now, if that is all it shall read; before any ingest does."""
        self.goals = [(r.stream, r.stream.add_goal()) for r in self.reads] if once else ()

    def begin(self, found: Mapping[str, Registered]) -> None:
        """It is registered, and what is decoded covers it."""
        self.began = found
        if self.member is not None:
            self.member.position = found[self.reads[0].consumer].position

    @property
    def quick_consumers(self) -> list[str]:
        """Its names, if it is to have low latency."""
        quick = self.member is not None and self.member.is_quick
        return [read.consumer for read in self.reads] if quick else []

    def release(self, *, failed: bool = False) -> None:
        """Its pipeline has ended: the streams need not decode for it any more."""
        if self._released.acquire(blocking=False):  # once
            for read in self.reads:
                read.stream.unregister(read.consumer, failed=failed)

    @property
    def failure(self) -> BaseException | None:
        """Why one of the streams has failed, and with it whoever reads it."""
        for read in self.reads:
            failure = read.stream.failure
            if failure is not None:
                message = f"shared stream `{read.stream.source.name}`: {reason_of(failure)}"
                error = fail(Code.PIPELINE_FAILED, message)
                error.__cause__ = failure
                return error
        return None

    @property
    def problems(self) -> list[str | None]:
        """What is wrong with their sources, for each of the streams."""
        return [read.stream.problem for read in self.reads]

    # --- what runs --------------------------------------------------------------------------------

    def join_group(self) -> Running:
        """Has the pipeline run in the group of its stream."""
        assert self.member is not None
        goals = [goal for _, goal in self.goals]
        return self.reads[0].stream.group.start(self.member, goals[0] if goals else None)

    def await_decoded(self) -> Running:
        """Runs until everything is decoded that was there at the start."""
        return _Decoding(self.goals)

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
            "last_error": read.stream.last_error,
            **read.stream.counters(),
        }


class _Decoding:
    """What a bounded run with a query of its own waits for."""

    recentProgress = ()  # noqa: N815
    batches = ()

    def __init__(self, goals: Sequence[tuple[SharedStream, Goal]]) -> None:
        self._goals = goals
        self._stopped = False

    @property
    def isActive(self) -> bool:  # noqa: N802
        return not self._stopped and not all(s.reached(goal) for s, goal in self._goals)

    def exception(self) -> BaseException | None:
        return None

    def stop(self) -> None:
        self._stopped = True
