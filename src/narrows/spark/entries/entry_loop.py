"""A pipeline that needs no streaming query of Spark's: entry by entry.

    what is new ─► an entry, journaled ─► tasks read and write it ─► published ─► position

It is what a micro-batch does, with the same entries, tasks' functions, sinks and numbers; but how
far it has come is a number in a file instead of a checkpoint of Spark's, and the tasks are a job,
or, for low latency, there already (`entry_tasks.py`). Tasks may also fold rows into windows, and
those are written that close then (`window_steps.py`). An entry is read when the one before it is
published, and whatever has come meanwhile is the next: the more there is to do, the larger are
entries.

**Exactly once** as ever: an entry is in the log before it is read, and is published under its
number. One that was cut short is read again, and replaces what it published.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Protocol

from narrows.connectors.entry_log import Entry
from narrows.connectors.target import WriteSpec
from narrows.spark.entries.entry_tasks import EntryTasks
from narrows.spark.entries.intake import Taking
from narrows.spark.running.pauses import Looks
from narrows.spark.running.running import Batch, RecentBatches
from narrows.spark.write.sink import RowsWritten
from narrows.state.entry_position import EntryPosition
from narrows.worker.write import publish, sweep

_SETTLES_EVERY = 1.0
"""Seconds after which the position is on the disk, and the source knows of it."""
_KNOWS_ITS_LAG_FOR = 5.0
"""Seconds after which a source is asked what it has, though it is not time to read yet."""
_STOPS_WITHIN = 2.0
"""Seconds that the entry has which is being read when the pipeline is stopped."""


class EntrySteps(Protocol):
    """What becomes of an entry. One thread has it done; any may stop it."""

    keeps_state: ClassVar[bool]
    """Is something kept from one entry to the next? It knows the last of them, and no other comes
    again: so the position is on the disk before the next begins, whatever happens to the power."""

    def __len__(self) -> int:
        """How many tasks may have a share of an entry."""

    def run(self, number: int, entry: Entry, tasks: int, *, ends: bool) -> int:
        """Has so many tasks read an entry, and publishes what comes of it: how many rows that are.
        `ends` if there will be no other. One that comes again publishes the same."""

    def check(self) -> None:
        """Raises what has ended the tasks, if something has."""

    def stop(self) -> None:
        """Ends them; what they are doing is given up."""


class WritingSteps:
    """What tasks have written is published."""

    keeps_state: ClassVar[bool] = False

    def __init__(self, write: WriteSpec, tasks: EntryTasks) -> None:
        self._write, self._tasks = write, tasks
        self.check, self.stop = tasks.check, tasks.stop
        sweep(write)

    def __len__(self) -> int:
        return len(self._tasks)

    def run(self, number: int, entry: Entry, tasks: int, *, ends: bool) -> int:
        try:
            return publish(self._write, number, self._tasks.copy(number, entry, tasks))
        except BaseException:
            with contextlib.suppress(Exception):  # the first reason is the one to tell
                sweep(self._write)
            raise


class EntryLoop:
    """What is done with one entry after the other. One thread does it."""

    def __init__(
        self,
        intake: Taking,
        position: EntryPosition,
        written: RowsWritten,
        steps: EntrySteps,
        *,
        ends: bool = False,
    ) -> None:
        """`ends` if what is taken when it starts is all there will ever be."""
        self.intake = intake
        self.batches = RecentBatches()
        self.steps = steps
        self._written = written
        self._position = position
        self._ends = ends
        published = position.read()
        assert published is not None, "it has begun"
        if published > self.intake.log.last():
            raise self.intake.log.is_behind(published)
        if published < self.intake.log.last():  # what is damaged is told to whoever starts it
            self.intake.log.entry(published + 1)
        self._published = self._settled = published
        intake.begin_reading()

    def take_all(self) -> None:
        """What is there now is taken, in as many entries as its limits ask for."""
        available = self.intake.look()
        while (entry := self.intake.new(available)) is not None:
            self.intake.take(entry)

    def step(self, look: Callable[[], Any] | None = None) -> bool:
        """Has one entry read and published, if there is one: what was taken and not published - a
        run was cut short, or a source was away -, or what is new, where one is to look for that."""
        log, number = self.intake.log, self._published + 1
        if number <= log.last():
            self.intake.read_again(number)
        else:
            entry = None if look is None else self.intake.new(look())
            if entry is None:
                return False
            self.intake.take(entry)
        began = time.monotonic()
        self._do(number, log.entry(number))
        self.batches.add(number, time.monotonic() - began)
        return True

    def _do(self, number: int, entry: Entry) -> None:
        count = min(len(self.steps), self.intake.shares(entry))
        ends = self._ends and number == self.intake.log.last()
        self._written.rows += self.steps.run(number, entry, count, ends=ends)
        self._position.move(number)
        if self.steps.keeps_state:
            self._position.sync()
        self._published = number

    @property
    def is_gone(self) -> bool:
        """Has somebody removed the state folder?"""
        return not self._position.is_there

    def settle(self) -> None:
        """The position is on the disk; then the source may know, and forget what it has kept."""
        if self.is_gone:
            raise self.intake.gone()
        if self._published > self._settled:
            self._position.sync()
            self._settled = self._published
            self.intake.fold(self._settled)
        if self._settled >= 0:
            self.intake.tell(self._settled)


class EntryQuery:
    """Like a streaming query, to whoever looks; but it is a thread that has tasks do things."""

    recentProgress = ()  # noqa: N815 (no query of Spark's)

    def __init__(self, name: str, loop: EntryLoop, looks: Looks | None) -> None:
        """Without looks it is a bounded run: what is there now, and no more."""
        self._loop = loop
        self._looks = looks
        self.intakes = loop.intake.intakes
        self._failure: BaseException | None = None
        self._stopped = threading.Event()
        if looks is None:
            # Here and not in the thread: whoever starts a run is told what is wrong, and what comes
            # later is not part of it.
            loop.take_all()
        self._settled = time.monotonic()
        self._thread = threading.Thread(target=self._run, name=f"entries of {name}", daemon=True)
        self._thread.start()

    # --- like a streaming query -------------------------------------------------------------------

    @property
    def isActive(self) -> bool:  # noqa: N802
        return self._thread.is_alive()

    @property
    def batches(self) -> Sequence[Batch]:
        return self._loop.batches.all()

    def exception(self) -> BaseException | None:
        return self._failure

    @property
    def problem(self) -> str | None:
        """What it has to wait for at the moment, if there is something."""
        return self._loop.intake.problem

    def leave_soon(self) -> None:
        """The entry that is being read is its last."""
        self._stopped.set()

    def finish(self, deadline: float) -> None:
        """Waits for the end of that, or until then."""
        self.leave_soon()
        self._thread.join(max(0.0, deadline - time.monotonic()))

    def stop(self) -> None:
        """Ends it. An entry mostly takes milliseconds: it is given up only if it takes longer."""
        self.finish(time.monotonic() + _STOPS_WITHIN)
        self._loop.steps.stop()
        self._thread.join()

    # --- its thread -------------------------------------------------------------------------------

    def _run(self) -> None:
        intake = self._loop.intake
        try:
            if self._looks is not None:
                intake.start()
            self._loop.settle()  # a run before this one may have ended before it could tell
            self._read_all() if self._looks is None else self._go_on(self._looks)
            self._loop.settle()
        except BaseException as error:
            if not self._stopped.is_set():
                self._failure = intake.gone() if self._loop.is_gone else error
        finally:
            with contextlib.suppress(Exception):  # the first reason is the one to tell
                intake.stop()
            self._loop.steps.stop()

    def _read_all(self) -> None:
        while not self._stopped.is_set() and self._loop.step():
            self._settle()

    def _go_on(self, looks: Looks) -> None:
        intake = self._loop.intake
        while not self._stopped.is_set():
            began = time.monotonic()
            found = bool(intake.ask(lambda: self._loop.step(intake.look_patiently)))
            ended = time.monotonic()
            self._rest(ended + looks.after(ended - began, found=found))

    def _rest(self, until: float) -> None:
        """Waits, and sees that all is well as long as it does."""
        intake = self._loop.intake
        while True:
            self._settle()
            left = until - time.monotonic()
            if left <= 0:
                return
            self._loop.steps.check()
            if intake.seconds_since_look > _KNOWS_ITS_LAG_FOR:
                intake.ask(intake.look_patiently)
            if self._stopped.wait(min(left, _SETTLES_EVERY)):
                return

    def _settle(self) -> None:
        """Not after each entry: that it is on the disk takes longer than some of them."""
        if time.monotonic() - self._settled > _SETTLES_EVERY:
            self._loop.settle()
            self._settled = time.monotonic()
