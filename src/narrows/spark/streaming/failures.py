"""Failures of Spark, for people."""

from __future__ import annotations

ATTEMPTS = 4


def was_too_slow(failure: object) -> bool:
    """Did Spark lose patience with a Python process that had just been started?

    It waits ten seconds for a process to report, and no setting changes that. On a busy machine,
    or when many pipelines start together, that is not enough; the next attempt mostly succeeds.
    """
    return failure is not None and "failed to connect back" in str(failure)


def reason_of(failure: str) -> str:
    """The one line of a Spark failure that says what went wrong."""
    lines = [line.strip() for line in failure.splitlines() if line.strip()]
    for line in reversed(lines):
        # A Python worker's traceback ends with the exception itself.
        if "Error: " in line and not line.startswith(("at ", "File ")):
            return line
    return lines[0] if lines else "no reason was given"
