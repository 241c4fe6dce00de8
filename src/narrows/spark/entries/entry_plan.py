"""The job that Spark runs for an entry, and how long one that was planned can be run again.

To plan a job takes as long as to run it on a few rows. So it is kept, and run for the next entry.
But Spark keeps something in a job, too: what it has shuffled or broadcast once it does not make
again. Hence a job is kept only where no row of the stream has that above it:

    each row is made of one row        always
    ... and of rows of small tables    as long as their files are the same; these Spark is told to
                                       broadcast, which leaves the rows of the stream where they are
    rows are sorted, or remembered     where one task has all of them

Whether Spark does so is seen in its plan. Everything else - large tables, subqueries, `now()`,
`rand()` - is planned anew for each entry.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from narrows.connectors.base import SourceConnector
from narrows.connectors.target import WriteSpec
from narrows.explain.plan import Plan
from narrows.logical.conjuncts import is_deterministic
from narrows.logical.nodes import DecodedSource
from narrows.logical.walk import topological
from narrows.physical.execution import MadeOfEntry, made_of_entry, rows_of
from narrows.physical.kept_by_tasks import kept_places
from narrows.spark.compile.context import Context, PlaceReads, connected
from narrows.spark.compile.plan import compile_plan
from narrows.spark.entries.entry_tasks import EntryJob
from narrows.spark.read.believed import broadcast_bytes
from narrows.spark.read.entry_source import entry_rows, is_read_in_place, no_rows
from narrows.spark.sql.own_session import brought_into, physical_plan
from narrows.spark.sql.rows import SqlText
from narrows.spark.windows.task_memory import TaskMemory
from narrows.spark.windows.windows import windows_of
from narrows.spark.write.sink import written_by_tasks
from narrows.spark.write.sink_frame import sink_frame
from narrows.worker.read_spec import ReadSpec


@dataclass(frozen=True)
class EntryPlan:
    """Of a pipeline that keeps nothing between entries."""

    context: Context
    plan: Plan
    place: PlaceReads
    """Where what its readers need is kept."""
    write: WriteSpec
    remembered: Path
    """Where tasks keep what is remembered of rows."""
    _checked: dict[tuple[int, Hashable | None], DataFrame] = field(default_factory=dict)

    def check(self) -> None:
        """What Spark will not take is said now, and not when something runs."""
        planned_for = self.planned_for(1)
        self._checked[1, planned_for] = self._compiled(1, in_place=planned_for is not None)

    def make(self, own: SparkSession, tasks: int, planned_for: Hashable | None) -> EntryJob:
        """A job of so many tasks: what each of them wrote."""
        again = planned_for is not None
        made = self._checked.get((tasks, planned_for))
        self._checked.clear()  # it was for the first job
        if made is None:
            made = self._compiled(tasks, in_place=again)
        return self._job(own, made, again)

    def make_advancing(
        self, own: SparkSession, tasks: int, planned_for: Hashable | None
    ) -> EntryJob:
        """A job of so many tasks that read nothing, and write what time alone brings."""
        again = planned_for is not None
        return self._job(own, self._compiled(tasks, in_place=again, advances=True), again)

    def _job(self, own: SparkSession, compiled: DataFrame, again: bool) -> EntryJob:
        told = brought_into(own, compiled)
        if again and not self._is_row_by_row:
            again = is_read_in_place(physical_plan(own, told))
        return EntryJob(told, again)

    def planned_for(self, tasks: int) -> Hashable | None:
        """What a job of so many tasks is planned for, if it is made now: as long as that is the
        same, it can be run again. None: it cannot."""
        made = self._made
        if made is None or (made.meets_others and tasks > 1):
            return None
        tables = [_Table.of(node) for node in made.tables]
        known = [table for table in tables if table is not None and self._is_small(table)]
        return tuple(table.version for table in known) if len(known) == len(tables) else None

    @cached_property
    def _made(self) -> MadeOfEntry | None:
        """What its rows are made of; None where they must be made in another way each time."""
        rows = rows_of(self.plan.physical)
        expressions = (expr for node in topological(rows) for expr in node.expressions)
        if not all(map(is_deterministic, expressions)):
            return None
        made = made_of_entry(rows)
        # Rows without a time of their own have that of when they were read, in windows.
        if made is None or not windows_of(rows):
            return made
        goes_by_clock = any(node.source.eventtime is None for node in made.sources)
        return None if goes_by_clock else made

    @property
    def _is_row_by_row(self) -> bool:
        """Does nothing shuffle its rows, whoever plans it?"""
        made = self._made
        return made is not None and not made.tables and not made.meets_others

    def _is_small(self, table: _Table) -> bool:
        return table.bytes <= broadcast_bytes(self.context.spark)

    def _compiled(self, tasks: int, *, in_place: bool, advances: bool = False) -> DataFrame:
        context = self.context

        def open_entry(node: DecodedSource, spec: ReadSpec) -> DataFrame | SqlText:
            placed = self.place(node, spec)
            if node.source.bounded:
                return context.open(node, placed, streaming=False)
            if advances:
                return no_rows(context.spark, placed, tasks)
            return entry_rows(context.spark, context.with_table_keys(placed), tasks)

        root = rows_of(self.plan.physical)
        kept = TaskMemory(self.remembered, tuple(kept_places(root)), tasks, in_place, advances)
        rows = compile_plan(
            root, context.spark, open_entry, memory=kept, by_entry=True, in_place=in_place
        )
        return written_by_tasks(sink_frame(self.plan, rows), self.write)


@dataclass(frozen=True)
class _Table:
    """A table that a stream is joined with, as it is now."""

    version: str
    bytes: int

    @classmethod
    def of(cls, node: DecodedSource) -> _Table | None:
        """None where only Spark knows."""
        if node.source.comes_as_frame:
            return None
        source: SourceConnector = connected(node.source)
        available = source.available()
        return cls(source.version(available), source.size(source.whole(available)))
