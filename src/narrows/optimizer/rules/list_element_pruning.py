"""ListElementPruning: of a list only the elements that somebody looks at, and of those a part.

SQL:     SELECT a, b->items[0]->x, b->items[3]->x FROM stream_4
Before:  Project fields=[stream_4.a; stream_4.b->items[0]->x; stream_4.b->items[3]->x]
         └─DataSource source=stream_4, schema=[a, b{items[struct{x, y}]}]
After:   Project fields=[stream_4.a; stream_4.b->items[0]->x; stream_4.b->items[3]->x]
         └─DataSource source=stream_4, schema=[a, b{items[0,3][struct{x}]}]

Recognises: constant indices, each with its own shape; any index (`items[i]`, explode, lambdas) with
the fields that are used of every element; length only (`size(items)`); constant keys of maps.

Refuses: lists that somebody uses as a whole. A list that is built keeps its length, with NULL where
nothing was decoded, so an index still means what it meant.

Terminates: one pass; applied again it finds what it wrote.
"""

from __future__ import annotations

from narrows.demand import Depth
from narrows.logical.nodes import Node
from narrows.optimizer.prune_sources import prune_sources


class ListElementPruning:
    def apply(self, plan: Node) -> Node | None:
        return prune_sources(plan, Depth.ELEMENT)
