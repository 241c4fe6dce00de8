"""A lane of a shared stream's group: a thread that runs the jobs of some members.

Whether a member has its lane with all others or for itself is the group's to say (`group.py`).
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, SparkSession

from narrows.shared.source import ENTRIES_AT_ONCE
from narrows.spark.entries.lasting import LastingTasks
from narrows.spark.shared.group_member import Member, copied, copy_message
from narrows.spark.sql.parsed import parsed_query
from narrows.spark.sql.rows import SqlText, Views
from narrows.worker.lasting import done_of
from narrows.worker.write import Receipts, discard, publish, receipts_from_text

if TYPE_CHECKING:
    from narrows.spark.shared.group import Group

_LOOK_SECONDS, _QUICK_LOOK_SECONDS = 0.1, 0.016
"""How long to wait for somebody to say that there is something new; then one looks."""
_PATIENCE_SECONDS = 30.0
_SLOWEST_BYTES_PER_SECOND = 2e6
"""A job of the common lane is given so long, and a second more for so many bytes it has to read."""
_PARTITION_BYTES = 16 << 20
"""So many bytes of segments are worth a task of their own."""


class Lane(threading.Thread):
    """Runs the jobs of its members, one after the other, until it has none."""

    def __init__(
        self,
        group: Group,
        members: Sequence[Member],
        *,
        alone: bool,
        tasks: LastingTasks | None = None,
    ) -> None:
        """With tasks that last, if it is for low latency."""
        super().__init__(name=f"narrows-lane-{uuid.uuid4().hex[:6]}", daemon=True)
        self._group = group
        self._spark = group.spark
        self.members = {member.name: member for member in members}
        self.alone = alone
        self._tasks = tasks
        self.deadline: float | None = None
        """When the job that runs has taken too long."""
        self._frames: dict[int, DataFrame] = {}
        """The job for these members, by the number of partitions that each of them has."""
        self._framed: tuple[Member, ...] = ()
        self._partitions = 1
        """Those of each member, in the job that runs."""
        self.under_way: frozenset[str] = frozenset()
        """The names of those that the job which runs is for."""
        self._interrupted = False
        self.woken = threading.Event()
        """Is there something new, perhaps? Where another process decodes, nobody says so."""
        self.publishing = threading.Lock()
        """Held while what a job wrote is published and positions move; whoever has it may take a
        member out."""

    @property
    def is_quick(self) -> bool:
        return self._tasks is not None

    def run(self) -> None:
        try:
            self._run()
        finally:
            if self._tasks is not None:
                self._tasks.stop()

    def _run(self) -> None:
        while self._group.keep(self):
            self.woken.clear()
            due: Sequence[Member] = tuple(self.members.values())
            try:
                due = self._due()
                if due:
                    self._job(due)
                else:
                    self.woken.wait(_QUICK_LOOK_SECONDS if self.is_quick else _LOOK_SECONDS)
            except Exception as error:  # a full disk, a damaged log: nothing that others can mend
                for member in due:
                    self._group.fail(self, member, error)
            finally:
                self.under_way = frozenset()

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

    def has(self, member: Member) -> bool:
        return self.members.get(member.name) is member

    def drop(self, member: Member) -> None:
        """Takes a member out, and no other that has begun under its name."""
        if self.has(member):
            del self.members[member.name]

    def _due(self) -> list[Member]:
        last = self._group.log.last()
        with self._group.lock:
            due = [m for m in self.members.values() if m.position < last and not m.leaving]
            self.under_way = frozenset(member.name for member in due)
            return due

    def _job(self, due: Sequence[Member]) -> None:
        began = time.monotonic()
        last = self._group.log.last()
        until = {m.name: min(last, m.position + ENTRIES_AT_ONCE) for m in due}
        try:
            planned = self._group.disk.map(lambda m: m.plan_task(until[m.name]), due)
            until = dict(zip(until, planned, strict=True))
            sizes = [self._size(member, until[member.name]) for member in due]
            if not self.alone:
                patience = _PATIENCE_SECONDS + sum(sizes) / _SLOWEST_BYTES_PER_SECOND
                self.deadline = time.monotonic() + patience
            results = self._results(due, sizes)
        except Exception as error:
            self._failed(due, error)
            return
        finally:
            self.deadline = None
        receipts: dict[str, list[Receipts]] = {member.name: [] for member in due}
        seconds = dict.fromkeys(receipts, 0.0)
        for row in sorted(results, key=lambda row: row["part"]):  # as the rows were in the stream
            receipts[row["member"]].append(receipts_from_text(row["written"]))
            seconds[row["member"]] += row["seconds"]
        with self.publishing:
            done = [member for member in due if self._publish(member, receipts[member.name])]
            self._group.advance({m.name: until[m.name] for m in done})
            for member in done:
                member.position = until[member.name]
                member.batches.add(member.position, time.monotonic() - began)
        self.under_way = frozenset()  # else whoever is to leave this lane would wait for itself
        self._group.judge(self, {m.name: seconds[m.name] for m in done})

    def _results(self, due: Sequence[Member], sizes: Sequence[int]) -> Sequence[Any]:
        """What the tasks say that have written: of a job, or one that lasts, where there is one and
        it has not too much to do."""
        # One that has begun again under its name, and waited here, may be of another kind by now.
        quick = all(member.is_quick for member in due) and max(sizes) <= _PARTITION_BYTES
        if self._tasks is None or not quick:
            return self._frame(due, sizes).collect()
        self._partitions = 1
        copies = [member.copies for member in due if member.copies is not None]
        given = [copy_message(copies)] * len(self._tasks)  # there is one, as soon as it has begun
        (answer,) = self._tasks.do(given)
        found: list[dict[str, Any]] = json.loads(done_of(answer))
        return found

    def _frame(self, due: Sequence[Member], sizes: Sequence[int]) -> DataFrame:
        if self._framed != tuple(due):  # one that was replaced is another, under the same name
            self._frames, self._framed = {}, tuple(due)
        # Whoever is alone may have half of the cores, not all of them: it may be slow.
        most = max(1, self._group.parallelism // 2) if self.alone else self._group.parallelism
        partitions = max(1, min(most, -(-max(sizes) // _PARTITION_BYTES)))
        self._partitions = partitions
        if partitions not in self._frames or not all(each.is_planned_once for each in due):
            results = [member.frame(partitions) for member in due if member.copies is None]
            copies = [member.copies for member in due if member.copies is not None]
            if copies:
                results.append(copied(self._spark, copies, partitions, tasks=most))
            self._frames[partitions] = _together(self._spark, results)
        return self._frames[partitions]

    def _size(self, member: Member, until: int) -> int:
        return sum(entry.size for entry in self._group.log.entries(member.position, until))

    def _publish(self, member: Member, receipts: Sequence[Receipts]) -> bool:
        if member.gone.is_set():  # nobody wanted to wait for it
            discard(member.write, receipts)
            return False
        try:
            rows = publish(member.write, member.position + 1, receipts)
        except Exception as error:
            self._group.fail(self, member, error)
            return False
        member.published.rows += rows
        return True

    def _failed(self, due: Sequence[Member], error: Exception) -> None:
        interrupted, self._interrupted = self._interrupted, False
        # Who had the lane for itself is to blame, unless it is a task that lasts which has died.
        if self.alone or (len(due) == 1 and not interrupted and not self.is_quick):
            for member in due:
                if not member.leaving:
                    self._group.fail(self, member, error)
            return
        # One of them is to blame, most likely one whose tasks had begun and not ended; each of them
        # will show by itself whether it is that one. The others go on together.
        suspects = [member for member in due if member.is_under_way(self._partitions)]
        self._group.part(self, suspects or due)


def _together(spark: SparkSession, results: Sequence[DataFrame]) -> DataFrame:
    """All rows, as one text: to add one data frame to the others after the other, Spark would look
    at all of them again for each."""
    if len(results) == 1:
        return results[0]
    views = Views(spark)
    try:
        texts = [f"SELECT * FROM {views.add(result)}" for result in results]
        return parsed_query(spark, SqlText(" UNION ALL ".join(texts)))
    finally:
        views.close()
