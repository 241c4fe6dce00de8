"""As much of Spark as tasks of ours ask for: each task of a job is a thread of this process."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle

_LOOK_SECONDS = 0.01
_PATIENCE = 60.0


class ThreadSpark:
    def __init__(self, master: str = "local[4]", starts: bool = True) -> None:
        self._settings = {"spark.master": master, "spark.app.id": f"threads-{id(self)}"}
        self.starts = starts
        self.fails = threading.Event()
        """Has jobs fail, as they do when a worker is killed."""
        self.interrupted = threading.Event()
        self.conf = self

    def get(self, name: str, default: str | None) -> str | None:
        return self._settings.get(name, default)

    def newSession(self) -> ThreadSpark:  # noqa: N802
        return self

    def interruptAll(self) -> None:  # noqa: N802
        self.interrupted.set()

    def range(self, start: int, end: int, step: int, tasks: int) -> Frame:
        return Frame(self, tasks)


@dataclass(frozen=True)
class Frame:
    """A data frame of numbers, one for each task, and what is made of them."""

    _spark: ThreadSpark
    _tasks: int
    _pickled: bytes = b""
    schema: str = "id BIGINT"

    def mapInArrow(self, function: Callable[..., Any], schema: str) -> Frame:  # noqa: N802
        dumps: Callable[..., bytes] = cloudpickle.dumps
        return replace(self, _pickled=dumps(function), schema=schema)  # as it goes to workers

    def collect(self) -> list[dict[str, Any]]:
        if not self._spark.starts:
            self._spark.interrupted.wait(_PATIENCE)
            return []
        made: dict[int, list[dict[str, Any]]] = {}
        failed: list[BaseException] = []

        def run(task: int) -> None:
            batches = iter([pa.RecordBatch.from_pydict({"id": [task]})])
            try:
                found = list(pickle.loads(self._pickled)(batches))
                made[task] = [row for batch in found for row in batch.to_pylist()]
            except BaseException as error:
                failed.append(error)

        tasks = [threading.Thread(target=run, args=(n,), daemon=True) for n in range(self._tasks)]
        for task in tasks:
            task.start()
        while any(task.is_alive() for task in tasks):
            if self._spark.fails.wait(_LOOK_SECONDS):
                raise RuntimeError("Python worker exited unexpectedly (crashed)")
        if failed:
            raise failed[0]
        return [row for task in sorted(made) for row in made[task]]
