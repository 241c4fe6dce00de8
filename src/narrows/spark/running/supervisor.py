"""One thread that looks after everything that runs in a session: pipelines and shared streams.

Each of them knows what is to be done next, and says so when it is looked at. What is done at once -
noting that something has ended, has failed, must wait - it does itself. What takes its time, like
starting a query of Spark's, it gives back as a step. There is one step between two looks at
everybody: who fails while ten others are being started is told so after one of them, not after ten.

Anybody may add something, wake the thread or stop what runs, from any thread.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable
from typing import Protocol

_LOG = logging.getLogger("narrows.run")
_LOOK_SECONDS = 0.1

Step = Callable[[], None]


class Supervised(Protocol):
    """Something that is looked after."""

    @property
    def is_over(self) -> bool:
        """Is there nothing left to look after?"""

    def look(self) -> Step | None:
        """Notes what has happened; what is to be done next, if that takes its time."""

    def fail(self, error: BaseException) -> None:
        """Looking after it went wrong: it cannot go on."""


class Supervisor:
    def __init__(self, before: Callable[[], object] = lambda: None) -> None:
        """`before` is called first in every thread of the supervisor."""
        self._before = before
        self._things: list[Supervised] = []
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._woken = threading.Event()

    def add(self, *things: Supervised) -> None:
        """Looks after these from now on, until they are over."""
        with self._lock:
            self._things += [thing for thing in things if thing not in self._things]
            if self._things and self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="narrows-supervisor", daemon=True
                )
                self._thread.start()
        self.wake()

    def wake(self) -> None:
        """Something has happened: has the next look come now."""
        self._woken.set()

    def _run(self) -> None:
        with contextlib.suppress(Exception):  # then whoever needs it will say what is wrong
            self._before()
        while things := self._left():
            self._woken.clear()
            steps = [(thing, step) for thing in things if (step := _look(thing)) is not None]
            if not steps:
                self._woken.wait(_LOOK_SECONDS)
                continue
            thing, step = steps[0]
            _do(thing, step)
            with self._lock:  # the others come first now
                self._things.remove(thing)
                self._things.append(thing)

    def _left(self) -> list[Supervised]:
        """What is still to be looked after; when that is nothing, the thread ends."""
        with self._lock:
            self._things = [thing for thing in self._things if not thing.is_over]
            if not self._things:
                self._thread = None
            return list(self._things)


def _look(thing: Supervised) -> Step | None:
    try:
        return thing.look()
    except BaseException as error:
        _fail(thing, error)
        return None


def _do(thing: Supervised, step: Step) -> None:
    try:
        step()
    except BaseException as error:
        _fail(thing, error)


def _fail(thing: Supervised, error: BaseException) -> None:
    """What goes wrong with one of them is its own failure, and not the others'."""
    try:
        thing.fail(error)
    except Exception:
        _LOG.exception("what has failed could not be ended")
