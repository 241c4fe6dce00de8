"""Several sources of one pipeline, of which each step reads what is new: of one, or of all.

    entries/<pipeline>/views/          entry 11        entry 12
    entries/<pipeline>/clicks/                 entry 5
    entries/<pipeline>/all.streams/    [11, -]  [-, 5]  [12, -]

Each source has a log of its own. What is read together is an entry of a log over these, which is
written after them and before anything is read: so a step that was cut short reads the same again.
What was taken of a source and is in no step, because a crash came between the two logs, is in the
next one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from narrows.connectors.base import Available
from narrows.connectors.entry_log import EMPTY, Entry, EntryLog
from narrows.errors import NarrowsError
from narrows.spark.entries.intake import Intake
from narrows.spark.running.patience import Patience
from narrows.worker.read_spec import ReadSpec

T = TypeVar("T")
JOINT_LOG = "all.streams"
"""What the folder of the log is called: no name of a source has a dot in it."""
_COME_TO, _READS = "come_to", "reads"


class JointIntake:
    def __init__(self, specs: Sequence[ReadSpec], folder: Path) -> None:
        self.intakes = [Intake(spec) for spec in specs]
        self.log = EntryLog(folder)
        self._patience = Patience(" and ".join(spec.source for spec in specs))

    @property
    def problem(self) -> str | None:
        problems = [self._patience.problem, *(intake.problem for intake in self.intakes)]
        return next(filter(None, problems), None)

    def start(self) -> None:
        for intake in self.intakes:
            intake.start()

    def stop(self) -> None:
        for intake in self.intakes:
            with suppress(Exception):  # the others are to stop as well
                intake.stop()

    def ask(self, question: Callable[[], T]) -> T | None:
        return self._patience.ask(question)

    def look(self) -> list[Available | None]:
        """What each source has now."""
        return [intake.look() for intake in self.intakes]

    def look_patiently(self) -> list[Available | None]:
        """The same; None of one that cannot be asked, which should not hold up the others."""
        return [intake.ask(intake.look) for intake in self.intakes]

    @property
    def seconds_since_look(self) -> float:
        return max(intake.seconds_since_look for intake in self.intakes)

    def new(self, available: Sequence[Available | None]) -> Entry | None:
        """What one step may have of each, to be journaled; None if nothing is new."""
        found: list[list[Entry | None]] = []
        come_to = self._come_to(self.log.last())
        for intake, has, known in zip(self.intakes, available, come_to, strict=True):
            if known < intake.log.last():
                found.append([known + 1])
                continue
            entry = None if has is None else intake.new(has)
            found.append([] if entry is None else [None, entry])
        return found if any(found) else None

    def take(self, entry: Entry) -> int:
        """Journals what `new` has found: what was not taken before in the logs of its sources, and
        all of it as one step."""
        numbers: list[int | None] = []
        for intake, found in zip(self.intakes, entry, strict=True):
            match found:
                case []:
                    numbers.append(None)
                case [number]:
                    numbers.append(number)
                case [_, new]:
                    numbers.append(intake.take(new))
        before = self._come_to(self.log.last())
        come_to = [b if n is None else n for b, n in zip(before, numbers, strict=True)]
        return self.log.append({_COME_TO: come_to, _READS: numbers})

    def begin_reading(self) -> None:
        for intake in self.intakes:
            intake.begin_reading()

    def read_again(self, number: int) -> None:
        numbers = self.read_with(self.log.entry(number))
        for intake, of_source in zip(self.intakes, numbers, strict=True):
            if of_source is not None:
                intake.read_again(of_source)

    def read_with(self, entry: Entry) -> Sequence[int | None]:
        numbers: list[int | None] = entry[_READS]
        return numbers

    def shares(self, entry: Entry) -> int:
        read = zip(self.intakes, self.read_with(entry), strict=True)
        return max(
            intake.shares(intake.log.entry(number)) for intake, number in read if number is not None
        )

    def tell(self, committed: int) -> None:
        for intake, number in zip(self.intakes, self._come_to(committed), strict=True):
            if number > EMPTY:
                intake.tell(number)

    def fold(self, published: int) -> None:
        for intake, number in zip(self.intakes, self._come_to(published), strict=True):
            intake.fold(number)
        self.log.fold(published, _last_of)

    def gone(self) -> NarrowsError:
        return self.intakes[0].gone()

    def _come_to(self, step: int) -> list[int]:
        """How far each source has been read by the end of a step."""
        if step == EMPTY:
            return [EMPTY] * len(self.intakes)
        come_to: list[int] = self.log.entry(step)[_COME_TO]
        return come_to


def _last_of(entries: Iterable[Entry]) -> Entry | None:
    """Steps that were published long ago: how far they have come is all that there is to know."""
    *_, last = entries
    return last
