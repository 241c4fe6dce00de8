"""Pipelines without state on a shared stream: all of them in one Spark job for each new entry.

A streaming query of its own costs every pipeline some tenths of a second for each micro-batch,
whatever its size. These need none: what a pipeline has done is one number, its position in the log.
So whenever there is a new entry, one batch job runs the plans of all of them, and each task writes
to its pipeline's sinks as a task of a streaming query would.

    (after, upto] of a pipeline ─► its segments, mapped ─► its plan, in the JVM ─► its sinks' files

Those whose readers write (`physical/execution.py`) have no plan in the JVM: all of them together
are a task for each core, so one more of them costs Spark nothing.

**Exactly once.** What a job wrote is published under the number of the first entry that it read;
then the position moves. After a crash in between the job runs again, over the same entries, and
what it had published is replaced, or stands.

**Lanes.** A lane is a thread that runs the jobs of its members. Whenever one comes or goes, Spark
analyzes the plans of the lane again; so those that it computes are a few to a lane, and the first
row of the hundredth comes as soon as that of the tenth. One that Spark computes and that comes when
others run has its first job by itself, and joins them when it is level with them: with them it
would wait for the end of their job, and for the analysis of all their plans.

**Low latency.** Those that are to have it share a lane without jobs: a task that lasts copies for
all of them (`streaming/lasting.py`), as soon as an entry is there.

**Isolation.** If the job of a lane fails, or takes far longer than it
should, those of its members whose tasks had begun and not ended (else all) are given lanes of their
own: there, one that fails has failed, and one that is slow keeps only itself waiting. A member
whose share of a job takes much longer than that of the others is moved out as well. Who keeps up
goes back to a common lane.

**Stopping.** Nobody waits for a job of a hundred members to stop one of them. What such a job has
written of it is thrown away, and read again when the pipeline goes on: its position has not moved.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from pyspark.sql import SparkSession

from narrows.errors import NarrowsError
from narrows.shared.log import SharedLog
from narrows.spark.entries.lasting import LastingTasks
from narrows.spark.shared.group_member import CopyWork, Member, MemberQuery
from narrows.spark.shared.ingest import Goal
from narrows.spark.shared.lane import Lane

_PUBLISH_SECONDS = 30.0
"""How long a member that is stopped waits for rows of it that are just being published."""
_COMPUTED_IN_A_LANE = 8
"""So many pipelines of a common lane are computed by Spark."""
_BEGINNING = 2
"""So many may have a lane of their own because they have just begun. Whoever comes when there are
as many, as all do when a service starts, begins with the others."""
_WRITES = 8
"""Plans that are written at the same time: each waits for the disk."""
_SLOW_SECONDS = 3.0
_SLOW_FACTOR = 5.0
"""A member is slow when its share of a job takes longer than this, and than so many times the
share of the others."""


class Group:
    """The members of one shared stream, and their lanes."""

    def __init__(
        self,
        spark: SparkSession,
        log: SharedLog,
        advance: Callable[[dict[str, int]], None],
        parallelism: int,
        on_end: Callable[[], None] = lambda: None,
        name: str = "",
    ) -> None:
        """`on_end` is called whenever a member has come to its end; the name is the stream's."""
        self._on_end = on_end
        self._name = name
        self.spark = spark
        self.parallelism = parallelism
        self.log = log
        self.advance = advance
        self.lock = threading.RLock()
        self._lanes: list[Lane] = []
        self._disk: ThreadPoolExecutor | None = None

    def start(self, member: Member, goal: Goal | None) -> MemberQuery:
        """Has a member run, from its position on: up to the goal, if there is one."""
        member.goal = goal
        member.begin()
        with self.lock:
            if self._begins_alone(member):
                self._lane([member], alone=True).start()
            else:
                self.add(member)
        return MemberQuery(member, self.remove)

    def add(self, member: Member) -> None:
        with self.lock:
            lane = self._lane_for(member)
            lane.members[member.name] = member
            if not lane.is_alive():
                lane.start()

    def remove(self, member: Member) -> None:
        """Takes a member out: with the end of the job that it is part of, or in the midst of it."""
        member.leave_soon()
        if member.gone.wait(max(0.0, member.left_alone_until - time.monotonic())):
            return
        with self.lock:
            lanes = [lane for lane in self._lanes if lane.has(member)]
        for lane in lanes:
            published = lane.publishing.acquire(timeout=_PUBLISH_SECONDS)
            member.leave()
            if published:
                lane.publishing.release()
            if lane.alone:
                lane.interrupt()
            with self.lock:
                lane.drop(member)
        member.leave()

    def is_alone(self, member: Member) -> bool:
        with self.lock:
            return any(lane.alone and member.name in lane.members for lane in self._lanes)

    def wake(self) -> None:
        """Says that there is a new entry."""
        with self.lock:
            for lane in self._lanes:
                lane.woken.set()

    def watch(self) -> None:
        """Ends jobs that take too long; for a thread that looks from time to time."""
        with self.lock:
            late = [
                lane
                for lane in self._lanes
                if lane.deadline is not None and time.monotonic() > lane.deadline
            ]
        for lane in late:
            if lane.interrupt():
                lane.deadline = None

    # --- what lanes say ---------------------------------------------------------------------------

    def keep(self, lane: Lane) -> bool:
        """Is there anything left to do for a lane? Called between its jobs."""
        with self.lock:
            for member in [m for m in lane.members.values() if m.is_done]:
                del lane.members[member.name]
                member.gone.set()
                self._on_end()
            if lane.members:
                return True
            self._lanes.remove(lane)
            if not self._lanes and self._disk is not None:
                self._disk.shutdown(wait=False)
                self._disk = None
            return False

    def fail(self, lane: Lane, member: Member, error: BaseException) -> None:
        with self.lock:
            lane.drop(member)
            if not member.gone.is_set():
                member.failure = error
                member.gone.set()
        self._on_end()

    def part(self, lane: Lane, members: Sequence[Member]) -> None:
        """Gives each of these members a lane of its own."""
        with self.lock:
            for member in members:
                if lane.has(member):
                    lane.drop(member)
                    self._lane([member], alone=True).start()

    def judge(self, lane: Lane, seconds: dict[str, float]) -> None:
        """Moves a member out that makes the others wait, and one back that does not; and one that
        had to wait in a lane of the other kind to its own."""
        with self.lock:
            members = [lane.members[name] for name in seconds if name in lane.members]
            if lane.alone:
                for member in members:
                    if seconds[member.name] < _SLOW_SECONDS and self._is_level(member):
                        self._bring_back(lane, member)
                return
            self.part(lane, [m for m in members if _is_slow(m.name, seconds)])
            for member in [m for m in members if lane.has(m) and m.is_quick != lane.is_quick]:
                self._bring_back(lane, member)

    def _bring_back(self, lane: Lane, member: Member) -> None:
        try:
            self.add(member)
        except NarrowsError:  # no core is free for tasks that last: they may just be ending
            return
        lane.drop(member)

    def _is_level(self, member: Member) -> bool:
        common = [m.position for lane in self._common() for m in lane.members.values()]
        return member.position >= max(common, default=member.position)

    def _common(self) -> list[Lane]:
        return [lane for lane in self._lanes if not lane.alone]

    def _begins_alone(self, member: Member) -> bool:
        if member.copies is not None or self._lane_under_way(member) is not None:
            return False
        beginning = sum(1 for lane in self._lanes if lane.alone)
        return beginning < _BEGINNING and any(lane.members for lane in self._common())

    def _lane_under_way(self, member: Member) -> Lane | None:
        """Where a job is under way in the name of a member that has begun again. It waits there for
        the end of that job: they have a task file and a sink in common."""
        return next((lane for lane in self._lanes if member.name in lane.under_way), None)

    def _lane_for(self, member: Member) -> Lane:
        """A common lane with room, unless it has to wait for a job in its name."""
        under_way = self._lane_under_way(member)
        if under_way is not None:
            return under_way
        common = [lane for lane in self._common() if lane.is_quick == member.is_quick]
        for lane in common:
            computed = sum(1 for other in lane.members.values() if other.copies is None)
            if member.copies is not None or computed < _COMPUTED_IN_A_LANE:
                return lane
        if not member.is_quick:
            return self._lane([], alone=False)
        tasks = LastingTasks(self.spark, f"shared stream `{self._name}`", 1, CopyWork())
        return self._lane([], alone=False, tasks=tasks)

    @property
    def disk(self) -> ThreadPoolExecutor:
        """Threads that write what the jobs of all lanes shall do."""
        with self.lock:
            if self._disk is None:
                self._disk = ThreadPoolExecutor(_WRITES, thread_name_prefix="narrows-lane-plans")
            return self._disk

    def _lane(
        self, members: Sequence[Member], *, alone: bool, tasks: LastingTasks | None = None
    ) -> Lane:
        lane = Lane(self, members, alone=alone, tasks=tasks)
        self._lanes.append(lane)
        return lane


def _is_slow(name: str, seconds: dict[str, float]) -> bool:
    others = [taken for other, taken in seconds.items() if other != name]
    if not others:
        return False  # nobody waits for it
    return seconds[name] > max(_SLOW_SECONDS, _SLOW_FACTOR * statistics.median(others))
