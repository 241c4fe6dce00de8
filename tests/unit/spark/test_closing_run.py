"""The step that closes what is open, when the pipeline is stopped."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from narrows.spark.keeping import closing
from narrows.spark.keeping.closing import ClosingRun

_PATIENCE = 20.0


class Steps:
    """Their job waits for a core, and gets one or is given up."""

    def __init__(self) -> None:
        self.runs, self.core, self.stopped = (threading.Event() for _ in range(3))

    def close(self) -> None:
        self.runs.set()
        deadline = time.monotonic() + _PATIENCE
        while not self.core.wait(0.01):
            if self.stopped.is_set():
                raise InterruptedError("it is to end")
            assert time.monotonic() < deadline, "nobody has given it up"

    def stop(self) -> None:
        self.stopped.set()


def _closing(steps: Steps) -> ClosingRun:
    given: Any = steps
    run = ClosingRun(given)
    assert steps.runs.wait(_PATIENCE)
    return run


def test_a_job_that_waits_for_ever_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closing, "_STOPS_WITHIN", 0.05)
    run = _closing(Steps())
    run.finish(time.monotonic() + 0.05)
    seen = [run.isActive]  # who waits for its end does not end it
    run.stop()
    assert [*seen, run.isActive] == [True, False]
    assert isinstance(run.exception(), InterruptedError)
    assert run.batches == []


def test_one_that_is_about_to_end_does_so() -> None:
    steps = Steps()
    run = _closing(steps)
    threading.Timer(0.05, steps.core.set).start()
    run.stop()
    assert not run.isActive
    assert not steps.stopped.is_set()
    assert run.exception() is None
    assert len(run.batches) == 1
