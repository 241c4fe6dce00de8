"""What tasks must know is unpickled once in each worker."""

from __future__ import annotations

import gc
import pickle
import sys
from types import ModuleType

import pytest

from narrows.demand import ALL
from narrows.projection.columns import DecodeProjection
from narrows.sql.parser.types import read_schema
from narrows.worker import carried
from narrows.worker.carried import Carried, spare_collector
from narrows.worker.read_spec import ReadSpec

SPEC = ReadSpec("s", "file", "json", DecodeProjection(read_schema("a INT"), ALL), names=("x0",))


def test_each_task_gets_the_same_object() -> None:
    told = Carried((SPEC, 1))
    tasks = [pickle.loads(pickle.dumps(told)) for _ in range(3)]
    assert tasks[0].value == (SPEC, 1)
    assert all(task.value is tasks[0].value for task in tasks)


def test_the_collector_is_spared_whenever_modules_have_come(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[str] = []
    monkeypatch.setattr(gc, "collect", lambda: calls.append("collect"))
    monkeypatch.setattr(gc, "freeze", lambda: calls.append("freeze"))
    monkeypatch.setattr(carried, "_loaded", 0)
    for _ in range(3):
        spare_collector()
    assert calls == ["collect", "freeze"]
    monkeypatch.setitem(sys.modules, "narrows_has_just_come", ModuleType("x"))
    spare_collector()
    assert calls == ["collect", "freeze"] * 2


def test_only_where_tasks_of_spark_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gc, "freeze", lambda: pytest.fail("this is no worker"))
    monkeypatch.setattr(carried, "_loaded", 0)
    assert Carried(1).value == 1
