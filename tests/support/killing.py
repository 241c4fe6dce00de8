"""Kills processes of a run of all kinds of pipelines at random, while files arrive.

A run of some of them is started, loses a few Python workers - each after something was published
since the one before -, and then its driver, its JVM or everything at once; then the next run is
started. In the end one that is not killed has all of them read what is left, and every row must be
there once.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from support.all_kinds import PIPELINES, SHARED, AllKinds
from support.processes import Process, Tree, tree

ENDS = ("driver", "jvm", "all")
"""What ends a run."""
WORKERS = ("busy worker", "busy worker", "worker", "daemon")
"""What a run must survive: whoever has worked last, any of them, and what starts them."""
_FEWEST_WORKERS, _MOST_WORKERS = 4, 8
"""In one life. Whoever fails more often than eight times in a row is given up; on a shared stream
it would have no claim to the rows that others go on to read."""
_PATIENCE = 900.0


class Life(NamedTuple):
    """What runs, what it loses while it runs, and what ends it."""

    pipelines: Sequence[str]
    workers: Sequence[str]
    end: str


class Killing:
    """A campaign in a folder. `killed` counts what was killed."""

    def __init__(
        self, folder: Path, seed: int, say: Callable[[str], None] = lambda text: None
    ) -> None:
        self._chance = random.Random(seed)
        self._pipelines = AllKinds(folder)
        self._say = say
        self._left: list[Process] = []
        self._orphans: list[Process] = []
        self._feeding = threading.Event()
        self.killed: Counter[str] = Counter()
        self.signals = 0
        """How many processes that were: with a run that is killed as a whole there are several."""
        self.ended_by_themselves = 0

    @property
    def rows(self) -> int:
        return self._pipelines.rows

    def live(self, life: Life, every: float = 1.0) -> None:
        """`every` so many seconds, or half or twice of that, there is a new file."""
        for _ in range(2):
            self._pipelines.put()
        self._say(f"run {', '.join(life.pipelines)}")
        process = self._pipelines.run(*life.pipelines, "--trigger", "0 seconds")
        self._orphans = []
        feeder = threading.Thread(target=self._feed, args=(every,))
        self._feeding.set()
        feeder.start()
        try:
            for kind in (*life.workers, life.end):
                if not self._await_output(process, life.pipelines):
                    self.ended_by_themselves += 1
                    self._say("the run has ended by itself")
                    break
                # While something is read, written, published or committed.
                threading.Event().wait(self._chance.uniform(0, 1.0))
                self._kill(kind, process.pid)
            self._await_end(process)
        finally:
            self._feeding.clear()
            feeder.join()
            self._remember(tree(process.pid))
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def finish(self) -> list[str]:
        """Reads what is left; what is wrong then."""
        self._pipelines.put()
        code = self._pipelines.run_once()
        for left in self._left:
            left.kill()
        wrong = [said for name in PIPELINES if (said := self._pipelines.wrong(name))]
        return wrong if code == 0 else [f"the last run ended with {code}", *wrong]

    def draw(self, most: int) -> Life:
        """A life of not more than `most` kills."""
        alone = [name for name in PIPELINES if name not in SHARED]
        if self._chance.random() < 0.5:
            pipelines = self._chance.sample(alone, k=3)
        else:
            pipelines = [self._chance.choice(alone), *SHARED]
        count = min(most - 1, self._chance.randint(_FEWEST_WORKERS, _MOST_WORKERS))
        return Life(pipelines, self._chance.choices(WORKERS, k=count), self._chance.choice(ENDS))

    def _feed(self, every: float) -> None:
        pause = threading.Event()
        chance = random.Random(self._pipelines.rows)
        while self._feeding.is_set():
            self._pipelines.put()
            pause.wait(every * chance.uniform(0.5, 2.0))

    def _await_output(self, process: subprocess.Popen[bytes], pipelines: Sequence[str]) -> bool:
        """Waits until some have published since; False if the run has ended before."""
        before = [self._pipelines.published(name) for name in pipelines]
        enough = self._chance.randint(1, 2)
        deadline, pause = time.monotonic() + _PATIENCE, threading.Event()
        while process.poll() is None:
            now = [self._pipelines.published(name) for name in pipelines]
            if sum(a != b for a, b in zip(before, now, strict=True)) >= enough:
                return True
            assert time.monotonic() < deadline, "nothing more was published in time"
            pause.wait(0.05)
        return False

    def _kill(self, kind: str, pid: int) -> None:
        """Waits for one of these, and kills it."""
        deadline, pause = time.monotonic() + _PATIENCE, threading.Event()
        while time.monotonic() < deadline:
            there = tree(pid)
            self._remember(there)
            if kind == "daemon" and not there.daemons:
                kind = "worker"  # those it started work on, and nobody needs another while they do
            if signals := sum(victim.kill() for victim in self._victims(kind, there)):
                if kind == "daemon":
                    self._orphans += there.workers
                self.signals += signals
                self.killed[kind] += 1
                self._say(f"killed {kind}, {self._pipelines.rows} rows so far")
                return
            pause.wait(0.1)
        raise AssertionError(f"there was no {kind} to be killed")

    def _victims(self, kind: str, there: Tree) -> list[Process]:
        # Those whose daemon was killed work on, and belong to nobody any more.
        workers = [*there.workers, *(w for w in self._orphans if w.is_alive)]
        match kind:
            case "driver":
                return [there.driver]
            case "jvm":
                return there.jvm
            case "daemon":
                return there.daemons
            case "all":
                return [*there.all, *self._orphans]
        if kind == "busy worker":
            before = {worker: worker.work for worker in workers}
            threading.Event().wait(0.05)
            busy = [worker for worker in workers if worker.work > before[worker]]
            workers = busy or workers
        return [self._chance.choice(workers)] if workers else []

    def _await_end(self, process: subprocess.Popen[bytes]) -> None:
        """A driver whose JVM is gone ends by itself."""
        try:
            process.wait(timeout=_PATIENCE)
        except subprocess.TimeoutExpired as error:
            raise AssertionError("the driver goes on without a JVM") from error

    def _remember(self, there: Tree) -> None:
        """What may outlive its driver for a while, and must be gone in the end."""
        self._left = [left for left in {*self._left, *there.all} if left.is_alive]
