"""FewRowsIntoOneTask: one task has all rows before the last shuffles, where they are few.

SQL:     SELECT k, count(DISTINCT a) FROM (SELECT * FROM ev LIMIT 1000) GROUP BY k ORDER BY k
Before:  PhysicalProject fields=[k; count(DISTINCT a)]
         └─PhysicalSort keys=[k]
           └─PhysicalAggregation keys=[k], calls=[count(DISTINCT a)]
             └─PhysicalLimit count=1000
               └─PhysicalProject fields=[ev.a; ev.k]
                 └─PhysicalDecoder limit=1000
                   └─PhysicalDataSource source=ev
After:   PhysicalProject fields=[k; count(DISTINCT a)]
         └─PhysicalSort keys=[k]
           └─PhysicalAggregation keys=[k], calls=[count(a)]
             └─PhysicalGather tasks=1
               └─PhysicalAggregation keys=[k; a]
                 └─PhysicalLimit count=1000
                   └─PhysicalProject fields=[ev.a; ev.k]
                     └─PhysicalDecoder limit=1000
                       └─PhysicalDataSource source=ev

Recognises: in a query, groups whose calls are all DISTINCT and of the same values, where few rows
come into them (`physical/few_rows.py`). Spark shuffles those by key and value, and what is left of
them once more by key. One task that has all values of the first shuffle needs no other, be the
groups sorted afterwards or not. And an ORDER BY of groups, or of a DISTINCT, into which few rows
come: Spark would make the groups twice, once for a sample of how they are to be sorted, and shuffle
them. What stands between groups and ORDER BY may test and compute, row by row.

Refuses: where nobody knows how much there is; more than 16 MB of rows, as far as one can tell, or
more than 96 MB without tests. Groups without keys, which are one row. DISTINCT beside other calls
or of other values, and FILTER, for which Spark shuffles each row several times. ORDER BY with a
LIMIT above it, of which each task takes its first rows. Subqueries and lateral sides, where Spark
must find the columns of the rows around it. Pipelines.

Terminates: above what it puts in nothing is recognised.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from narrows.catalog.measured import NOTHING_MEASURED, Measured
from narrows.expressions.nodes import Call, Expr, columns_of, columns_of_all
from narrows.logical.conjuncts import is_deterministic
from narrows.logical.nodes import (
    Aggregation,
    DataSink,
    Distinct,
    Filter,
    Join,
    Limit,
    NamedExpr,
    Node,
    Project,
    Sort,
    default_name,
    relation_of,
)
from narrows.logical.relational_nodes import Keep, Recursion, Subquery
from narrows.logical.walk import fresh_numbers, outer_columns, topological, transform_up
from narrows.physical.few_rows import FewRows
from narrows.physical.nodes import PhysicalAggregation, PhysicalGather, PhysicalPartialAggregation
from narrows.sql.binder.context import SubqueryKind


@dataclass(frozen=True)
class FewRowsIntoOneTask:
    measured: Measured = NOTHING_MEASURED

    def apply(self, plan: Node) -> Node | None:
        if any(isinstance(node, DataSink) for node in topological(plan)):
            return None
        made = step = _gathered_once(plan, self.measured)
        while step is not None:
            made, step = step, _gathered_once(step, self.measured)
        return made


def _gathered_once(plan: Node, measured: Measured) -> Node | None:
    """The plan with one more place where few rows come into one task."""
    few, fresh, others = FewRows(plan, measured), fresh_numbers(plan), _seen_from_rows(plan)
    cut = _cut_short(plan)
    for node in reversed(topological(plan)):  # groups first: sorted ones are in one task then
        if id(node) in others:
            continue
        made: Node | None = None
        if isinstance(node, PhysicalAggregation):
            made = _values_once(node, few, fresh)
        elif isinstance(node, Sort) and not node.per_batch and id(node) not in cut:
            groups = _groups_below(node.child)
            if groups is not None and few.come_from(groups.child, _looked_at(groups)):
                made = replace(node, child=PhysicalGather(child=node.child))
        if made is not None:
            return _replaced(plan, node, made)
    return None


def _cut_short(plan: Node) -> set[int]:
    """What a LIMIT stands above, but for projections."""
    found: set[int] = set()
    for node in topological(plan):
        if isinstance(node, Limit) or (isinstance(node, (Project, Keep)) and id(node) in found):
            found.update(id(child) for child in node.children)
    return found


def _replaced(plan: Node, node: Node, made: Node) -> Node | None:
    return transform_up(plan, lambda each: made if each is node else None)


def _seen_from_rows(plan: Node) -> set[int]:
    """What Spark answers for each row of something else, or again and again."""
    inside: list[Node] = []
    for node in topological(plan):
        if isinstance(node, Subquery):
            inside += topological(node.subplan)
        elif isinstance(node, Join) and node.lateral:
            inside += topological(node.right)
        elif isinstance(node, Recursion):
            inside += topological(node)
    return {id(node) for node in inside}


def _values_once(
    node: PhysicalAggregation, few: FewRows, fresh: Iterator[int]
) -> PhysicalAggregation | None:
    """The groups, made of each value once."""
    calls = [expr for _, expr in node.calls]
    values = _distinct_values(calls)
    if values is None or not node.keys or node.sets is not None:
        return None
    wanted = list(dict.fromkeys((*(expr for _, expr in node.keys), *values)))
    if not all(map(is_deterministic, wanted)) or not few.come_from(node.child, wanted):
        return None
    named = tuple(NamedExpr(default_name(expr), expr) for expr in wanted)
    relation = relation_of(next(fresh), None, named)
    made = dict(zip(wanted, relation.columns, strict=True))
    once = PhysicalAggregation(child=node.child, keys=named, calls=(), relation=relation)

    def of_once(expr: Expr) -> Expr:
        assert isinstance(expr, Call)
        return replace(expr, args=tuple(made[arg] for arg in expr.args), distinct=False)

    return replace(
        node,
        child=PhysicalGather(child=once),
        keys=tuple(NamedExpr(name, made[expr]) for name, expr in node.keys),
        calls=tuple(NamedExpr(name, of_once(expr)) for name, expr in node.calls),
    )


def _distinct_values(calls: Sequence[Expr]) -> tuple[Expr, ...] | None:
    """The arguments of which calls want each only once; None if not all calls want the same. A
    constant has to stay one for some functions."""
    found: set[tuple[Expr, ...]] = set()
    for call in calls:
        if not isinstance(call, Call) or not call.distinct or not call.function.known:
            return None
        if call.filter is not None or call.order_by or call.ignore_nulls:
            return None
        if not all(any(True for _ in columns_of(arg)) for arg in call.args):
            return None
        found.add(call.args)
    return found.pop() if len(found) == 1 else None


def _groups_below(node: Node) -> Aggregation | Distinct | None:
    """What makes the groups of which these rows are some, one for one."""
    match node:
        case PhysicalPartialAggregation() | Aggregation(keys=()):
            return None
        case Aggregation(child=PhysicalGather()):
            return None  # one task has them
        case Aggregation() | Distinct():
            return node
        case Project(child=child) | Filter(child=child) | Keep(child=child):
            return _groups_below(child)
        case Subquery(kind=SubqueryKind.SCALAR, child=child, subplan=subplan):
            # One value, of whatever it is made. Others are joins, which may shuffle.
            return None if any(True for _ in outer_columns(subplan)) else _groups_below(child)
        case _:
            return None


def _looked_at(groups: Aggregation | Distinct) -> Sequence[Expr]:
    """What comes into groups of each row."""
    if isinstance(groups, Distinct):
        return groups.child.outputs
    return list(dict.fromkeys(columns_of_all(groups.expressions)))
