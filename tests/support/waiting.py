"""Waiting for something to be so, as long as it takes, but not for ever."""

from __future__ import annotations

import time
from collections.abc import Callable

DEADLINE = 300.0


def await_that(holds: Callable[[], bool], what: str) -> None:
    """Waits until something is so."""
    deadline = time.monotonic() + DEADLINE
    while not holds():
        assert time.monotonic() < deadline, f"in {DEADLINE:.0f} seconds: {what}"
        time.sleep(0.05)
