"""Failures of Spark, for people."""

from __future__ import annotations


def reason_of(failure: str) -> str:
    """The one line of a Spark failure that says what went wrong."""
    lines = [line.strip() for line in failure.splitlines() if line.strip()]
    for line in reversed(lines):
        # A Python worker's traceback ends with the exception itself.
        if "Error: " in line and not line.startswith(("at ", "File ")):
            return line
    return lines[0] if lines else "no reason was given"
