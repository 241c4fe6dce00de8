"""What tasks remember of rows, step by step (`worker/remembered/keeper.py`), on Spark: its jobs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from narrows.connectors.entry_log import Entry
from narrows.spark.sql.own_session import OwnSession
from narrows.spark.streaming.entry_tasks import EntryJobs
from narrows.spark.windows.task_memory import set_attempt
from narrows.spark.write.sink import RowsWritten, batch_and_task, receipts_told, set_step
from narrows.worker.remembered.keeper import MemoryKeeper
from narrows.worker.remembered.store import Merge
from narrows.worker.windows.steps import GroupsFile
from narrows.worker.write import Receipts

_ROWS_A_TASK = 50_000
"""Fewer are not worth another task."""
_FILE = "file"
_Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True)
class SparkMemoryJobs:
    spark: SparkSession
    reading: EntryJobs
    closing: Callable[[SparkSession, int], DataFrame]
    """What so many tasks write at the end of the input."""

    def read(self, batch: int, tasks: int, step: int, attempt: str) -> Sequence[Receipts]:
        self._begin(step, attempt)
        return receipts_told(self.reading.run(batch, tasks), step)

    def close(self, tasks: int, step: int, attempt: str) -> Sequence[Receipts]:
        self._begin(step, attempt)
        return receipts_told(self.closing(self.spark, tasks).collect(), step)

    def _begin(self, step: int, attempt: str) -> None:
        set_step(self.spark, step)
        set_attempt(self.spark, attempt)

    def merge(self, merge: Merge) -> Sequence[GroupsFile]:
        tasks = max(1, min(len(self.reading), merge.rows // _ROWS_A_TASK))

        def run(numbers: _Batches) -> _Batches:
            _, task = batch_and_task(0)
            for _ in numbers:
                yield pa.RecordBatch.from_pydict({_FILE: [json.dumps(merge.run(task, tasks))]})

        made = self.spark.range(0, tasks, 1, tasks).mapInArrow(run, f"{_FILE} STRING")
        files = [json.loads(row[_FILE]) for row in made.collect()]
        return [GroupsFile(*file) for file in files if file is not None]


@dataclass(frozen=True)
class MemorySteps:
    keeps_state: ClassVar[bool] = True

    own: OwnSession
    """Where all its jobs run."""
    tasks: int
    """At most."""
    keeper: MemoryKeeper
    written: RowsWritten

    def __len__(self) -> int:
        return self.tasks

    def run(self, number: int, entry: Entry, tasks: int, *, ends: bool) -> int:
        with self.own.running():
            return self.keeper.run(number, tasks)

    def close(self) -> None:
        with self.own.running():
            self.written.rows += self.keeper.close(self.tasks)

    def check(self) -> None:
        self.own.check()

    def stop(self) -> None:
        self.own.stop()
