"""ProjectionIntoReader: readers compute what a pipeline selects; no row crosses the JVM.

SQL:     CREATE PIPELINE p INTO out_json AS SELECT b->c AS d, a % 10 AS n FROM stream_4 WHERE a > 3
Before:  PhysicalDataSink sink=out_json
         └─PhysicalEncoder encoder=json, by_index_projection=[stream_4#1.c->d]
           └─PhysicalProject fields=[stream_4.a % 10 AS n], passthrough_messages=true
             └─PhysicalDecoder filter=[stream_4.a > 3], encodes_json=[b.c], ships=[a]
               └─PhysicalDataSource source=stream_4
After:   PhysicalDataSink sink=out_json
         └─PhysicalEncoder encoder=json, by_index_projection=[stream_4#1.c->d]
           └─PhysicalProject fields=[stream_4.a % 10 AS n], passthrough_messages=true, in=reader
             └─PhysicalDecoder filter=[stream_4.a > 3], encodes_json=[b.c], ships=[a]
               └─PhysicalDataSource source=stream_4

Recognises: in a pipeline, a projection right above a reader that gives the sinks their rows, and of
which the reader can compute every field that is not left to the encoders: see
`physical/in_reader/worker_values.py`. Likewise right above windows and groups that tasks keep:
those that merge them.

Refuses: projections with a field that only Spark can compute - then it may as well compute all of
them -, and those that compute nothing, whose readers write anyway. Queries: their rows go to the
JVM in any case.

Terminates: it marks each projection once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from narrows.logical.nodes import DataSink, Node
from narrows.logical.walk import topological, transform_up
from narrows.physical.execution import plain_read, rows_of, selected_paths
from narrows.physical.in_reader.worker_predicate import leaf_value
from narrows.physical.kept_groups import endless_groups, finished_by_tasks
from narrows.physical.nodes import PhysicalProject, PhysicalReader
from narrows.physical.window_groups import window_groups


@dataclass(frozen=True)
class ProjectionIntoReader:
    ansi: bool = False
    """Is an overflow an error?"""

    def apply(self, plan: Node) -> Node | None:
        if not any(isinstance(node, DataSink) for node in topological(plan)):
            return None
        rows = rows_of(plan)

        def mark(node: Node) -> Node | None:
            if node is not rows or not isinstance(node, PhysicalProject):
                return None
            return replace(node, in_reader=True) if self._computes(node) else None

        return transform_up(plan, mark)

    def _computes(self, project: PhysicalProject) -> bool:
        reader = project.child
        if project.in_reader:
            return False
        groups = window_groups(project) or endless_groups(project)
        if groups is not None:
            return finished_by_tasks(groups, ansi=self.ansi) is not None
        if not isinstance(reader, PhysicalReader) or reader.order:
            return False
        if plain_read(project) is not None:
            return False
        paths = selected_paths(project, reader)
        return all(
            path is not None or leaf_value(named.expr, reader.relation.id, ansi=self.ansi)
            for (_, named), path in zip(project.computed, paths, strict=True)
        )
