"""What happens to groups that no window ends, entry by entry; the jobs are somebody else's.

    tasks fold what they read ──► tasks merge what has changed ──► the step is written ──► publish

What is kept are all files: a group's parts are added, and none takes the place of another. Where
files get many, those of a level are merged to the next one, so a group is written again as often as
there are digits in the number of entries, about.

A batch that comes again begins from the step before it, and publishes the same rows under the same
number (`worker/keeping/steps.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from narrows.connectors.target import WriteSpec
from narrows.worker.endless.fold import EndlessSpec
from narrows.worker.keeping.fewer_files import are_many_to_search, with_fewer
from narrows.worker.keeping.steps import GroupsFile, Step, StepLog
from narrows.worker.windows.keeper import Closed, MergingJobs
from narrows.worker.windows.merge import Merge
from narrows.worker.write import publish


@dataclass(frozen=True)
class EndlessKeeper:
    spec: EndlessSpec
    write: WriteSpec
    jobs: MergingJobs

    @property
    def log(self) -> StepLog:
        return StepLog(self.spec.folder)

    def begin(self, batch: int) -> int:
        """Makes room for what the tasks of a micro-batch will leave; the number of its step. It is
        an error if what is kept is not that of the batch before."""
        before, _ = self.log.before(batch)
        self.log.forget(before)
        return before.number + 1

    def run(self, batch: int, folded: Sequence[GroupsFile], made: Closed | None = None) -> int:
        """The step of a micro-batch, whose tasks have left these files, and have `made` of them
        what is to be published, if it was for one of them to do. Answers how many rows that
        were."""
        before, _ = self.log.before(batch)
        number, files = before.number + 1, (*before.files, *folded)
        if made is None and not folded and self.spec.what.keys:
            made = Closed((), ())  # nothing has changed
        if made is None:
            merge = Merge(self.log.groups, files, 0, 0, number, new=len(folded))
            made = self.jobs.close(merge)
        kept = with_fewer(
            files, are_many_to_search, lambda some, level: self._merged(some, number, level)
        )
        # Before anybody can see what is published, for whoever publishes it again.
        self.log.write(Step(number, batch, files=tuple(kept)))
        return publish(self.write, number, made.receipts)

    def _merged(
        self, files: tuple[GroupsFile, ...], number: int, level: int
    ) -> Sequence[GroupsFile]:
        return self.jobs.compact(Merge(self.log.groups, files, 0, 0, number, level))


def merge_of_one(spec: EndlessSpec, batch: int, file: GroupsFile | None) -> Merge:
    """What is to be merged where one task has folded the whole entry."""
    log = StepLog(spec.folder)
    before, _ = log.before(batch)
    new = () if file is None else (file,)
    return Merge(log.groups, (*before.files, *new), 0, 0, before.number + 1, new=len(new))
