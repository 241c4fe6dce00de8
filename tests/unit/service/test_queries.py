"""Queries that do not end when they shall: all are answered, and there are not too many."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import pytest

from narrows.errors import NarrowsError
from narrows.service.queries import _ADMITTED, _RUNNING, Queries
from narrows.service.spark import BackgroundSession

PATIENCE = 120.0


class FakeSpark:
    """A session of Spark's that counts how often it was interrupted."""

    def __init__(self) -> None:
        self.interrupts = 0
        self.apart: list[FakeSpark] = []

    def newSession(self) -> FakeSpark:  # noqa: N802
        self.apart.append(FakeSpark())
        return self.apart[-1]

    def interruptAll(self) -> None:  # noqa: N802
        self.interrupts += 1

    def range(self, count: int) -> FakeSpark:
        return self

    def collect(self) -> list[object]:
        return []


class FakeSession:
    def __init__(self) -> None:
        self.spark = FakeSpark()


class Held:
    """Work that goes on until the test lets it go."""

    def __init__(self) -> None:
        self.session = FakeSession()
        spark = BackgroundSession(lambda: cast("Any", self.session))
        up = threading.Event()
        spark.start(lambda _: up.set())
        assert up.wait(PATIENCE)
        self.queries = Queries(spark)
        self.let_go = threading.Event()

    def ask(self, seconds: float = PATIENCE) -> str:
        """Has the work done; the code of the answer."""
        try:
            self.queries.call(lambda _: self.let_go.wait(PATIENCE), "SELECT 1", seconds)
        except NarrowsError as error:
            return error.code.value
        return "done"

    def states(self) -> list[str]:
        return sorted(query.state for query in self.queries.known())


@pytest.fixture
def held() -> Iterator[Held]:
    found = Held()
    yield found
    found.let_go.set()
    found.queries.close()


def _until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_whoever_asked_is_answered_though_the_query_does_not_end(held: Held) -> None:
    while held.states() != ["stopping"]:  # one whose time is over before it begins leaves nothing
        assert held.ask(seconds=0.1) == "timed_out"
    # It may be about to begin another job.
    _until(lambda: any(apart.interrupts >= 3 for apart in held.session.spark.apart))
    held.let_go.set()
    _until(lambda: held.states() == [])
    assert held.ask() == "done"


def test_a_cancelled_query_is_answered_at_once(held: Held) -> None:
    with ThreadPoolExecutor(1) as asking:
        answer = asking.submit(held.ask)
        _until(lambda: held.states() == ["running"])
        held.queries.cancel(held.queries.known()[0].id)
        assert answer.result(PATIENCE) == "cancelled"
        assert held.states() == ["stopping"]


def test_a_service_ends_though_a_query_does_not() -> None:
    code = """
import threading
from narrows.errors import NarrowsError
from test_queries import Held

held, begun = Held(), threading.Event()
def endless(session):
    begun.set()
    threading.Event().wait()
while not begun.is_set():
    try:
        held.queries.call(endless, "SELECT 1", 0.1)
    except NarrowsError as error:
        assert error.code == "timed_out"
held.queries.close()
print("ends")
"""
    path = [str(Path(__file__).parent), *sys.path]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
    command = [sys.executable, "-c", code]
    ended = subprocess.run(command, env=environment, capture_output=True, timeout=PATIENCE)
    assert (ended.returncode, ended.stdout) == (0, b"ends\n"), ended.stderr


def test_there_are_only_so_many(held: Held) -> None:
    with ThreadPoolExecutor(_ADMITTED) as asking:
        answers = [asking.submit(held.ask) for _ in range(_ADMITTED)]
        _until(lambda: len(held.states()) == _ADMITTED)
        _until(lambda: held.states().count("running") == _RUNNING)
        assert held.ask() == "too_many_queries"
        waiting = [query for query in held.queries.known() if query.state == "waiting"]
        held.queries.cancel(waiting[0].id)  # what has not begun is gone at once
        assert len(held.states()) == _ADMITTED - 1
        held.let_go.set()
        found = sorted(answer.result(PATIENCE) for answer in answers)
        assert found == ["cancelled", *["done"] * (_ADMITTED - 1)]
    assert held.states() == []
