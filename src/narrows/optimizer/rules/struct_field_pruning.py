"""StructFieldPruning: of a struct, only the fields that somebody looks at are decoded.

SQL:     SELECT a, b->items[0]->x FROM stream_4
Before:  Project fields=[stream_4.a; stream_4.b->items[0]->x]
         └─DataSource source=stream_4, schema=[a, b{c, items[struct{x, y}]}]
After:   Project fields=[stream_4.a; stream_4.b->items[0]->x]
         └─DataSource source=stream_4, schema=[a, b{items[struct{x, y}]}]

Recognises: field access at any depth, in all spellings, through functions that hand their argument
on (coalesce, CASE, first). A value that is only asked for NULL keeps nothing else: `b?`.

Refuses: a struct that somebody uses as a whole, even beside `b->c`. What is inside lists and maps
is the next rule's business and stays here.

Terminates: one pass; applied again it finds what it wrote.
"""

from __future__ import annotations

from narrows.demand import Depth
from narrows.logical.nodes import Node
from narrows.optimizer.prune_sources import prune_sources


class StructFieldPruning:
    def apply(self, plan: Node) -> Node | None:
        return prune_sources(plan, Depth.STRUCT)
