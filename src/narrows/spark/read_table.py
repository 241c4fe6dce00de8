"""Bounded reads without a data source of their own: a row for each task tells it what to read.

Spark starts Python processes on the driver for every Python data source that it plans, which takes
longer than reading a small table; and it knows nothing of the size of what they read, so it takes
them for too large to broadcast. A map over as many rows as there are tasks has neither cost. But
Spark takes its result for tiny, so where a join looks at sizes only what is small is read this way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from narrows.files.listing import FileEntry
from narrows.logical.nodes import Join, Node
from narrows.logical.relational_nodes import SetOperation, Subquery
from narrows.logical.walk import topological
from narrows.spark.read_partition import read_partition
from narrows.spark.read_spec import ReadSpec
from narrows.spark.source import shared_out, shipped_schema

SMALL = 8 << 20
"""Bytes of payload that Spark may well broadcast: below its own default of 10 MB, decoded less."""


def compares_sizes(plan: Node) -> bool:
    """Whether Spark will choose how to join by what it believes of sizes."""
    kinds = (Join, Subquery, SetOperation)
    return any(isinstance(node, kinds) for node in topological(plan))


def read_table(
    spark: SparkSession, spec: ReadSpec, files: Sequence[FileEntry], *, joined: bool
) -> DataFrame | None:
    """The rows of the files; None where Spark should know that they are many."""
    if joined and sum(file.size for file in files) > SMALL:
        return None
    tasks = shared_out(spec, files)

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for task in batch.column(0).to_pylist():
                yield from read_partition(spec, tasks[task].ranges, tasks[task].places)

    return spark.range(0, len(tasks), 1, max(len(tasks), 1)).mapInArrow(read, shipped_schema(spec))
