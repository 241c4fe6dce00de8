"""Jobs of a pipeline whose tasks keep its windows: what is read of an entry, and what closes.

    folding          an entry ──► rows, folded into windows ──► a file of groups for each task
    merging_frame    files of groups ──► windows that closed ──► the sink, or a file for Spark
    closed_frame     those files ──► Spark; or the files of groups, if these are rows that nothing
                     has to be merged of

The last two are the same for groups that no window ends (`endless_tasks.py`), but for the task.

All of them are made once, as a rule. What its tasks have to do stands in the log of entries,
or in a small file, so that a step needs no new analysis.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from narrows.connectors.target import WriteSpec
from narrows.files.atomic import temporary_for
from narrows.schema import DataType
from narrows.spark.entries.entry_tasks import EntryJob, MakeJob
from narrows.spark.read.entry_source import entry_to_read
from narrows.spark.sql.types import spark_struct
from narrows.spark.write.sink import batch_and_task
from narrows.worker.carried import Carried
from narrows.worker.endless.fold import EndlessSpec
from narrows.worker.keeping.steps import SUFFIX, GroupsFile, StepLog
from narrows.worker.read import read_entry
from narrows.worker.windows.fold import fold_rows
from narrows.worker.windows.merge import Merge, finished, read_merge
from narrows.worker.windows.spec import Finish, WindowSpec
from narrows.worker.write import receipts_to_text, write_task

TOLD = "told"
TOLD_SCHEMA = f"{TOLD} STRING"
_CLOSED = "closed"
READER = "read_closed_rows"
"""What Spark calls the function by which windows that closed are read."""

Batches = Iterator[pa.RecordBatch]


def folding(spec: WindowSpec) -> MakeJob:
    """What tasks have folded of an entry: a row for each task."""
    carried = Carried(spec)

    def make(spark: SparkSession, tasks: int, planned_for: Hashable | None) -> EntryJob:
        def fold(numbers: Batches) -> Batches:
            spec = carried.value
            number, entry = entry_to_read(spec.read)
            before, _ = StepLog(spec.folder).before(number)
            for batch in numbers:
                for task in batch.column(0).to_pylist():
                    rows = read_entry(spec.read, entry, number, task, tasks)
                    folded = fold_rows(spec, rows, before.watermark * 1_000)
                    yield tell({"entry": number, "file": folded.file, "late": folded.late})

        return EntryJob(spark.range(0, tasks, 1, tasks).mapInArrow(fold, TOLD_SCHEMA))

    return make


class Merging(Protocol):
    """What a task does that merges groups."""

    rest: GroupsFile | None
    """What it has written anew."""

    def rows(self) -> Batches:
        """What it gives; then the rest has been written."""


MakeMerging = Callable[[Any, Merge, int, int], Merging]
"""Of what it must know, what is to be merged, and which of so many tasks it is."""


def merging_frame(
    spark: SparkSession,
    spec: WindowSpec | EndlessSpec,
    make: MakeMerging,
    finish: Finish | None,
    write: WriteSpec,
    tasks: int,
) -> DataFrame:
    """What tasks made of the groups that they have merged, as the file says: a row for each task.

    Without `finish` they leave what is to be published in files, for Spark to go on with.
    """
    carried = Carried((spec, make, finish, write))

    def run(numbers: Batches) -> Batches:
        spec, make, finish, write = carried.value
        merge = read_merge(spec.folder)
        _, part = batch_and_task(merge.number)
        for _ in numbers:
            yield tell(merged(spec.folder, make(spec, merge, part, tasks), finish, write, merge))

    return spark.range(0, tasks, 1, tasks).mapInArrow(run, TOLD_SCHEMA)


def merged(
    folder: str, task: Merging, finish: Finish | None, write: WriteSpec, merge: Merge
) -> dict[str, object]:
    """What this task has to tell when it has merged."""
    step, part = batch_and_task(merge.number)
    told: dict[str, object] = {}
    if finish is None:
        told["closed"] = _write_closed(_closed_path(folder, step, part), task.rows())
    else:
        rows = finished(finish, task.rows())
        told["written"] = receipts_to_text(write_task(write, rows, step, part))
    return {**told, "rest": task.rest}


def _closed_path(folder: str, step: int, task: int) -> Path:
    return Path(folder) / _CLOSED / f"{step}-{task}{SUFFIX}"


def _write_closed(path: Path, batches: Batches) -> bool:
    """Leaves them for Spark; false if there are none."""
    temporary, writer = temporary_for(path), None
    for batch in batches:
        if writer is None:
            path.parent.mkdir(parents=True, exist_ok=True)
            writer = pa.ipc.new_file(pa.OSFile(str(temporary), "wb"), batch.schema)
        writer.write_batch(batch)
    if writer is None:
        return False
    writer.close()
    temporary.replace(path)
    return True


def closed_frame(
    spark: SparkSession,
    spec: WindowSpec | EndlessSpec,
    make: MakeMerging,
    columns: Sequence[tuple[str, DataType]],
    tasks: int,
) -> DataFrame:
    """The groups that so many tasks have left, in the step whose number is set when it is run
    (`read/entry_source.py`); or that there are in the files that it says."""
    carried = Carried((spec, make, tuple(name for name, _ in columns)))

    def read_closed_rows(numbers: Batches) -> Batches:
        spec, make, names = carried.value
        step, _ = batch_and_task()
        for batch in numbers:
            for task in batch.column(0).to_pylist():
                if spec.merges:
                    found = _read_closed(_closed_path(spec.folder, step, task))
                else:
                    found = make(spec, read_merge(spec.folder), task, tasks).rows()
                for rows in found:
                    yield pa.RecordBatch.from_arrays(rows.columns, names=list(names))

    return spark.range(0, tasks, 1, tasks).mapInArrow(read_closed_rows, spark_struct(columns))


def _read_closed(path: Path) -> Batches:
    if path.exists():
        with pa.memory_map(str(path)) as mapped:
            yield from pa.ipc.open_file(mapped).read_all().to_batches()


def sweep_closed(folder: str) -> None:
    """Removes what was left for Spark: it has been read, or will be made again."""
    closed = Path(folder) / _CLOSED
    for path in closed.iterdir() if closed.is_dir() else ():
        path.unlink(missing_ok=True)


def tell(told: dict[str, object]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([json.dumps(told)])], names=[TOLD])
