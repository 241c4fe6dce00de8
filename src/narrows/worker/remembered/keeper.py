"""What happens to what tasks remember, step by step; the jobs are somebody else's.

    tasks read, remember and write ──► what they have kept is the step's ──► publish

A step is written before the sink publishes. If the process dies in between, the same batch comes
again, finds its step, and begins once more from the one before (`worker/windows/steps.py`). Each
place has a log of its own: one that was written and one that was not begin from the same step.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Protocol

from narrows.connectors.target import WriteSpec
from narrows.errors import InternalError
from narrows.worker.remembered.store import Merge
from narrows.worker.remembered.task import sweep_told, told
from narrows.worker.windows.steps import GroupsFile, Step, StepLog, too_many
from narrows.worker.write import Receipts, publish, sweep


class MemoryJobs(Protocol):
    """Of all of them tasks tell what they have kept under the name of the attempt, and what they
    write has the number of the step."""

    def read(self, batch: int, tasks: int, step: int, attempt: str) -> Sequence[Receipts]:
        """Has so many tasks read an entry, remember and write."""

    def close(self, tasks: int, step: int, attempt: str) -> Sequence[Receipts]:
        """Has so many tasks write what is open, for no other row will come."""

    def merge(self, merge: Merge) -> Sequence[GroupsFile]:
        """Has tasks merge files to fewer."""


def place_of(folder: Path, place: int) -> Path:
    """Where a place is, of those that a pipeline has in this folder."""
    return folder.absolute() / str(place)


@dataclass(frozen=True)
class MemoryKeeper:
    folder: Path
    places: int
    """So many are in the folder."""
    write: WriteSpec
    jobs: MemoryJobs

    @cached_property
    def _logs(self) -> list[StepLog]:
        return [StepLog(place_of(self.folder, place)) for place in range(self.places)]

    def run(self, batch: int, tasks: int) -> int:
        """The step of a micro-batch: how many rows were published."""
        before = [log.before(batch)[0] for log in self._logs]
        step = Step(before[0].number + 1, batch)

        def read(attempt: str) -> Sequence[Receipts]:
            return self.jobs.read(batch, tasks, step.number, attempt)

        return self._publish(before, step, tasks, read)

    @property
    def has_open(self) -> bool:
        """Is something kept, or a step that closes it not done?"""
        last = [log.last() for log in self._logs]
        return any(step is not None and (bool(step.files) or not step.done) for step in last)

    @property
    def was_closing(self) -> bool:
        """Did a run end while it closed what was open?"""
        last = [log.last() for log in self._logs]
        return any(step is not None and not step.done for step in last)

    def close(self, tasks: int) -> int:
        """A step by itself: what is open is over."""
        before = [log.before_closing() for log in self._logs]
        step = Step(before[0].number + 1, before[0].batch, closing=True, ends=True, done=False)

        def close(attempt: str) -> Sequence[Receipts]:
            return self.jobs.close(tasks, step.number, attempt)

        rows = self._publish(before, step, tasks, close)
        for log in self._logs:
            log.write(replace(log.step(step.number), done=True))
        return rows

    def _publish(
        self,
        before: Sequence[Step],
        step: Step,
        tasks: int,
        write: Callable[[str], Sequence[Receipts]],
    ) -> int:
        attempt = uuid.uuid4().hex
        try:
            for log, started in zip(self._logs, before, strict=True):
                log.forget(started)
                sweep_told(log.folder)
            receipts = write(attempt)
            for log, started in zip(self._logs, before, strict=True):
                files = (*started.files, *_kept(log, attempt, tasks))
                log.write(replace(step, files=self._with_fewer(log, files)))
            return publish(self.write, step.number, receipts)
        except BaseException:
            sweep(self.write)
            raise

    def _with_fewer(self, log: StepLog, files: tuple[GroupsFile, ...]) -> tuple[GroupsFile, ...]:
        many = too_many(files)
        if many is None:
            return files
        merge = Merge(str(log.folder), many.merged, many.level, forgets=not many.kept)
        return (*many.kept, *self.jobs.merge(merge))


def _kept(log: StepLog, attempt: str, tasks: int) -> list[GroupsFile]:
    """What the tasks of a job have kept."""
    files: list[GroupsFile] = []
    for task in range(tasks):
        left = told(log.folder, attempt, task)
        if left is None:
            raise InternalError(f"task {task} of {tasks} has not told what it keeps: {log.folder}")
        files += left
    return files
