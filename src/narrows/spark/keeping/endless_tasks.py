"""The job for an entry of a pipeline whose tasks keep groups that no window ends.

    an entry ──► rows, folded into groups ──► a file of groups for each task

What has changed is merged by a second job (`window_tasks.py`), for a key's rows may have come to
several tasks. Where there is one task it goes on by itself, and there is one job: an entry of few
rows costs what it would without groups, about.
"""

from __future__ import annotations

from collections.abc import Hashable

from pyspark.sql import SparkSession

from narrows.connectors.target import WriteSpec
from narrows.spark.entries.entry_tasks import EntryJob, MakeJob
from narrows.spark.keeping.window_tasks import TOLD_SCHEMA, Batches, merged, tell
from narrows.spark.read.entry_source import entry_to_read
from narrows.worker.carried import Carried
from narrows.worker.endless.fold import EndlessSpec, fold_groups
from narrows.worker.endless.keeper import merge_of_one
from narrows.worker.endless.merge import EndlessTask
from narrows.worker.read import read_entry
from narrows.worker.windows.spec import Finish


def folding_groups(spec: EndlessSpec, finish: Finish | None, write: WriteSpec) -> MakeJob:
    """What tasks have folded of an entry: a row for each task; and merged, where it is one."""
    carried = Carried((spec, finish, write))

    def make(spark: SparkSession, tasks: int, planned_for: Hashable | None) -> EntryJob:
        def fold(numbers: Batches) -> Batches:
            spec, finish, write = carried.value
            number, entry = entry_to_read(spec.read)
            for batch in numbers:
                for task in batch.column(0).to_pylist():
                    file = fold_groups(spec, read_entry(spec.read, entry, number, task, tasks))
                    told: dict[str, object] = {"entry": number, "file": file}
                    if tasks == 1:
                        merge = merge_of_one(spec, number, file)
                        alone = EndlessTask(spec, merge, 0, 1)
                        told |= merged(spec.folder, alone, finish, write, merge)
                    yield tell(told)

        return EntryJob(spark.range(0, tasks, 1, tasks).mapInArrow(fold, TOLD_SCHEMA))

    return make
