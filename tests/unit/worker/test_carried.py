"""What tasks must know is unpickled once in each worker."""

from __future__ import annotations

import pickle

from narrows.demand import ALL
from narrows.projection.columns import DecodeProjection
from narrows.sql.parser.types import read_schema
from narrows.worker.carried import Carried
from narrows.worker.read_spec import ReadSpec

SPEC = ReadSpec("s", "file", "json", DecodeProjection(read_schema("a INT"), ALL), names=("x0",))


def test_each_task_gets_the_same_object() -> None:
    carried = Carried((SPEC, 1))
    tasks = [pickle.loads(pickle.dumps(carried)) for _ in range(3)]
    assert tasks[0].value == (SPEC, 1)
    assert all(task.value is tasks[0].value for task in tasks)
