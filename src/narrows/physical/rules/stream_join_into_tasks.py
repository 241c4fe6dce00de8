"""StreamJoinIntoTasks: tasks keep the rows of two streams that are joined, in files.

SQL:     CREATE PIPELINE p INTO out_json
         AS SELECT v.id, c.page FROM views v JOIN clicks c ON v.id = c.id AND c.at >= v.at
Before:  PhysicalDataSink sink=out_json
         └─PhysicalEncoder encoder=json
           └─PhysicalProject fields=[v.id; c.page]
             └─PhysicalJoin kind=inner, on=v.id = c.id AND c.at >= v.at
               ├─PhysicalDecoder schema=[id, at]
               │ └─PhysicalDataSource source=views
               └─PhysicalDecoder schema=[id, page, at]
                 └─PhysicalDataSource source=clicks
After:   PhysicalDataSink sink=out_json
         └─PhysicalEncoder encoder=json
           └─PhysicalProject fields=[v.id; c.page]
             └─PhysicalJoin kind=inner, on=v.id = c.id AND c.at >= v.at, state=by tasks
               ├─PhysicalDecoder schema=[id, at]
               │ └─PhysicalDataSource source=views
               └─PhysicalDecoder schema=[id, page, at]
                 └─PhysicalDataSource source=clicks

Recognises: in a pipeline that reads two streams, or one twice, their join by something that is
equal in both, if nothing else is kept between rows. Then no streaming query is needed: a step reads
an entry of one of them, or of each, in a batch job; the tasks that have some keys look up what is
kept of the other stream's rows with these, and leave the new ones (`worker/joining/`). Joins that
may give a row by itself - outer ones -, or only once (LEFT SEMI JOIN), must say how far the event
times of two rows that match are apart; of an inner join rows are kept for ever where it does not.

Refuses: streams that Spark reads itself, and whatever else is kept beside the join: windows,
aggregates, functions that remember rows, a second join of streams. Outer joins with a condition
that only Spark can test on two rows, or with times that are a day apart or more, for a day is not
always 24 hours. Times that are compared in a way that is not understood. Keys that are nested, or
of two types.

Terminates: a join that tasks keep is passed over.
"""

from __future__ import annotations

from dataclasses import replace

from narrows.logical.nodes import DataSink, DecodedSource, Node
from narrows.logical.streaming.supported import is_stream, keeps_between_batches
from narrows.logical.walk import topological, transform_up
from narrows.physical.execution import made_of_entry, rows_of
from narrows.physical.nodes import PhysicalJoin
from narrows.physical.stream_join import stream_join


class StreamJoinIntoTasks:
    def apply(self, plan: Node) -> Node | None:
        if not any(isinstance(node, DataSink) for node in topological(plan)):
            return None
        rows = rows_of(plan)
        sources = [node.source for node in topological(rows) if isinstance(node, DecodedSource)]
        streams = [source for source in sources if not source.bounded]
        keeping = [node for node in topological(rows) if keeps_between_batches(node)]
        if len(streams) > 2 or not all(source.is_fed for source in streams) or len(keeping) != 1:
            return None  # both sides may be of one reader
        (join,) = keeping
        if not isinstance(join, PhysicalJoin) or join.by_tasks or stream_join(join) is None:
            return None
        if not all(is_stream(side) and made_of_entry(side) for side in (join.left, join.right)):
            return None

        def keep(node: Node) -> Node | None:
            return replace(join, by_tasks=True) if node is join else None

        return transform_up(plan, keep)
