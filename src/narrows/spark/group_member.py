"""A pipeline without state on a shared stream: what its tasks read and write."""

from __future__ import annotations

import json
import pickle
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession

from narrows.shared.log import SharedLog
from narrows.spark.log_source import LogSpec, read_entries, shares
from narrows.spark.sink import write_task
from narrows.spark.source import shipped_schema
from narrows.spark.write_spec import WriteSpec

EXECUTION = ".execution"
_RESULT = "member STRING, written BINARY, seconds DOUBLE"


@dataclass
class Member:
    """A pipeline without state."""

    name: str
    write: WriteSpec
    rows: Callable[[int], DataFrame]
    """Its rows, as its sinks take them, of the entries that its task file names; in so many
    partitions."""
    tasks: Path
    position: int = -1
    on_failure: Callable[[Member, BaseException], None] = lambda member, error: None

    def __post_init__(self) -> None:
        self.leaving = False
        self.gone = threading.Event()

    def plan_task(self, upto: int) -> None:
        """Says what the next job reads."""
        self.execution.unlink(missing_ok=True)
        replacing = self.tasks.with_suffix(".new")
        replacing.write_text(json.dumps([self.position, upto]), "utf-8")
        replacing.replace(self.tasks)

    @property
    def execution(self) -> Path:
        """Where its tasks leave word of the execution that they are part of."""
        return self.tasks.with_suffix(EXECUTION)

    def result(self, partitions: int) -> DataFrame:
        """One row for each task: what it wrote."""
        return self.rows(partitions).mapInArrow(_writer(self.name, self.write), _RESULT)


def member_source(spark: SparkSession, log: LogSpec, tasks: Path, partitions: int) -> DataFrame:
    """The rows of the entries that the task file names when the frame is run."""
    numbers = spark.range(0, partitions, 1, partitions)
    return numbers.mapInArrow(_reader(log, str(tasks), partitions), shipped_schema(log.read))


def _reader(
    log: LogSpec, tasks: str, partitions: int
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        tell_execution(Path(tasks))
        after, upto = json.loads(Path(tasks).read_text("utf-8"))
        entries = SharedLog(log.folder).entries(after, upto)
        packed = shares(entries, partitions)
        for batch in batches:
            for partition in batch.column(0).to_pylist():
                yield from read_entries(log, packed[partition])

    return read


def tell_execution(tasks: Path) -> None:
    """Leaves word of the execution that this task is part of: whoever knows it can end it.

    Spark tells nobody but the tasks, and what else ends a job ends only those of one's own thread,
    which waits for the job.
    """
    context = TaskContext.get()
    execution = None if context is None else context.getLocalProperty("spark.sql.execution.id")
    if execution is not None:
        written = tasks.with_suffix(f".{uuid.uuid4().hex}")
        written.write_text(execution, "utf-8")
        written.replace(tasks.with_suffix(EXECUTION))


def _writer(
    name: str, spec: WriteSpec
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        started = time.perf_counter()
        written = write_task(spec, batches)
        columns = [[name], [pickle.dumps(written)], [time.perf_counter() - started]]
        arrays = [pa.array(c, t) for c, t in zip(columns, _RESULT_TYPES, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, names=["member", "written", "seconds"])

    return write


_RESULT_TYPES = (pa.string(), pa.binary(), pa.float64())
