"""UnionByEntry: entries of several streams are read together.

SQL:     CREATE PIPELINE p INTO out_json
         AS SELECT id, page FROM views UNION ALL SELECT id, page FROM clicks
Before:  PhysicalDataSink sink=out_json
         └─PhysicalEncoder encoder=json
           └─PhysicalUnion columns=[id, page]
             ├─PhysicalProject fields=[views.id; views.page]
             │ └─PhysicalDecoder schema=[id, page, at]
             │   └─PhysicalDataSource source=views
             └─PhysicalProject fields=[clicks.id; clicks.page]
               └─PhysicalDecoder schema=[id, page, at]
                 └─PhysicalDataSource source=clicks
After:   PhysicalDataSink sink=out_json
         └─PhysicalEncoder encoder=json
           └─PhysicalUnion columns=[id, page], entries=together
             ├─PhysicalProject fields=[views.id; views.page]
             │ └─PhysicalDecoder schema=[id, page, at]
             │   └─PhysicalDataSource source=views
             └─PhysicalProject fields=[clicks.id; clicks.page]
               └─PhysicalDecoder schema=[id, page, at]
                 └─PhysicalDataSource source=clicks

Recognises: in a pipeline that keeps nothing between rows, a UNION ALL of streams. Then no streaming
query is needed: a step reads an entry of one of them, or of each (`spark/entries/joint_intake.py`),
in a batch job that computes and writes, as it is where there is one stream.

Refuses: streams that Spark reads itself, and whatever is kept between rows: windows, aggregates,
DISTINCT, joins of streams. Rows that are sorted, batch by batch: one task must have all of them.

Terminates: a UNION that is read so is passed over.
"""

from __future__ import annotations

from dataclasses import replace

from narrows.logical.nodes import DataSink, DecodedSource, Node, Sort
from narrows.logical.streaming.supported import is_stream, keeps_between_batches
from narrows.logical.walk import topological, transform_up
from narrows.physical.execution import rows_of
from narrows.physical.relational_nodes import PhysicalUnion


class UnionByEntry:
    def apply(self, plan: Node) -> Node | None:
        if not any(isinstance(node, DataSink) for node in topological(plan)):
            return None
        nodes = topological(rows_of(plan))
        sources = [node.source for node in nodes if isinstance(node, DecodedSource)]
        streams = [source for source in sources if not source.bounded]
        if len(streams) < 2 or not all(source.is_fed for source in streams):
            return None
        if any(keeps_between_batches(node) or isinstance(node, Sort) for node in nodes):
            return None

        def together(node: Node) -> Node | None:
            if not isinstance(node, PhysicalUnion) or node.by_entry or not is_stream(node):
                return None
            return replace(node, by_entry=True)

        return transform_up(plan, together)
