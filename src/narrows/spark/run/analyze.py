"""EXPLAIN ANALYZE: runs a query and says what was decoded, shipped and shuffled.

What readers did is counted by themselves, range by range. What a shuffle carries and what all of it
would have been without pruning are estimates: rows times width, from the rows that were counted.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from uuid import uuid4

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F  # noqa: N812

from narrows.demand import count_demanded_leaves, of_columns
from narrows.explain.plan import Plan
from narrows.logical.live import live_columns
from narrows.logical.nodes import Aggregation, DecodedSource, Distinct, Join, Node, Sort
from narrows.logical.relational_nodes import Analytic, SetOperation
from narrows.logical.walk import topological
from narrows.optimizer.estimates import Estimates, type_width
from narrows.physical.nodes import PhysicalGather, PhysicalPartialAggregation
from narrows.schema import count_leaves
from narrows.spark.compile.context import Context
from narrows.spark.compile.plan import compile_plan
from narrows.spark.sql.rows import SqlText
from narrows.worker.count_files import total_counts
from narrows.worker.counts import ReadCounts
from narrows.worker.read_spec import ReadSpec

_SHUFFLING = (Join, Aggregation, Sort, Distinct, Analytic, SetOperation)


@dataclass(frozen=True)
class SourceRead:
    """What was read of one source of the query."""

    node: DecodedSource
    counts: ReadCounts

    @property
    def unpruned_bytes(self) -> float:
        """What its rows would have been if every column had been decoded and shipped."""
        return self.counts.rows_decoded * type_width(self.node.source.schema)

    def __str__(self) -> str:
        schema, counts = self.node.source.schema, self.counts
        columns = sum(column.id.ordinal < len(schema) for column in self.node.outputs)
        leaves = count_demanded_leaves(schema, of_columns(self.node.decode_projection, schema))
        return (
            f"source {self.node.source_text}: ships {columns} of {len(schema)} columns,"
            f" decoded {leaves} of {count_leaves(schema)} leaves,"
            f" {counts.rows_decoded} rows read, {counts.rows_shipped} shipped,"
            f" {_bytes(counts.payload_bytes)} of payload in, {_bytes(counts.arrow_bytes)} of Arrow"
            f" out (about {_bytes(self.unpruned_bytes)} without pruning)"
        )


@dataclass(frozen=True)
class Shuffle:
    """What one operator has shuffled, about."""

    operator: str
    rows: float
    width: float
    unpruned_width: float

    def __str__(self) -> str:
        pruned, full = self.rows * self.width, self.rows * self.unpruned_width
        return (
            f"shuffle of {self.operator}: about {self.rows:.0f} rows, {_bytes(pruned)}"
            f" (about {_bytes(full)} without pruning)"
        )


def explain_analyze(context: Context, plan: Plan) -> str:
    """The plan, and below it what running it took."""
    folder = context.state.statistics(f"analyze-{uuid4().hex}", "relations")

    def open_source(node: DecodedSource, spec: ReadSpec) -> DataFrame | SqlText:
        placed = context.placed_for(node, spec, context.queries)
        own = replace(placed, statistics=str((folder / str(node.relation.id)).absolute()))
        return context.open(node, own, streaming=False)

    started = time.perf_counter()
    try:
        frame = compile_plan(plan.physical, context.spark, open_source)
        rows = _write_nowhere(frame)
        seconds = time.perf_counter() - started
        reads = [
            SourceRead(node, total_counts(folder / str(node.relation.id)))
            for node in topological(plan.physical)
            if isinstance(node, DecodedSource)
        ]
    finally:
        shutil.rmtree(folder.parent, ignore_errors=True)
    shuffles = list(_shuffles(plan.physical, {id(read.node): read.counts for read in reads}))
    lines = [
        f"- result: {rows} rows in {seconds:.2f} s",
        *(f"- {read}" for read in reads),
        *(f"- {shuffle}" for shuffle in shuffles),
        f"- memory: {_memory(reads, shuffles)}",
    ]
    return "\n\n".join((plan.explain(), "\n".join(("Analysis", *lines))))


def _write_nowhere(frame: DataFrame) -> int:
    """Computes every column of every row, and keeps nothing but their number."""
    counted = Observation()
    named = frame.toDF(*(f"c{place}" for place in range(len(frame.columns))))
    observed = named.observe(counted, F.count(F.lit(1)).alias("rows"))
    observed.write.format("noop").mode("overwrite").save()
    return int(counted.get["rows"])


def _shuffles(plan: Node, counts: Mapping[int, ReadCounts]) -> Iterator[Shuffle]:
    live = live_columns(plan)
    measured = {key: float(read.rows_shipped) for key, read in counts.items()}
    for node in topological(plan):
        if isinstance(node, PhysicalPartialAggregation):
            measured[id(node)] = measured[id(node.reader)]
    estimates = Estimates(plan, measured)
    for node in topological(plan):
        if not isinstance(node, _SHUFFLING) or isinstance(node, PhysicalPartialAggregation):
            continue
        if any(isinstance(child, PhysicalGather) for child in node.children):
            continue  # all rows are in one task already
        for child in node.children:
            wanted = [column for column in child.outputs if column.id in live[id(child)]]
            sources = [part for part in topological(child) if isinstance(part, DecodedSource)]
            yield Shuffle(
                node.operator.removeprefix("Physical"),
                estimates.rows(child),
                sum(estimates.width(column) for column in wanted),
                sum(type_width(source.source.schema) for source in sources),
            )


def _memory(reads: list[SourceRead], shuffles: list[Shuffle]) -> str:
    pruned = sum(read.counts.arrow_bytes for read in reads)
    pruned += int(sum(shuffle.rows * shuffle.width for shuffle in shuffles))
    full = sum(read.unpruned_bytes for read in reads)
    full += sum(shuffle.rows * shuffle.unpruned_width for shuffle in shuffles)
    return f"about {_bytes(pruned)}, without pruning about {_bytes(full)}"


def _bytes(count: float) -> str:
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"
