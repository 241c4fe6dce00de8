"""A start that Spark lost patience with is tried again, a few times; no other failure is."""

from __future__ import annotations

from typing import Any

import pytest

from narrows.spark.run.run import DONE, FAILED, RUNNING, PipelineRun
from narrows.spark.streaming.failures import ATTEMPTS

SLOW = "org.apache.spark.SparkException: Python worker failed to connect back."


class Ended:
    """A query that has ended, with or without a failure."""

    isActive = False  # noqa: N815

    def __init__(self, failure: str | None) -> None:
        self._failure = failure

    def exception(self) -> str | None:
        return self._failure

    def stop(self) -> None:
        pass


def run_of(failures: list[str | None]) -> tuple[PipelineRun, list[str | None]]:
    left = list(failures)
    query: Any = Ended(left.pop(0))
    plan: Any = None
    return PipelineRun("p", plan, query, (), restart=lambda: Ended(left.pop(0))), left  # type: ignore[arg-type, return-value]


def test_a_slow_start_is_tried_again() -> None:
    run, left = run_of([SLOW, SLOW, None])
    assert [run.status, run.status, run.status] == [RUNNING, RUNNING, DONE]
    assert left == []


def test_not_for_ever() -> None:
    run, left = run_of([SLOW] * (ATTEMPTS + 3))
    assert [run.status for _ in range(ATTEMPTS + 1)] == [
        *[RUNNING] * (ATTEMPTS - 1),
        FAILED,
        FAILED,
    ]
    assert len(left) == 3


@pytest.mark.parametrize("failure", ["a bad payload", "out of memory"])
def test_other_failures_are_failures(failure: str) -> None:
    run, left = run_of([failure, None])
    assert run.status == FAILED
    assert left == [None]


def test_what_was_stopped_stays_so() -> None:
    run, left = run_of([SLOW, None])
    run.stopped = True
    assert run.status == FAILED
    assert left == [None]
