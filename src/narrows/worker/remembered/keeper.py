"""What happens to what tasks remember, step by step; the jobs are somebody else's.

    tasks read, remember and write ──► what they have kept is the step's ──► publish

A step is written before the sink publishes. If the process dies in between, the same batch comes
again, finds its step, and begins once more from the one before (`worker/keeping/steps.py`). Each
place has a log of its own: one that was written and one that was not begin from the same step.

Some of what is kept waits for time, and not for rows (`slidingwindow`). When the rows of a batch
have moved the watermark, and something is due then, tasks look at it once more, in the same step.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Protocol, TypeAlias

from narrows.connectors.target import WriteSpec
from narrows.worker.keeping.fewer_files import are_many_to_search, with_fewer
from narrows.worker.keeping.steps import GroupsFile, Step, StepLog
from narrows.worker.remembered.task import Advance, sweep_told, write_advance
from narrows.worker.remembered.task import told as told_of
from narrows.worker.write import Receipts, publish, sweep


class Merging(Protocol):
    """Files that become one for each task. Carried to the workers."""

    @property
    def rows(self) -> int:
        """How many they have."""

    def run(self, task: int, tasks: int) -> GroupsFile | None:
        """What one of so many tasks makes of its share of the keys."""


class Kept(Protocol):
    """What is kept in one place, which is a folder of files."""

    @property
    def folder(self) -> str: ...

    def alive(self, files: Sequence[GroupsFile], until: int) -> Sequence[GroupsFile]:
        """The files that are of use when the watermark is there; microseconds."""

    def merged(
        self, files: tuple[GroupsFile, ...], level: int, number: int, *, until: int, whole: bool
    ) -> Merging:
        """Has some files become fewer, in the step of this number; `whole` if there are no older
        ones."""


class MemoryJobs(Protocol):
    """Of all of them tasks tell what they have kept under the name of the attempt, and what they
    write has the number of the step."""

    def read(self, batch: int, tasks: int, step: int, attempt: str) -> Sequence[Receipts]:
        """Has so many tasks read an entry, remember and write."""

    def advance(self, batch: int, tasks: int, step: int, attempt: str) -> Sequence[Receipts]:
        """Has so many tasks write what becomes of what is kept as time goes by. What these write is
        beside what those that read have written of the same step."""

    def merge(self, merge: Merging) -> Sequence[GroupsFile]:
        """Has tasks merge files to fewer."""


class Time(NamedTuple):
    """How the time goes by of what does not wait for rows alone; milliseconds."""

    watermark: Callable[[], int]
    """Where it is, by what readers have seen."""
    closing: Callable[[], int]
    """When all is over, if nothing newer comes."""


class Published(NamedTuple):
    rows: int
    late: int
    """Rows that came too late."""


Files: TypeAlias = tuple[GroupsFile, ...]


def place_of(folder: Path, place: int) -> Path:
    """Where a place is, of those that a pipeline has in this folder."""
    return folder.absolute() / str(place)


@dataclass(frozen=True)
class MemoryKeeper:
    places: Sequence[Kept]
    write: WriteSpec
    jobs: MemoryJobs
    time: Time | None = None
    """None where it makes no difference."""

    @cached_property
    def _logs(self) -> list[StepLog]:
        return [StepLog(place.folder) for place in self.places]

    def run(self, batch: int, tasks: int) -> Published:
        """The step of a micro-batch, which so many tasks read."""
        before = [log.before(batch)[0] for log in self._logs]
        step, attempt = Step(before[0].number + 1, batch), uuid.uuid4().hex
        with self._publishing(before):
            receipts = [*self.jobs.read(batch, tasks, step.number, attempt)]
            told = [told_of(log.folder, attempt, tasks) for log in self._logs]
            files = [(*b.files, *t.files) for b, t in zip(before, told, strict=True)]
            if self.time is not None:
                since = before[0].watermark
                step = replace(step, watermark=max(since, self.time.watermark()))
                if self._is_due(files, since, step.watermark):
                    until = step.watermark * 1_000
                    files = self._advanced(files, step, tasks, since, until, receipts)
            rows = self._publish(step, files, receipts)
            return Published(rows, sum(each.late for each in told))

    @property
    def has_open(self) -> bool:
        """May something be kept since the last step that closed all, or is that one not done?"""
        last = [step for log in self._logs if (step := log.last()) is not None]
        return any(not step.done or (bool(step.files) and not step.closing) for step in last)

    @property
    def was_closing(self) -> bool:
        """Did a run end while it closed what was open?"""
        last = [log.last() for log in self._logs]
        return any(step is not None and not step.done for step in last)

    def close(self, tasks: int) -> int:
        """A step by itself: what is open is over. How many rows were published."""
        before = [log.before_closing() for log in self._logs]
        step = Step(before[0].number + 1, before[0].batch, closing=True, ends=True, done=False)
        step = replace(step, watermark=before[0].watermark)
        if self.time is not None:  # what comes later with an earlier time is late
            step = replace(step, watermark=max(step.watermark, self.time.closing()))
        with self._publishing(before):
            receipts: list[Receipts] = []
            files = [each.files for each in before]
            files = self._advanced(files, step, tasks, before[0].watermark, None, receipts)
            rows = self._publish(step, files, receipts)
        for log in self._logs:
            log.write(replace(log.step(step.number), done=True))
        return rows

    @contextmanager
    def _publishing(self, before: Sequence[Step]) -> Iterator[None]:
        try:
            for log, begun in zip(self._logs, before, strict=True):
                log.forget(begun)
                sweep_told(log.folder)
            yield
        except BaseException:
            sweep(self.write)
            raise

    def _is_due(self, files: Sequence[Files], since: int, until: int) -> bool:
        """May something happen that time alone brings? What was due before has happened."""
        return any(
            file.first_end <= until * 1_000 and file.last_end > since * 1_000
            for of_place in files
            for file in of_place
        )

    def _advanced(
        self,
        files: Sequence[Files],
        step: Step,
        tasks: int,
        since: int,
        until: int | None,
        receipts: list[Receipts],
    ) -> list[Files]:
        attempt = uuid.uuid4().hex
        for log, of_place in zip(self._logs, files, strict=True):
            write_advance(log.folder, Advance(of_place, since * 1_000, until))
        receipts += self.jobs.advance(step.batch, tasks, step.number, attempt)
        told = [told_of(log.folder, attempt, tasks) for log in self._logs]
        return [(*of_place, *t.files) for of_place, t in zip(files, told, strict=True)]

    def _publish(self, step: Step, files: Sequence[Files], receipts: Sequence[Receipts]) -> int:
        for log, place, of_place in zip(self._logs, self.places, files, strict=True):
            # Before anybody can see what is published, for whoever publishes it again.
            log.write(replace(step, files=self._with_fewer(place, of_place, step)))
        return publish(self.write, step.number, receipts)

    def _with_fewer(self, place: Kept, files: Files, step: Step) -> Files:
        until = step.watermark * 1_000
        alive = place.alive(files, until)

        def merged(some: Files, level: int) -> Sequence[GroupsFile]:
            whole = len(some) == len(alive)  # then no older one has anything of their keys
            return self.jobs.merge(place.merged(some, level, step.number, until=until, whole=whole))

        return tuple(with_fewer(alive, are_many_to_search, merged))
