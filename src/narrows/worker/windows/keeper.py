"""What happens to windows that tasks keep, step by step; the jobs are somebody else's.

    tasks fold what they read ──► where is the watermark? ──► tasks merge what closed ──► publish

A window closes in the step in which the watermark passes its end, which is when the rows that moved
it have been folded; no micro-batch without rows has to follow. What is open stays in the files it
is in, until these get many: then they are merged, and those that were merged before only when there
are many of these. So a group is written again as often as there are digits in the number of steps
that it waits for, about.

Sessions may grow as long as they are open, so all of them are merged whenever one closes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

from narrows.connectors.target import WriteSpec
from narrows.stateful.windows.window import StreamWindow
from narrows.worker.keeping.fewer_files import with_fewer
from narrows.worker.keeping.steps import GroupsFile, Step, StepLog
from narrows.worker.windows.merge import Merge
from narrows.worker.windows.spec import WindowSpec
from narrows.worker.write import Receipts, publish, sweep

_MANY_FILES = 32


class Closed(NamedTuple):
    """What tasks have made of files."""

    receipts: Sequence[Receipts]
    rest: Sequence[GroupsFile]
    """What is still open, where it was to be written anew."""


class MergingJobs(Protocol):
    def close(self, merge: Merge) -> Closed:
        """Has tasks write the windows that closed."""

    def compact(self, merge: Merge) -> Sequence[GroupsFile]:
        """Has tasks merge files to fewer."""


@dataclass(frozen=True)
class WindowKeeper:
    spec: WindowSpec
    window: StreamWindow
    write: WriteSpec
    delay: int
    """How far the watermark stays behind the newest row, in milliseconds."""
    newest: Callable[[], int]
    """The newest event time that readers have seen, in milliseconds."""
    jobs: MergingJobs

    @property
    def log(self) -> StepLog:
        return StepLog(self.spec.folder)

    def begin(self, batch: int) -> None:
        """Makes room for what the tasks of a micro-batch will leave. It is an error if what is kept
        is not that of the batch before."""
        before, _ = self.log.before(batch)
        self.log.forget(before)

    def run(self, batch: int, folded: Sequence[GroupsFile], *, ends: bool) -> int:
        """The step of a micro-batch, whose tasks have left these files; `ends` if it is the last
        one of a bounded run. Answers how many rows were published."""
        before, begun = self.log.before(batch)
        ends = ends or (begun is not None and begun.ends)
        files = [*before.files, *folded]
        watermark = self._end(before, files) if ends else self._watermark(before)
        step = Step(before.number + 1, batch, ends=ends, watermark=watermark)
        return self._publish(before, step, files)

    @property
    def has_open(self) -> bool:
        """Is a window open, or a step that closes them not done?"""
        last = self.log.last()
        return last is not None and (bool(last.files) or not last.done)

    @property
    def was_closing(self) -> bool:
        """Did a run end while it closed what was open?"""
        last = self.log.last()
        return last is not None and not last.done

    def close(self) -> int:
        """A step by itself: all windows that are open are over."""
        before = self.log.before_closing()
        self.log.forget(before)
        step = Step(before.number + 1, before.batch, closing=True, ends=True, done=False)
        step = replace(step, watermark=self._end(before, before.files))
        rows = self._publish(before, step, before.files)
        self.log.write(replace(self.log.step(step.number), done=True))
        return rows

    def _watermark(self, before: Step) -> int:
        return max(before.watermark, self.newest() - self.delay)

    def _end(self, before: Step, files: Sequence[GroupsFile]) -> int:
        """The watermark at which all windows are over: those of rows that no filter kept, too."""
        newest = max(self.newest(), before.watermark + self.delay)
        over = [-(-file.last_end // 1_000) for file in files]
        return max(before.watermark, self.window.closing_time(newest), *over)

    def _publish(self, before: Step, step: Step, files: Sequence[GroupsFile]) -> int:
        since, until = before.watermark * 1_000, step.watermark * 1_000
        cut = self.spec.cut
        closing = [f for f in files if cut.may_close(f.first_end, f.last_end, since, until)]
        receipts: Sequence[Receipts] = ()
        try:
            if closing:
                merged = tuple(files if cut.grows else closing)
                level = 0 if cut.grows else None
                merge = Merge(self.log.groups, merged, since, until, step.number, level)
                receipts, rest = self.jobs.close(merge)
                files = rest if cut.grows else files
            left = [file for file in files if file.last_end > until]
            step = replace(step, files=tuple(self._with_fewer(left, until)))
            # Before anybody can see what is published, for whoever publishes it again.
            self.log.write(step)
            return publish(self.write, step.number, receipts)
        except BaseException:
            sweep(self.write)
            raise

    def _with_fewer(self, files: Sequence[GroupsFile], until: int) -> Sequence[GroupsFile]:
        def merged(some: tuple[GroupsFile, ...], level: int) -> Sequence[GroupsFile]:
            return self.jobs.compact(Merge(self.log.groups, some, until, until, level=level))

        return with_fewer(files, lambda some: len(some) > _MANY_FILES, merged)
