"""WindowRowsIntoReader: tasks keep the rows of open windows, and Spark sees them when these close.

SQL:     CREATE PIPELINE p INTO out_json AS SELECT k, count(DISTINCT a) AS n
         FROM ev WHERE a > 1 AND reverse(k) = '1' GROUP BY k, tumblingwindow('ss', 10)
Before:  PhysicalDataSink sink=out_json
         └─PhysicalEncoder encoder=json
           └─PhysicalProject fields=[k; count(DISTINCT ev.a) AS n]
             └─PhysicalAggregation calls=[count(DISTINCT ev.a)]
               └─PhysicalWindow window=tumblingwindow('ss', 10), keys=[ev.k]
                 └─PhysicalFilter predicate=ev.a > 1 AND reverse(ev.k) = '1'
                   └─PhysicalDecoder schema=[a, k, ts]
                     └─PhysicalDataSource source=ev
After:   PhysicalDataSink sink=out_json
         └─PhysicalEncoder encoder=json
           └─PhysicalProject fields=[k; count(DISTINCT ev.a) AS n]
             └─PhysicalAggregation calls=[count(DISTINCT ev.a)]
               └─PhysicalFilter predicate=reverse(ev.k) = '1'
                 └─PhysicalWindowRows window=tumblingwindow('ss', 10), state=rows, in=files
                   └─PhysicalDecoder filter=[ev.a > 1], ships=[a, k, ts]
                     └─PhysicalDataSource source=ev

Recognises: in a pipeline, a tumbling, hopping or session window over a reader, with filters,
projections and, but for sessions, generators in between. Above it stands what can be made of the
rows of windows that close, each time by itself: aggregations, also one of another, joins with
tables, ORDER BY ... PER BATCH. The reader tests what it can test; a projection is written into what
looks at it; everything else is computed when a window closes, for a row's time alone says which
windows it is in. No state store keeps rows, no streaming query is needed, and where no window
closes Spark has nothing to plan (`worker/windows/kept.py`). A window that Spark would keep as
aggregates, and tasks cannot fold (`WindowIntoReader`), keeps rows as well: a percentile or a
collect_list is as long as those; of others, like `GROUP BY reverse(k)`, the files are longer than
groups would be, and all that is read of them is read once, when the window closes.

Refuses: streams without event time, whose windows close with the time of day, and windows that rows
cut. Joins below windows, whose tables are those of when a row came, and functions that remember
rows. What is not deterministic below windows. For sessions, which the rows that are left make, and
their keys: tests that the reader cannot do, generators, keys that it cannot compute, or that are
floating numbers, of which two may be equal and differ. Above windows what goes on from one to the
next: DISTINCT, and groups of groups that Spark keeps.

Terminates: each step makes a window one whose rows are kept, which is none for another step.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from narrows.expressions.nodes import Column, ColumnId, Expr, columns_of_all, rewrite
from narrows.logical.conjuncts import is_deterministic, split, with_filter
from narrows.logical.nodes import DataSink, Filter, Generate, Node, Project, Window
from narrows.logical.relational_nodes import Keep
from narrows.logical.walk import topological, transform_up
from narrows.physical.above_windows import way_to_window
from narrows.physical.execution import rows_of
from narrows.physical.in_reader.worker_aggregation import can_compute
from narrows.physical.in_reader.worker_predicate import leaf_test
from narrows.physical.nodes import (
    PhysicalAggregation,
    PhysicalFilter,
    PhysicalReader,
    PhysicalStreamingAggregation,
    PhysicalWindow,
    PhysicalWindowRows,
)
from narrows.physical.rules.filter_into_decoder import narrow_shipping
from narrows.physical.stateful_calls import window_call
from narrows.physical.window_groups import window_cut
from narrows.schema import DOUBLE, FLOAT


@dataclass(frozen=True)
class WindowRowsIntoReader:
    ansi: bool = False
    """Is an overflow an error?"""

    def apply(self, plan: Node) -> Node | None:
        if not any(isinstance(node, DataSink) for node in topological(plan)):
            return None
        found = next(reversed(way_to_window(rows_of(plan))), None)
        if found is None or isinstance(found, PhysicalWindowRows):
            return None
        if isinstance(found, PhysicalStreamingAggregation) and found.merges:
            return None
        folding = _taken_apart(found) if isinstance(found, PhysicalStreamingAggregation) else None
        below = _Below()
        kept = self._kept(found if folding is None else folding.child, below)
        if kept is None:
            return None
        if folding is not None:
            kept = below.in_terms_of_reader(folding.with_children([kept]))
        under = {id(node) for node in topological(found)}

        def change(node: Node) -> Node | None:
            if node is found:
                return kept
            return None if id(node) in under else below.in_terms_of_reader(node)

        changed = transform_up(plan, change)
        return None if changed is None else narrow_shipping(changed)

    def _kept(self, window: Node, below: _Below) -> Node | None:
        """The window, right above its reader, and above it what stood in between."""
        assert isinstance(window, Window)
        call = window_call(window.window)
        if call.args or window_cut(call.evaluator) is None or not below.collect(window.child):
            return None
        assert below.reader is not None
        if not below.reader.source.is_fed or below.reader.source.eventtime is None:
            return None
        keys = tuple(map(below.written_out, window.keys))
        if window.kind.row_time_decides:
            keys = ()
        elif window.window.partition_by or not self._can_cut(keys, below):
            return None
        reader, above = self._tested(below)
        if above and not window.kind.row_time_decides:
            return None
        node: Node = PhysicalWindowRows(
            child=reader, window=window.window, relation=window.relation, keys=keys
        )
        for each in reversed(above):
            node = each.with_children([node])
        return node

    def _can_cut(self, keys: tuple[Expr, ...], below: _Below) -> bool:
        assert below.reader is not None
        relation = below.reader.relation.id
        return all(
            can_compute(key, relation, ansi=self.ansi) and key.dtype not in (FLOAT, DOUBLE)
            for key in keys
        )

    def _tested(self, below: _Below) -> tuple[PhysicalReader, list[Node]]:
        """The reader with the tests that it can do, and what is left for when windows close."""
        assert below.reader is not None
        reader, above, tests = below.reader, list[Node](), list[Expr]()
        for node in map(below.in_terms_of_reader, below.nodes):
            if not isinstance(node, Filter):
                above.append(node)
                continue
            parts = {
                part: leaf_test(part, reader.relation.id, ansi=self.ansi) is not None
                for part in split(node.predicate)
            }
            tests += [part for part, is_test in parts.items() if is_test]
            left = [part for part, is_test in parts.items() if not is_test]
            filtered = with_filter(reader, left, kind=PhysicalFilter)
            above += [] if filtered is reader else [filtered]
        if not tests:
            return reader, above
        return replace(reader, filter=(*reader.filter, *tests)), above


@dataclass
class _Below:
    """What stands between a window and its reader."""

    reader: PhysicalReader | None = None
    nodes: list[Node] = field(default_factory=list)
    """Filters and generators, from the top."""
    fields: dict[ColumnId, Expr] = field(default_factory=dict)
    """What projections compute, of columns of the reader, and of generators."""

    def collect(self, node: Node) -> bool:
        """Is it all that can be moved?"""
        while not isinstance(node, PhysicalReader):
            if not all(map(is_deterministic, node.expressions)):
                return False
            match node:
                case Filter() | Generate():
                    self.nodes.append(node)
                case Project(relation=relation, fields=fields):
                    made = {relation.column(n).id: each.expr for n, each in enumerate(fields)}
                    self.fields = {id_: _written(e, made) for id_, e in self.fields.items()} | made
                case Keep():
                    pass
                case _:
                    return False
            (node,) = node.children
        self.reader = node
        return not node.encodes

    def written_out(self, expr: Expr) -> Expr:
        return _written(expr, self.fields)

    def in_terms_of_reader(self, node: Node) -> Node:
        """The node without what projections have made."""
        asked = {column.id for column in columns_of_all(node.expressions)}
        if asked.isdisjoint(self.fields):
            return node
        return node.with_expressions([self.written_out(expr) for expr in node.expressions])


def _written(expr: Expr, made: dict[ColumnId, Expr]) -> Expr:
    return rewrite(expr, lambda part: made.get(part.id) if isinstance(part, Column) else None)


def _taken_apart(node: PhysicalStreamingAggregation) -> PhysicalAggregation:
    """The window and the aggregation that it was made of."""
    window = PhysicalWindow(
        child=node.child, window=node.window, relation=node.bounds, keys=node.group
    )
    return PhysicalAggregation(
        child=window, keys=node.keys, calls=node.calls, relation=node.relation
    )
