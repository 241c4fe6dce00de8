"""Pipelines without state on a shared stream: all of them in one Spark job for each new entry.

A streaming query of its own costs every pipeline some tenths of a second for each micro-batch,
whatever its size. These need none: what a pipeline has done is one number, its position in the log.
So whenever there is a new entry, one batch job runs the plans of all of them, and each task writes
to its pipeline's sinks as a task of a streaming query would.

    (after, upto] of a pipeline ─► its segments, mapped ─► its plan, in the JVM ─► its sinks' files

**Exactly once.** What a job wrote is published under the number of the first entry that it read;
then the position moves. After a crash in between the job runs again, over the same entries, and
what it had published is replaced, or stands.

**Isolation.** A lane is a thread that runs the jobs of its members. All begin in the common lane.
If the job of a lane fails, or takes far longer than it should, those of its members whose tasks had
begun and not ended (else all) are given lanes of their own: there, one that fails has failed, and
one that is slow keeps only itself waiting. A member whose share of a job takes much longer than
that of the others is moved out as well. Who keeps up goes back to the common lane.
"""

from __future__ import annotations

import contextlib
import statistics
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from functools import reduce

from pyspark.sql import DataFrame, SparkSession

from narrows.shared.log import SharedLog
from narrows.shared.source import ENTRIES_AT_ONCE
from narrows.spark.shared.group_member import Member, MemberQuery
from narrows.spark.shared.ingest import Goal
from narrows.worker.write import Receipts, discard, publish, receipts_from_text

_LOOK_SECONDS = 0.1
_PATIENCE_SECONDS = 30.0
_SLOWEST_BYTES_PER_SECOND = 2e6
"""A job of the common lane is given so long, and a second more for so many bytes it has to read."""
_PARTITION_BYTES = 16 << 20
"""So many bytes of segments are worth a task of their own."""
_SLOW_SECONDS = 3.0
_SLOW_FACTOR = 5.0
"""A member is slow when its share of a job takes longer than this, and than so many times the
share of the others."""


class Lane(threading.Thread):
    """Runs the jobs of its members, one after the other, until it has none."""

    def __init__(self, group: Group, members: Sequence[Member], *, alone: bool) -> None:
        super().__init__(name=f"narrows-lane-{uuid.uuid4().hex[:6]}", daemon=True)
        self._group = group
        self._spark = group.spark
        self.members = {member.name: member for member in members}
        self.alone = alone
        self.deadline: float | None = None
        """When the job that runs has taken too long."""
        self._frames: dict[int, DataFrame] = {}
        """The job for these members, by the number of partitions that each of them has."""
        self._framed: tuple[str, ...] = ()
        self._partitions = 1
        """Those of each member, in the job that runs."""
        self._interrupted = False
        self._pause = threading.Event()

    def run(self) -> None:
        while self._group.keep(self):
            due: Sequence[Member] = tuple(self.members.values())
            try:
                due = self._due()
                if due:
                    self._job(due)
                else:
                    self._pause.wait(_LOOK_SECONDS)
            except Exception as error:  # a full disk, a damaged log: nothing that others can mend
                for member in due:
                    self._group.fail(self, member, error)

    def interrupt(self) -> bool:
        """Ends the job that runs, if it has come so far that its tasks are known."""
        executions = set()
        for member in self.members.values():
            with contextlib.suppress(FileNotFoundError):
                executions.add(member.execution.read_text("utf-8"))
        self._interrupted = bool(executions)
        for execution in executions:
            self._spark.interruptOperation(execution)
        return self._interrupted

    def _due(self) -> list[Member]:
        last = self._group.log.last()
        with self._group.lock:
            return [m for m in self.members.values() if m.position < last and not m.leaving]

    def _job(self, due: Sequence[Member]) -> None:
        last = self._group.log.last()
        until = {m.name: min(last, m.position + ENTRIES_AT_ONCE) for m in due}
        try:
            for member in due:
                until[member.name] = member.plan_task(until[member.name])
            sizes = [self._size(member, until[member.name]) for member in due]
            if not self.alone:
                patience = _PATIENCE_SECONDS + sum(sizes) / _SLOWEST_BYTES_PER_SECOND
                self.deadline = time.monotonic() + patience
            results = self._result(due, sizes).collect()
        except Exception as error:
            self._failed(due, error)
            return
        finally:
            self.deadline = None
        done: list[Member] = []
        for member in due:
            receipts = [
                receipts_from_text(row["written"])
                for row in results
                if row["member"] == member.name
            ]
            if self._publish(member, receipts):
                done.append(member)
        self._group.advance({m.name: until[m.name] for m in done})
        for member in done:
            member.position = until[member.name]
        seconds = {m.name: 0.0 for m in due}
        for row in results:
            seconds[row["member"]] += row["seconds"]
        self._group.judge(self, {m.name: seconds[m.name] for m in done})

    def _result(self, due: Sequence[Member], sizes: Sequence[int]) -> DataFrame:
        names = tuple(member.name for member in due)
        if self._framed != names:
            self._frames, self._framed = {}, names
        # Whoever is alone may have half of the cores, not all of them: it may be slow.
        most = max(1, self._group.parallelism // 2) if self.alone else self._group.parallelism
        partitions = max(1, min(most, -(-max(sizes) // _PARTITION_BYTES)))
        self._partitions = partitions
        if partitions not in self._frames:
            results = [member.frame(partitions) for member in due]
            self._frames[partitions] = reduce(DataFrame.unionAll, results)
        # Selecting makes a query of its own: `current_timestamp()` is that of this job.
        return self._frames[partitions].select("*")

    def _size(self, member: Member, until: int) -> int:
        return sum(entry.size for entry in self._group.log.entries(member.position, until))

    def _publish(self, member: Member, receipts: Sequence[Receipts]) -> bool:
        if member.gone.is_set():  # nobody wanted to wait for it
            discard(member.write, receipts)
            return False
        try:
            publish(member.write, member.position + 1, receipts)
        except Exception as error:
            self._group.fail(self, member, error)
            return False
        return True

    def _failed(self, due: Sequence[Member], error: Exception) -> None:
        interrupted, self._interrupted = self._interrupted, False
        if self.alone or (len(due) == 1 and not interrupted):
            for member in due:
                if not member.leaving:
                    self._group.fail(self, member, error)
            return
        # One of them is to blame, most likely one whose tasks had begun and not ended; each of them
        # will show by itself whether it is that one. The others go on together.
        suspects = [member for member in due if member.is_under_way(self._partitions)]
        self._group.part(self, suspects or due)


class Group:
    """The members of one shared stream, and their lanes."""

    def __init__(
        self,
        spark: SparkSession,
        log: SharedLog,
        advance: Callable[[dict[str, int]], None],
        parallelism: int,
        on_end: Callable[[], None] = lambda: None,
    ) -> None:
        """`on_end` is called whenever a member has come to its end."""
        self._on_end = on_end
        self.spark = spark
        self.parallelism = parallelism
        self.log = log
        self.advance = advance
        self.lock = threading.RLock()
        self._common: Lane | None = None
        self._lanes: list[Lane] = []

    def start(self, member: Member, goal: Goal | None) -> MemberQuery:
        """Has a member run, from its position on: up to the goal, if there is one."""
        member.goal = goal
        member.begin()
        self.add(member)
        return MemberQuery(member, self.remove)

    def add(self, member: Member) -> None:
        with self.lock:
            if self._common is None:
                self._common = self._lane([], alone=False)
            self._common.members[member.name] = member
            if not self._common.is_alive():
                self._common.start()

    def remove(self, member: Member, patience: float = 30.0) -> None:
        """Takes a member out when the job that it is part of has ended, or patience has."""
        member.leaving = True
        if not member.gone.wait(patience):
            member.gone.set()
            with self.lock:
                lanes = [lane for lane in self._lanes if member.name in lane.members]
            for lane in lanes:
                if lane.alone:
                    lane.interrupt()
                with self.lock:
                    lane.members.pop(member.name, None)

    def is_alone(self, member: Member) -> bool:
        with self.lock:
            return any(lane.alone and member.name in lane.members for lane in self._lanes)

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
            if lane is self._common:
                self._common = None
            return False

    def fail(self, lane: Lane, member: Member, error: BaseException) -> None:
        with self.lock:
            lane.members.pop(member.name, None)
            member.failure = error
            member.gone.set()
        self._on_end()

    def part(self, lane: Lane, members: Sequence[Member]) -> None:
        """Gives each of these members a lane of its own."""
        with self.lock:
            for member in members:
                if member.name in lane.members:
                    del lane.members[member.name]
                    self._lane([member], alone=True).start()

    def judge(self, lane: Lane, seconds: dict[str, float]) -> None:
        """Moves a member out that makes the others wait, and one back that does not."""
        with self.lock:
            members = [lane.members[name] for name in seconds if name in lane.members]
            if lane.alone:
                for member in members:
                    if seconds[member.name] < _SLOW_SECONDS and self._is_level(member):
                        del lane.members[member.name]
                        self.add(member)
                return
            self.part(lane, [m for m in members if _is_slow(m.name, seconds)])

    def _is_level(self, member: Member) -> bool:
        common = self._common
        if common is None or not common.members:
            return True
        return member.position >= max(m.position for m in common.members.values())

    def _lane(self, members: Sequence[Member], *, alone: bool) -> Lane:
        lane = Lane(self, members, alone=alone)
        self._lanes.append(lane)
        return lane


def _is_slow(name: str, seconds: dict[str, float]) -> bool:
    others = [taken for other, taken in seconds.items() if other != name]
    if not others:
        return False  # nobody waits for it
    return seconds[name] > max(_SLOW_SECONDS, _SLOW_FACTOR * statistics.median(others))
