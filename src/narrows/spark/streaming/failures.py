"""Why something failed, for people; and whether it is worth another try."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from typing import Literal

from narrows.errors import Code

_TRANSIENT = (
    "failed to connect back",
    "CANNOT_OPEN_SOCKET",
    "Python worker exited unexpectedly (crashed)",
    "Connection reset by peer",
    "ExecutorLostFailure",
    f"error[{Code.SOURCE_UNAVAILABLE}]",
    f"error[{Code.SINK_UNAVAILABLE}]",
)
"""What a busy machine, or a lost executor, makes of tasks that have nothing wrong with them. Spark
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

Restart = Literal["never", "transient", "always"]


def is_transient(failure: object) -> bool:
    """Has it failed for reasons that will probably have passed the next time?"""
    return failure is not None and any(text in str(failure) for text in _TRANSIENT)


@dataclass
class Attempts:
    """How often something is tried again, and how long one waits in between."""

    restart: Restart = "transient"
    most: int = 4
    """So often it is started again, one failure after the other."""
    first_pause: float = 0.5
    longest_pause: float = 60.0
    enough: float = 300.0
    """Seconds after which it counts as running well: the next failure is a new one."""

    restarts: int = 0
    last_failure: str | None = None
    _in_a_row: int = 0
    _began: float = field(default_factory=time.monotonic)

    def pause_after(self, failure: BaseException) -> float | None:
        """How long to wait before the next attempt; None if there is to be none."""
        if time.monotonic() - self._began > self.enough:
            self._in_a_row = 0
        wanted = self.restart == "always" or (self.restart == "transient" and is_transient(failure))
        self.last_failure = reason_of(failure)
        if not wanted or self._in_a_row >= self.most:
            return None
        return min(self.longest_pause, self.first_pause * float(2**self._in_a_row))

    def begin(self) -> None:
        """Another attempt begins."""
        self.restarts += 1
        self._in_a_row += 1
        self._began = time.monotonic()


def reason_of(failure: BaseException | str) -> str:
    """The one line of a failure that says what went wrong: the innermost."""
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
