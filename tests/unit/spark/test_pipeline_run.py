"""A pipeline that failed is started again, a few times, if that is worth it; and says why."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from py4j.clientserver import (  # type: ignore[import-untyped]
    ClientServerConnection,
    JavaParameters,
    PythonParameters,
)
from py4j.protocol import Py4JError, Py4JNetworkError  # type: ignore[import-untyped]
from pyspark.sql.streaming.listener import StreamingQueryProgress

from narrows.connectors import SourceUnavailableError
from narrows.errors import Code, fail
from narrows.spark.run.pipeline_run import DONE, FAILED, RUNNING, STOPPED, PipelineRun
from narrows.spark.running.failures import (
    Attempts,
    Restart,
    Verdict,
    is_spark_gone,
    is_transient,
    reason_of,
)
from narrows.spark.running.running import Batch, Phase, Running
from narrows.spark.running.supervisor import Supervisor

_CALLING = "An error occurred while calling"
SLOW = "org.apache.spark.SparkException: Python worker failed to connect back."


class Ended:
    """A query that has ended, with or without a failure."""

    isActive = False  # noqa: N815
    recentProgress = ()  # noqa: N815
    batches = ()

    def __init__(self, failure: str | None) -> None:
        self._failure = None if failure is None else RuntimeError(failure)

    def exception(self) -> BaseException | None:
        return self._failure

    def stop(self) -> None:
        pass


def run_of(
    tmp_path: Path, failures: list[str | None], **attempts: Any
) -> tuple[PipelineRun, list[str | None]]:
    left = list(failures)
    plan: Any = None
    run = PipelineRun(
        "p",
        plan,
        [lambda previous: Ended(left.pop(0))],
        (),
        tmp_path / "failures" / "p.log",
        attempts=Attempts(first_pause=0.0, **attempts),
    )
    run.begin()
    return run, left


def _tend(run: PipelineRun) -> str:
    while not run.is_over:
        step = run.look()
        if step is not None:
            step()
    return run.status


def test_a_busy_machine_is_given_another_chance(tmp_path: Path) -> None:
    run, left = run_of(tmp_path, [SLOW, SLOW, None])
    assert run.status == RUNNING
    assert _tend(run) == DONE
    assert left == []
    assert run.attempts.restarts == 2
    assert run.attempts.last_failure is not None
    assert not run.trace.exists()


def test_not_for_ever(tmp_path: Path) -> None:
    run, left = run_of(tmp_path, [SLOW] * 9, most=3)
    assert _tend(run) == FAILED
    assert len(left) == 5
    assert "failed to connect back" in run.trace.read_text()
    assert run.await_end(0)


@pytest.mark.parametrize("failure", ["a bad payload", "out of memory"])
def test_what_will_not_heal_is_tried_again_only_if_asked_to(tmp_path: Path, failure: str) -> None:
    run, left = run_of(tmp_path, [failure, None])
    assert _tend(run) == FAILED
    assert left == [None]
    assert run.error == failure
    run, left = run_of(tmp_path, [failure, None], restart="always")
    assert _tend(run) == DONE
    run, left = run_of(tmp_path, [SLOW, None], restart="never")
    assert _tend(run) == FAILED


def test_what_was_stopped_stays_stopped(tmp_path: Path) -> None:
    run, left = run_of(tmp_path, [SLOW, None])
    run.stop()
    assert run.status == STOPPED
    assert left == [None]


def test_a_phase_follows_when_the_one_before_has_ended_well(tmp_path: Path) -> None:
    plan: Any = None
    began: list[str] = []

    def phase(name: str, *failures: str | None) -> Phase:
        left = list(failures)

        def start(previous: Running | None) -> Running | None:
            began.append(name)
            assert (previous is None) == (name == "first")
            return Ended(left.pop(0)) if left else None

        return start

    phases = [phase("first", SLOW, None), phase("second", SLOW, None), phase("third")]
    attempts = Attempts(first_pause=0.0)
    run = PipelineRun("p", plan, phases, (), tmp_path / "p.log", attempts)
    run.begin()
    assert _tend(run) == DONE
    assert began == ["first", "first", "second", "second", "third"], "what failed, and no other"


def test_what_cannot_be_started_again_has_failed_again(tmp_path: Path) -> None:
    plan: Any = None
    began: list[int] = []

    def start(previous: Running | None) -> Running:
        began.append(1)
        if len(began) == 2:
            raise ConnectionRefusedError("nobody there")
        return Ended(SLOW if len(began) == 1 else None)

    run = PipelineRun("p", plan, [start], (), tmp_path / "p.log", Attempts(first_pause=0.0))
    run.begin()
    assert _tend(run) == DONE
    assert run.attempts.restarts == 2
    assert run.attempts.last_failure == "nobody there"


def test_pauses_grow() -> None:
    now, waited = 0.0, []
    attempts = Attempts(most=4, first_pause=1, longest_pause=5, clock=lambda: now)
    failure = RuntimeError(SLOW)
    while (verdict := attempts.after(failure)) is not Verdict.GIVE_UP:
        began = now
        while verdict is Verdict.WAIT:
            now += 0.5
            verdict = attempts.after(failure)
        assert verdict is Verdict.AGAIN
        waited.append(now - began)
    assert waited == [1, 2, 4, 5]
    assert attempts.restarts == 4


def test_who_ran_well_for_long_has_all_attempts_again() -> None:
    now = 0.0
    attempts = Attempts(most=1, first_pause=0, enough=100, clock=lambda: now)
    failure = RuntimeError(SLOW)
    assert attempts.after(failure) is Verdict.AGAIN
    assert attempts.after(failure) is Verdict.GIVE_UP
    now += 101
    assert attempts.after(failure) is Verdict.AGAIN


def test_some_are_tried_for_ever() -> None:
    now = 0.0
    attempts = Attempts("always", None, longest_pause=30, clock=lambda: now)
    for _ in range(5_000):
        assert attempts.after(ValueError()) is not Verdict.GIVE_UP
        now += 30
    assert attempts.restarts > 2_000


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        (fail(Code.BAD_PAYLOAD, "it is bad", None, "mend it"), "it is bad (bad_payload)"),
        (
            "Traceback (most recent call last):\n  File 'x'\n"
            "pyspark.errors.exceptions.captured.SparkRuntimeException:"
            " [USER_RAISED_EXCEPTION] boom SQLSTATE: P0001\n\nJVM stacktrace:\n\tat org.apache.X",
            "boom (USER_RAISED_EXCEPTION)",
        ),
        (
            "[STREAM_FAILED] Query p terminated: [DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 1",
            "Division by zero. (DIVIDE_BY_ZERO)",
        ),
        ("Traceback:\n  File 'x', line 3\nValueError: no such thing", "ValueError: no such thing"),
        ("something else", "something else"),
        (ValueError(), "ValueError, and no reason was given"),
    ],
)
def test_the_innermost_reason_is_told(failure: BaseException | str, reason: str) -> None:
    assert reason_of(failure) == reason


def _without_a_jvm() -> ConnectionError:
    """What py4j raises when nobody listens."""
    parts = (JavaParameters(port=1), PythonParameters(), Mock(), Mock())
    with pytest.raises(ConnectionRefusedError) as caught:
        ClientServerConnection(*parts).connect_to_java_server()
    return caught.value


class WithoutSpark:
    """A query whose JVM has gone: whatever one asks it raises."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    @property
    def isActive(self) -> bool:  # noqa: N802
        raise self._error

    @property
    def recentProgress(self) -> Sequence[StreamingQueryProgress]:  # noqa: N802
        raise self._error

    @property
    def batches(self) -> Sequence[Batch]:
        raise self._error

    def exception(self) -> BaseException | None:
        raise self._error

    def stop(self) -> None:
        raise self._error


@pytest.mark.parametrize("restart", ["always", "transient"])
def test_without_a_jvm_nothing_is_tried_again(tmp_path: Path, restart: Restart) -> None:
    error = _without_a_jvm()
    silent, empty = Py4JError(f"{_CALLING} o1.collectToPython"), Py4JNetworkError("empty")
    nothing = Py4JError("py4j.reflection.TypeUtil does not exist in the JVM")
    for gone in (error, silent, empty, nothing):
        assert is_spark_gone(gone)
        assert not is_transient(gone)
        assert Attempts(restart).after(gone) is Verdict.GIVE_UP
    assert not is_spark_gone(ConnectionRefusedError())  # of a source, maybe
    assert not is_spark_gone(Py4JError(f"{_CALLING} o1.x. Trace:\npy4j.Py4JException"))


def test_a_pipeline_without_a_jvm_ends(tmp_path: Path) -> None:
    plan: Any = None
    query = WithoutSpark(_without_a_jvm())
    run = PipelineRun("p", plan, [lambda previous: query], (), tmp_path / "p.log")
    run.begin()
    supervisor = Supervisor()
    supervisor.add(run)
    assert run.await_end(60)
    assert run.status == FAILED
    assert run.error == "Spark's Java process has ended, or cannot be reached any more"


def test_what_is_transient() -> None:
    assert is_transient(RuntimeError(SLOW))
    assert is_transient("java.io.IOException: Broken pipe")
    assert is_transient(
        "EOFException occurred while reading the port number from pyspark.daemon's stdout"
    )
    assert is_transient(ConnectionResetError())
    assert is_transient(SourceUnavailableError("the broker is away"))
    assert is_transient("[CANNOT_OPEN_SOCKET] Can not open socket")
    assert not is_transient(None)
    assert not is_transient("[DIVIDE_BY_ZERO]")


def test_failures_are_kept_up_to_a_limit(tmp_path: Path) -> None:
    for _ in range(30):
        run, _ = run_of(tmp_path, ["x" * 100_000], restart="never")
        assert _tend(run) == FAILED
    kept = sum(path.stat().st_size for path in (tmp_path / "failures").iterdir())
    assert 1 << 20 < kept < 3 << 20
