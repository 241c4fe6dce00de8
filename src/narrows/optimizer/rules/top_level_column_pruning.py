"""TopLevelColumnPruning: a source decodes only the columns that somebody looks at.

SQL:     SELECT p->u FROM deep WHERE a > 1
Before:  Project fields=[deep.p->u]
         └─Filter predicate=deep.a > 1
           └─DataSource source=deep, schema=[a, p{q{r, t}, u}, m[list[struct{x, y}]], nums]
After:   Project fields=[deep.p->u]
         └─Filter predicate=deep.a > 1
           └─DataSource source=deep, schema=[a, p{q{r, t}, u}]

Recognises: every expression of every node, wherever it stands. `*` and `s.*` look at all columns,
`* EXCEPT (...)` at the rest. `count(*)` and `SELECT 1` look at none, and then none is decoded.

Always kept: the event-time column.

Refuses: nothing. A shared source keeps its full schema, because other pipelines read it by ordinal;
what this one needs becomes its `shared_required_schema`.

Terminates: one pass; applied again it finds what it wrote.
"""

from __future__ import annotations

from narrows.demand import Depth
from narrows.logical.nodes import Node
from narrows.optimizer.prune_sources import prune_sources


class TopLevelColumnPruning:
    def apply(self, plan: Node) -> Node | None:
        return prune_sources(plan, Depth.COLUMN)
