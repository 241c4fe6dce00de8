"""What is remembered of rows by the tasks of a job that reads an entry (`worker/remembered/`).

The rows of a key come to one task, which goes on from what was kept of the key. Where one task has
read them all, they stay there, and the job can be run again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from narrows.logical.nodes import Node
from narrows.spark.read.entry_source import entry_number
from narrows.worker.carried import Carried
from narrows.worker.remembered.keeper import place_of
from narrows.worker.remembered.task import Remembering, Remembers, RememberSpec

_ATTEMPT = "spark.narrows.attempt"
Batches = Iterator[pa.RecordBatch]


def set_attempt(spark: SparkSession, attempt: str) -> None:
    """Says under which name the tasks of the next job tell what they have kept: one that has
    outlived its job tells nobody."""
    spark.conf.set(_ATTEMPT, attempt)


def read_all_rows(spark: SparkSession) -> None:
    """Has the jobs of a session read all rows that are to be remembered. Else Spark, once it knows
    that a table is empty, reads nothing of what is joined with it
    (`compile/whole_batches.py`)."""
    spark.conf.set("spark.sql.adaptive.enabled", "false")


@dataclass(frozen=True)
class TaskMemory:
    folder: Path
    """Of the pipeline."""
    places: Sequence[Node]
    """For each place the node that keeps something there."""
    tasks: int
    """So many read an entry, and remember."""
    in_place: bool
    """Do its rows stay with the task that has read them? There is one."""
    advances: bool = False
    """Does only time go by? Then there are no rows, and each task has a share of what is kept."""

    def remembered(
        self,
        rows: DataFrame,
        keys: Sequence[str],
        what: Remembers,
        schema: StructType,
        node: Node,
        number: int = 0,
    ) -> DataFrame:
        """What is given for the rows, of which such columns are the keys; by a node, which has
        places of these numbers."""
        spec = RememberSpec(self.place(node, number), tuple(keys), what)
        together = rows if self.in_place or self.advances else rows.repartition(self.tasks, *keys)
        return self.run(together, spec, schema)

    def place(self, node: Node, number: int = 0) -> str:
        """The folder of one of a node's places."""
        first = next(at for at, other in enumerate(self.places) if other is node)
        return str(place_of(self.folder, first + number))

    def run(self, rows: DataFrame, what: Remembering, schema: StructType) -> DataFrame:
        """What tasks give for rows that are where they belong."""
        carried = Carried(what)
        advances, tasks = self.advances, self.tasks

        def remember_rows(batches: Batches) -> Batches:
            context = TaskContext.get()
            assert context is not None
            attempt, task = context.getLocalProperty(_ATTEMPT), context.partitionId()
            assert attempt is not None
            if advances:
                for _ in batches:  # Spark gives up a worker that has not seen its input end
                    pass
                yield from carried.value.advance(attempt, task, tasks)
                return
            batch = entry_number()
            assert batch is not None
            yield from carried.value.remember(batches, batch, attempt, task)

        return rows.mapInArrow(remember_rows, schema)
