"""EndlessAggregationIntoReader: tasks keep the groups that no window ends, begun where rows are
decoded.

SQL:     CREATE PIPELINE p INTO out_json
         AS SELECT k, count(*) AS n FROM ev WHERE a > 1 GROUP BY k
Before:  PhysicalDataSink sink=out_json
         └─PhysicalEncoder encoder=json
           └─PhysicalProject fields=[k; count(*) AS n]
             └─PhysicalAggregation keys=[ev.k], calls=[count(*)]
               └─PhysicalFilter predicate=ev.a > 1
                 └─PhysicalDecoder schema=[a, k, ts]
                   └─PhysicalDataSource source=ev
After:   PhysicalDataSink sink=out_json
         └─PhysicalEncoder encoder=json
           └─PhysicalProject fields=[k; count(*) AS n]
             └─PhysicalEndlessAggregation state=partial aggregates
               └─PhysicalPartialAggregation keys=[ev.k], calls=[count(*)], in=reader
                 └─PhysicalDecoder filter=[ev.a > 1], ships=[k, ts]
                   └─PhysicalDataSource source=ev

Recognises: in a pipeline, an aggregation of a stream without window, right above a reader, or above
a filter that the reader can run; under filters and projections alone. Its keys and arguments the
reader can compute, and its calls can be taken apart (`physical/in_reader/partial_calls.py`). No
state store keeps groups then, and no row of the stream crosses the JVM: each task of an entry
leaves a file, and what all files have of the keys in it is merged (`worker/endless/`). Likewise
SELECT DISTINCT, whose rows are groups of which there are only keys: these are given once, when they
are new.

Refuses: what `WindowIntoReader` refuses, for the same reasons: keys that are floating numbers, sums
whose overflow is for Spark to see, aggregates of DISTINCT values and approx_count_distinct, first
and last, joins, and anything above groups that goes by more than one row. ROLLUP, CUBE and GROUPING
SETS. Sinks that want retractions: what is taken back must be what was written to the last digit,
and a sum of floating numbers may be another when files have been merged. Of what is refused here,
DISTINCT and groups without aggregates may be for `MemoryIntoTasks`.

Terminates: each step removes an aggregation, or a DISTINCT, right above a stream's reader, and no
rule makes one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from narrows.logical.nodes import DataSink, NamedExpr, Node, relation_of
from narrows.logical.walk import fresh_numbers, topological, transform_up
from narrows.physical.begun_in_reader import begun_in_reader, testing_reader
from narrows.physical.distinct_rows import as_groups
from narrows.physical.execution import rows_of
from narrows.physical.kept_groups import below_computed
from narrows.physical.nodes import (
    PhysicalAggregation,
    PhysicalEndlessAggregation,
    PhysicalProject,
)
from narrows.physical.rules.filter_into_decoder import narrow_shipping


@dataclass(frozen=True)
class EndlessAggregationIntoReader:
    ansi: bool = False
    """Is an overflow an error?"""

    def apply(self, plan: Node) -> Node | None:
        if not any(isinstance(node, DataSink) for node in topological(plan)):
            return None
        groups, _ = below_computed(rows_of(plan))
        fresh = fresh_numbers(plan)

        def split_groups(node: Node) -> Node | None:
            aggregation = as_groups(node) if node is groups else None
            split = None if aggregation is None else self._split(aggregation, fresh)
            if split is None or isinstance(node, PhysicalAggregation):
                return split
            return _as_selected(split, fresh)

        made = transform_up(plan, split_groups)
        return None if made is None else narrow_shipping(made)

    def _split(
        self, node: PhysicalAggregation, fresh: Iterator[int]
    ) -> PhysicalEndlessAggregation | None:
        reader = testing_reader(node.child, ansi=self.ansi)
        if reader is None or node.sets is not None:
            return None
        keys = [expr for _, expr in node.keys]
        begun = begun_in_reader(node, keys, reader, fresh, ansi=self.ansi)
        if begun is None or not begun.made:
            return None
        return PhysicalEndlessAggregation(
            child=begun.partial,
            keys=tuple(NamedExpr(name, begun.made[expr]) for name, expr in node.keys),
            calls=begun.calls,
            relation=node.relation,
        )


def _as_selected(groups: PhysicalEndlessAggregation, fresh: Iterator[int]) -> PhysicalProject:
    """A projection of the keys, which is what tasks can write."""
    relation = relation_of(next(fresh), None, groups.keys)
    columns = zip(groups.keys, relation.columns, strict=True)
    fields = tuple(NamedExpr(name, column) for (name, _), column in columns)
    return PhysicalProject(
        child=replace(groups, relation=relation), fields=fields, relation=groups.relation
    )
