"""A pipeline without state on a shared stream: what its tasks read and write."""

from __future__ import annotations

import contextlib
import json
import math
import os
import pickle
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession

from narrows.connectors.target import WriteSpec
from narrows.files.small import read_small, write_small
from narrows.spark.read.shipped import shipped_schema
from narrows.spark.running.running import Batch, RecentBatches
from narrows.spark.shared.ingest import Goal
from narrows.spark.write.sink import RowsWritten
from narrows.worker.carried import Carried
from narrows.worker.read import read_entry
from narrows.worker.read_spec import ReadSpec
from narrows.worker.write import receipts_to_text, write_task

EXECUTION = ".execution"
_MAGIC = "narrows-tasks-1"
_WRITTEN = ".written"
_LEFT = ".left"
_LEAVE_SECONDS = 0.3
"""How long a member that is stopped waits for the job that it is part of."""
Batches = Iterator[pa.RecordBatch]
_RESULT = "member STRING, part INT, written STRING, seconds DOUBLE"


class Copies(NamedTuple):
    """What a task has to know of a pipeline whose readers write."""

    name: str
    read: ReadSpec
    write: WriteSpec
    tasks: Path


@dataclass(eq=False)
class Member:
    """A pipeline without state."""

    name: str
    write: WriteSpec
    result: Callable[[int], DataFrame] | ReadSpec
    """One row for each task, in so many partitions: what it wrote of the entries that the
    pipeline's task file names. Or what to read, if that is what it writes: then no row of it
    crosses the JVM, and Spark need not know about it."""
    tasks: Path
    position: int = -1
    goal: Goal | None = None
    """What it reads, and no more; None: whatever comes."""
    published: RowsWritten = field(default_factory=RowsWritten)
    is_quick: bool = False
    """Is it to have its rows within milliseconds? Its readers write then."""
    is_planned_once: bool = False
    """Its frame may be run again and again (`spark.compile.plan`)."""

    def __post_init__(self) -> None:
        self._frames: dict[int, DataFrame] = {}
        self.batches = RecentBatches()
        self.copies: Carried[Copies] | None = None
        if isinstance(self.result, ReadSpec):
            self.copies = Carried(Copies(self.name, self.result, self.write, self.tasks))
        self.begin()

    def frame(self, partitions: int) -> DataFrame:
        """The result of one that Spark computes. It is analyzed once, if that will do: whoever is
        given a lane of its own, because somebody has failed, is to show soon whether it is to
        blame."""
        assert not isinstance(self.result, ReadSpec)
        if partitions not in self._frames or not self.is_planned_once:
            self._frames[partitions] = self.result(partitions)
        return self._frames[partitions]

    def begin(self) -> None:
        """Begins where it was; again, if it has failed."""
        self.leaving = False
        self.left_alone_until = math.inf
        """When whoever has asked it to leave will wait no longer."""
        self.failure: BaseException | None = None
        self.gone = threading.Event()
        self._left.unlink(missing_ok=True)

    def leave_soon(self) -> None:
        """The job that runs is its last."""
        if not self.leaving:
            self.leaving = True
            self.left_alone_until = time.monotonic() + _LEAVE_SECONDS

    def leave(self) -> None:
        """It is part of no job any more: what tasks of one still write is not published, and those
        that have not begun read nothing."""
        if not self.gone.is_set():
            with contextlib.suppress(OSError):  # a full disk: its tasks write what nobody will see
                self._left.touch()
            self.gone.set()

    @property
    def is_done(self) -> bool:
        upto = None if self.goal is None else self.goal.upto
        return self.leaving or (upto is not None and self.position >= upto)

    def plan_task(self, upto: int) -> int:
        """Says what the next job reads, and answers how far it does.

        One that was planned and has not moved the position is run again as it was, though there is
        more to read by now: a sink may have taken its rows.
        """
        self.execution.unlink(missing_ok=True)
        self._written.mkdir(exist_ok=True)
        for mark in self._written.iterdir():
            mark.unlink(missing_ok=True)
        planned = read_plan(self.tasks)
        if planned is not None and planned["after"] == self.position:
            return int(planned["upto"])
        write_small(self.tasks, _MAGIC, {"after": self.position, "upto": upto})
        return upto

    def is_under_way(self, partitions: int) -> bool:
        """Have its tasks begun, and not all come to their end? Then it may be the one to blame for
        the end of a job."""
        return self.execution.exists() and len(os.listdir(self._written)) < partitions

    @property
    def _left(self) -> Path:
        return self.tasks.with_suffix(_LEFT)

    @property
    def _written(self) -> Path:
        """Where its tasks leave word when they have written."""
        return self.tasks.with_suffix(_WRITTEN)

    @property
    def execution(self) -> Path:
        """Where its tasks leave word of the execution that they are part of."""
        return self.tasks.with_suffix(EXECUTION)


class MemberQuery:
    """A member that runs; to whoever looks, like a streaming query of Spark."""

    recentProgress = ()  # noqa: N815

    @property
    def batches(self) -> Sequence[Batch]:
        return self._member.batches.all()

    def __init__(self, member: Member, remove: Callable[[Member], None]) -> None:
        self._member = member
        self._remove = remove

    @property
    def isActive(self) -> bool:  # noqa: N802
        return not self._member.gone.is_set()

    def exception(self) -> BaseException | None:
        return self._member.failure

    def leave_soon(self) -> None:
        """The job that runs is its last."""
        self._member.leave_soon()

    def finish(self, deadline: float) -> None:
        """Waits for the end of that job, or until then."""
        self.leave_soon()
        self._member.gone.wait(max(0.0, deadline - time.monotonic()))

    def stop(self) -> None:
        self._remove(self._member)


def member_source(spark: SparkSession, spec: ReadSpec, tasks: Path, partitions: int) -> DataFrame:
    """The rows of the entries that the task file names when the frame is run."""
    carried = Carried(spec)

    def read(batches: Batches) -> Batches:
        return _read(carried.value, tasks, partitions, batches)

    return spark.range(0, partitions, 1, partitions).mapInArrow(read, shipped_schema(spec))


def written(rows: DataFrame, name: str, write: WriteSpec, tasks: Path) -> DataFrame:
    """What the tasks of a pipeline write: rows that are as its sinks take them."""
    carried = Carried(write)

    def save(batches: Batches) -> Batches:
        context = TaskContext.get()
        task = 0 if context is None else context.partitionId()
        yield _as_batch(_write(name, carried.value, batches, tasks, task))

    return rows.mapInArrow(save, _RESULT)


def copied(
    spark: SparkSession, all_copies: Sequence[Carried[Copies]], partitions: int, tasks: int
) -> DataFrame:
    """The same for pipelines whose readers write, in so many tasks for all of them together: one
    more of them costs Spark nothing."""
    work = [(copies, part) for copies in all_copies for part in range(partitions)]
    tasks = min(tasks, len(work))

    def copy(batches: Batches) -> Batches:
        for batch in batches:
            for task in batch.column(0).to_pylist():
                for copies, part in work[task::tasks]:
                    yield _as_batch(_copy(copies.value, part, partitions))

    return spark.range(0, tasks, 1, tasks).mapInArrow(copy, _RESULT)


class CopyWork:
    """The same for a task that lasts (`worker/lasting.py`): each message says for which pipelines,
    for they come and go. It is pickled, as what Spark tells its tasks is: the driver sends it, over
    a connection that nobody else can open."""

    def do(self, message: bytes) -> str:
        all_copies: list[Carried[Copies]] = pickle.loads(message)
        return json.dumps([_copy(copies.value, 0, 1)._asdict() for copies in all_copies])


def copy_message(all_copies: Sequence[Carried[Copies]]) -> bytes:
    return pickle.dumps(list(all_copies))


def _copy(copies: Copies, part: int, partitions: int) -> _Written:
    name, read, write, file = copies
    return _write(name, write, _read_part(read, file, part, partitions), file, part)


def _read(spec: ReadSpec, tasks: Path, partitions: int, numbers: Batches) -> Batches:
    for batch in numbers:
        for partition in batch.column(0).to_pylist():
            yield from _read_part(spec, tasks, partition, partitions)


def _read_part(spec: ReadSpec, tasks: Path, partition: int, partitions: int) -> Batches:
    if tasks.with_suffix(_LEFT).exists():
        return
    tell_execution(tasks)
    entry = read_plan(tasks)
    yield from read_entry(spec, entry, 0, partition, partitions)


def read_plan(tasks: Path) -> dict[str, int] | None:
    """The entries that the next job of a pipeline reads, or those that the last one has read."""
    hint = "restore the state folder, or start the pipeline anew with `narrows reset`"
    found: dict[str, int] | None = read_small(tasks, _MAGIC, "what a job was to read", hint)
    return found


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


class _Written(NamedTuple):
    """What a task has to say of what it wrote of a pipeline."""

    member: str
    part: int
    written: str
    seconds: float


def _write(name: str, spec: WriteSpec, rows: Batches, tasks: Path, task: int) -> _Written:
    started = time.perf_counter()
    entry = read_plan(tasks)
    assert entry is not None
    receipts = write_task(spec, rows, entry["after"] + 1, task)
    (tasks.with_suffix(_WRITTEN) / str(task)).touch()
    return _Written(name, task, receipts_to_text(receipts), time.perf_counter() - started)


def _as_batch(written: _Written) -> pa.RecordBatch:
    arrays = [pa.array([value], t) for value, t in zip(written, _RESULT_TYPES, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, names=list(_Written._fields))


_RESULT_TYPES = (pa.string(), pa.int32(), pa.string(), pa.float64())
