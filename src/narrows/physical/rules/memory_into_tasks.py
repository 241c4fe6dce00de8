"""MemoryIntoTasks: tasks keep what is remembered of rows, key by key, in files.

SQL:     CREATE PIPELINE p INTO out_json
         AS SELECT a, lag(a) OVER (PARTITION BY k) AS before FROM ev
Before:  PhysicalDataSink sink=out_json
         └─PhysicalEncoder encoder=json
           └─PhysicalProject fields=[ev.a; lag(ev.a) OVER (PARTITION BY ev.k) AS before]
             └─PhysicalStatefulFunction calls=[lag(ev.a) OVER (PARTITION BY ev.k)]
               └─PhysicalDecoder schema=[a, k, ts]
                 └─PhysicalDataSource source=ev
After:   PhysicalDataSink sink=out_json
         └─PhysicalEncoder encoder=json
           └─PhysicalProject fields=[ev.a; lag(ev.a) OVER (PARTITION BY ev.k) AS before]
             └─PhysicalStatefulFunction calls=[lag(ev.a) OVER (PARTITION BY ev.k)], state=by tasks
               └─PhysicalDecoder schema=[a, k, ts]
                 └─PhysicalDataSource source=ev

Recognises: in a pipeline that reads one stream, functions that remember rows, windows that rows cut
(`countwindow`, `slidingwindow`), groups that are written with retractions, and rows that are to be
written once (DISTINCT, and GROUP BY without aggregates, which is the same), where nothing else is
kept between rows. Then no streaming query is needed: an entry is read by a batch job, in which
tasks look up what was kept of the keys that they see, and leave what has come of it
(`worker/remembered/`). What stands above a window is made of those that closed, in the same job.

Refuses: streams that Spark reads itself, several streams, and whatever else is kept beside what is
remembered: other windows, aggregates, joins of streams. Windows that go by time where rows have
none. Windows below something else that remembers, for as time goes by tasks close those of keys
that they have no rows of. Keys that are nested, for two of them may be equal and differ in their
bits; distinct rows may have such values, which are made the same first, but none of types that are
Spark's alone (intervals).

Terminates: what tasks keep is passed over.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from narrows.catalog.objects import Source
from narrows.logical.nodes import DataSink, DecodedSource, Node
from narrows.logical.streaming.supported import keeps_between_batches
from narrows.logical.walk import topological, transform_up
from narrows.physical.distinct_rows import as_distinct_rows
from narrows.physical.execution import rows_of
from narrows.physical.kept_by_tasks import CutByRows, Remembering, is_key, is_plain, remembering
from narrows.physical.nodes import (
    PhysicalDistinct,
    PhysicalRetractingAggregation,
    PhysicalStatefulFunction,
    PhysicalStreamingAggregation,
    PhysicalWindow,
)
from narrows.schema import UNKNOWN, Array, DataType, Struct


@dataclass(frozen=True)
class MemoryIntoTasks:
    def apply(self, plan: Node) -> Node | None:
        if not any(isinstance(node, DataSink) for node in topological(plan)):
            return None
        plan = _with_distinct_rows(plan)
        rows = rows_of(plan)
        readers = [node for node in topological(rows) if isinstance(node, DecodedSource)]
        streams = [reader.source for reader in readers if not reader.source.bounded]
        if len(streams) != 1 or not streams[0].is_fed:
            return None
        keeping = remembering(rows)
        if not all(_can_be_kept(node, streams[0]) for node in keeping):
            return None
        if any(isinstance(node, CutByRows) for node in keeping[1:]):
            return None

        def keep(node: Node) -> Node | None:
            if not isinstance(node, Remembering) or node.by_tasks:
                return None
            return replace(node, by_tasks=True) if keeps_between_batches(node) else None

        return transform_up(plan, keep)


def _with_distinct_rows(plan: Node) -> Node:
    """The plan with DISTINCT in place of groups without aggregates, where no window ends these."""
    endless = set(map(id, remembering(rows_of(plan))))
    return (
        transform_up(plan, lambda node: as_distinct_rows(node) if id(node) in endless else None)
        or plan
    )


def _can_be_kept(node: Node, stream: Source) -> bool:
    match node:
        case PhysicalStatefulFunction(calls=calls):
            return all(is_key(key) for call in calls for key in call.partition_by)
        case PhysicalRetractingAggregation(keys=keys):
            return all(is_key(key) for _, key in keys)
        case PhysicalDistinct():
            return all(_is_told_apart(column.dtype) for column in node.outputs)
        case (
            PhysicalWindow(kind=kind, cut_apart_by=by)
            | PhysicalStreamingAggregation(kind=kind, cut_apart_by=by)
        ):
            has_time = not kind.goes_by_time or stream.eventtime is not None
            return kind.cut_by_rows and has_time and all(map(is_key, by))
    return False


def _is_told_apart(dtype: DataType) -> bool:
    """Do tasks know such a value again? What is not known here is looked at when it is
    (`spark/windows/distinct_rows.py`)."""
    match dtype:
        case Struct(members):
            return all(_is_told_apart(member.type) for member in members)
        case Array(element):
            return _is_told_apart(element)
    return is_plain(dtype) or dtype == UNKNOWN
