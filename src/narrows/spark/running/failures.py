"""Why something failed, for people; and whether it is worth another try."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Literal

from py4j.protocol import Py4JError, Py4JNetworkError  # type: ignore[import-untyped]

from narrows.errors import Code

_TRANSIENT = (
    "failed to connect back",
    "CANNOT_OPEN_SOCKET",
    "Python worker exited unexpectedly (crashed)",
    "Connection reset by peer",
    "Broken pipe",
    "reading the port number from pyspark.daemon",
    "ExecutorLostFailure",
    f"error[{Code.SOURCE_UNAVAILABLE}]",
    f"error[{Code.SINK_UNAVAILABLE}]",
    f"error[{Code.NO_FREE_CORE}]",
)
"""What a busy machine, a lost executor, or a Python worker that was killed (by the system, for want
of memory) makes of tasks that have nothing wrong with them. How a worker's death is told depends on
who was talking to it, and on whether it is the worker or what starts workers that is dead. Spark
waits ten seconds for a Python process to report, for example, and no setting changes that."""

_OURS = re.compile(r"error\[(\w+)\]: ([^\n]+)")
_PYTHON = re.compile(r"^(?:[\w.]+\.)?(\w*(?:Error|Exception|Interrupt)): (.+)$")
_SPARK = re.compile(r"(?=\[([A-Z][A-Z0-9_.]+)\] ([^\n]+))")  # one may stand in another
_SAYS_NOTHING = (
    "STREAM_FAILED",
    "FOREACH_BATCH_USER_FUNCTION_ERROR",
    "FOREACH_USER_FUNCTION_ERROR",
)
"""Conditions that only say that something else has failed."""

_CALLING, _NOT_THERE = "An error occurred while calling", "does not exist in the JVM"

Restart = Literal["never", "transient", "always"]


def is_spark_gone(failure: object) -> bool:
    """Has Spark's Java process ended, or can it be reached no more?

    Then whatever one asks fails, in one of three ways: what was asked has no answer, the next
    question finds nobody who listens, or is refused with no reason at all.
    """
    if isinstance(failure, Py4JNetworkError):
        return True
    if type(failure) is Py4JError:
        text = str(failure)
        return _NOT_THERE in text or (text.startswith(_CALLING) and "Trace:" not in text)
    return isinstance(failure, ConnectionError) and _is_raised_by_py4j(failure)


def _is_raised_by_py4j(failure: BaseException) -> bool:
    """Sources have connections, too, which are none of Spark's."""
    trace = failure.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and trace.tb_frame.f_globals.get("__package__") == "py4j"


def is_transient(failure: object) -> bool:
    """Has it failed for reasons that will probably have passed the next time?"""
    if is_spark_gone(failure):
        return False
    if isinstance(failure, (ConnectionError, TimeoutError)):
        return True
    return failure is not None and any(text in str(failure) for text in _TRANSIENT)


class Verdict(Enum):
    """What is to be done about something that has failed."""

    AGAIN = "start it again, now"
    WAIT = "not yet"
    GIVE_UP = "never again"


@dataclass
class Attempts:
    """How often something is tried again, and how long one waits in between: the one policy for
    everything that runs.

    Whoever looks after it asks `after(failure)` with every look, and does what it says.
    """

    restart: Restart = "transient"
    most: int | None = 8
    """So often it is started again, one failure after the other; None: for ever. With the pauses in
    between these are some minutes: a machine may be busy for that long, and nobody looks."""
    first_pause: float = 0.5
    longest_pause: float = 60.0
    enough: float = 300.0
    """Seconds after which it counts as running well: the next failure is a new one."""
    clock: Callable[[], float] = time.monotonic

    restarts: int = 0
    last_failure: str | None = None
    _in_a_row: int = 0
    _began: float | None = None
    _again_at: float | None = None
    """When the pause is over that the last failure has brought."""

    def after(self, failure: BaseException) -> Verdict:
        """What to do about a failure; `AGAIN` is said once, and is another attempt."""
        if self._again_at is None:
            pause = self._pause_after(failure)
            if pause is None:
                return Verdict.GIVE_UP
            self._again_at = self.clock() + pause
        if self.clock() < self._again_at:
            return Verdict.WAIT
        self._again_at, self._began = None, self.clock()
        self.restarts += 1
        self._in_a_row += 1
        return Verdict.AGAIN

    def succeeded(self) -> None:
        """It has done what it should: the next failure is a new one."""
        self._in_a_row, self._again_at = 0, None

    def _pause_after(self, failure: BaseException) -> float | None:
        if self._began is not None and self.clock() - self._began > self.enough:
            self._in_a_row = 0
        wanted = self.restart == "always" or (self.restart == "transient" and is_transient(failure))
        wanted = wanted and not is_spark_gone(failure)  # nothing can be started any more
        self.last_failure = reason_of(failure)
        if not wanted or (self.most is not None and self._in_a_row >= self.most):
            return None
        doublings = min(self._in_a_row, 30)  # a float ends somewhere
        return min(self.longest_pause, self.first_pause * float(2**doublings))


def reason_of(failure: BaseException | str) -> str:
    """The one line of a failure that says what went wrong: the innermost."""
    if is_spark_gone(failure):
        return "Spark's Java process has ended, or cannot be reached any more"
    text = str(failure)
    ours = _OURS.findall(text)
    if ours:
        code, message = ours[-1]
        return f"{message} ({code})"
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for line in reversed(lines):
        found = _PYTHON.match(line)
        if found and not line.startswith(("at ", "File ")):
            inner = _SPARK.search(found[2])
            return _shown(inner) if inner else f"{found[1]}: {found[2]}"
    conditions = [found for found in _SPARK.finditer(text) if found[1] not in _SAYS_NOTHING]
    if conditions:
        return _shown(conditions[-1])
    return lines[0] if lines else f"{type(failure).__name__}, and no reason was given"


def _shown(condition: re.Match[str]) -> str:
    message = condition[2].partition(" SQLSTATE:")[0].rstrip()
    return f"{message} ({condition[1]})"
