"""FilterIntoDecoder: the reader tests rows before it ships them.

SQL:     SELECT b->c FROM stream_4 WHERE a > 10 AND upper(b->items[0]->y) = 'X'
Before:  PhysicalProject fields=[stream_4.b->c]
         └─PhysicalFilter predicate=stream_4.a > 10 AND upper(stream_4.b->items[0]->y) = 'X'
           └─PhysicalDecoder schema=[a, b{c, items[0][struct{y}]}]
             └─PhysicalDataSource source=stream_4
After:   PhysicalProject fields=[stream_4.b->c]
         └─PhysicalFilter predicate=upper(stream_4.b->items[0]->y) = 'X'
           └─PhysicalDecoder filter=[stream_4.a > 10], ships=[b{c, items[0][struct{y}]}]
             └─PhysicalDataSource source=stream_4

Recognises: a filter right above a decoder, or above the reader of a shared stream, which tests for
its own pipeline; of its conjuncts those that compare what the reader can compute of a row
(`physical/in_reader/worker_values.py`: leaves, `a % 10`, `length(s)`) with constants or with each
other (=, <>, <, <=, >, >=, IN, BETWEEN, LIKE, IS NULL, boolean leaves, AND, OR, NOT). A column that
only they look at never reaches the JVM.

Refuses: conjuncts that would not mean in Arrow exactly what they mean in Spark. Everything where
the source has an event time and something above keeps state: the watermark must see every row.

Terminates: each step moves a conjunct into the decoder, and none comes back.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from narrows.expressions.nodes import Expr
from narrows.logical.conjuncts import split, with_filter
from narrows.logical.nodes import Aggregation, Distinct, Join, Node, StatefulFunction, Window
from narrows.logical.relational_nodes import Keep
from narrows.logical.required import required
from narrows.logical.walk import topological, transform_up
from narrows.physical.in_reader.worker_predicate import leaf_test
from narrows.physical.nodes import PhysicalFilter, PhysicalReader

_KEEPS_STATE = (Aggregation, Distinct, Join, StatefulFunction, Window)


@dataclass(frozen=True)
class FilterIntoDecoder:
    ansi: bool = False
    """Is an overflow an error?"""

    def apply(self, plan: Node) -> Node | None:
        keeps_state = any(isinstance(node, _KEEPS_STATE) for node in topological(plan))

        def push(node: Node) -> Node | None:
            if not (isinstance(node, PhysicalFilter) and isinstance(node.child, PhysicalReader)):
                return None
            decoder = node.child
            if keeps_state and decoder.source.eventtime is not None:
                return None
            moving: list[Expr] = []
            staying: list[Expr] = []
            for conjunct in split(node.predicate):
                test = leaf_test(conjunct, decoder.relation.id, ansi=self.ansi)
                (staying if test is None else moving).append(conjunct)
            if not moving:
                return None
            testing = replace(decoder, filter=tuple(moving))
            return with_filter(testing, staying, kind=PhysicalFilter)

        pushed = transform_up(plan, push)
        return None if pushed is None else narrow_shipping(pushed)


def narrow_shipping(plan: Node) -> Node:
    """Readers that test ship what is looked at above them."""
    found = required(plan)

    def narrow(node: Node) -> Node | None:
        if isinstance(node, PhysicalReader) and node.filter:
            return replace(node, ships=found.row(node))
        if isinstance(node, Keep) and isinstance(node.child, PhysicalReader):
            shipped = {column.id for column in node.child.outputs}
            # The decoder ships no more than that anyway.
            return node.child if shipped == {column.id for column in node.columns} else None
        return None

    return transform_up(plan, narrow) or plan
