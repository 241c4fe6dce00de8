"""ProjectionPushdown: columns leave a row as soon as nobody above uses them.

SQL:     SELECT x.name FROM t1 x JOIN t2 y ON x.id = y.id JOIN t1 z ON y.b = z.id
Before:  Project fields=[x.name]
         └─Join on=y.b = z.id
           ├─Join on=x.id = y.id
           │ ├─DataSource source=t1 AS x
           │ └─DataSource source=t2 AS y
           └─DataSource source=t1 AS z
After:   Project fields=[x.name]
         └─Join on=y.b = z.id
           ├─Project fields=[x.name; y.b]
           │ └─Join on=x.id = y.id
           │   ├─DataSource source=t1 AS x
           │   └─DataSource source=t2 AS y
           └─DataSource source=t1 AS z

Right above a scan there is nothing to project: the scan decodes only what is used (the pruning
rules). Here it is about what a row carries on its way up.

Recognises: columns that a projection, an aggregation, a union, OVER or a subquery makes and nobody
uses, which are not made any more, and of a table that Spark reads, which are not read; a projection
right above a projection, which become one; and a join, sort or filter above which some of its
columns are dead, e.g. join keys after the join and sort keys after the sort.

Refuses: a projection that does not pay. It pays when the rows are going to be shuffled (for a join,
aggregation, sort, DISTINCT, OVER) and the bytes it keeps out of the shuffle - dropped width times
estimated rows - are more than a projection costs. Where nothing is shuffled any more, the last
projection drops them anyway. Plans with stream windows or functions that remember rows, which look
at more than their expressions say, are left as they are. A column that was computed at some cost is
not computed twice to merge two projections.

Terminates: dead columns only get fewer, merging removes a node, and a projection is only put where
there is none; PredicatePushdown, which ran before, moves filters below a projection but never one
above it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from narrows.expressions.nodes import Column
from narrows.logical.live import Live, live_columns
from narrows.logical.nodes import (
    Aggregation,
    DataSink,
    Distinct,
    Filter,
    Join,
    Node,
    Project,
    Sort,
    StatefulFunction,
    Window,
)
from narrows.logical.relational_nodes import (
    Analytic,
    Keep,
    SetOperation,
    SparkTable,
    Subquery,
    Union,
)
from narrows.logical.walk import topological
from narrows.optimizer.dead_columns import drop_dead_columns
from narrows.optimizer.estimates import Estimates
from narrows.optimizer.merge_projections import merge_projections

PROJECTING_COSTS = 4.0
"""Bytes a row that a projection must keep out of a shuffle to be worth its while."""

_SHUFFLED = (Join, Aggregation, Sort, Distinct, SetOperation, Analytic)
_NARROWING = (Project, Aggregation, Keep, Union)


class ProjectionPushdown:
    def apply(self, plan: Node) -> Node | None:
        if not _has_something_to_drop(plan):
            return None
        lean = without_dead_columns(plan)
        narrow = _narrow(lean) or lean
        return narrow if narrow is not plan else None


def _has_something_to_drop(plan: Node) -> bool:
    """One SELECT over one source drops columns at its end anyway: nothing to look for among 15 000
    columns."""
    nodes = topological(plan)
    made = sum(isinstance(node, (Project, Aggregation, Analytic, Union)) for node in nodes)
    return made > 1 or any(isinstance(n, (*_SHUFFLED, SparkTable, Subquery)) for n in nodes)


def without_dead_columns(plan: Node) -> Node:
    """The plan with what nobody uses gone and stacked projections merged; itself if that is all."""
    while True:
        step = drop_dead_columns(plan) or merge_projections(plan)
        if step is None:
            return plan
        plan = step


@dataclass(frozen=True)
class Decision:
    """Whether columns are dropped right above a node, and why."""

    node: Node
    keeps: tuple[Column, ...]
    drops: tuple[Column, ...]
    rows: float
    saved_width: float
    shuffle: str | None
    """The operator that shuffles the rows next, if there is one."""

    @property
    def pays(self) -> bool:
        return self.shuffle is not None and self.saved_width > PROJECTING_COSTS

    def __str__(self) -> str:
        dropped = ", ".join(
            f"{c.qualifier}.{c.name}" if c.qualifier else c.name for c in self.drops
        )
        verb = "drop" if self.pays else "keep"
        saved = f"{self.saved_width:.0f} bytes a row x {self.rows:.0f} rows"
        if self.shuffle is None:
            return f"{verb} {dropped} above {self.node.operator}: no shuffle follows ({saved})"
        return f"{verb} {dropped} above {self.node.operator}: {saved}, shuffled by {self.shuffle}"


def decisions(plan: Node) -> Iterator[Decision]:
    """Every place where columns could be dropped, with what that would save."""
    if any(isinstance(node, (Window, StatefulFunction)) for node in topological(plan)):
        return
    live, estimates, shuffles = live_columns(plan), Estimates(plan), _next_shuffles(plan)
    parents = _parents(plan)
    for node in topological(plan):
        if not isinstance(node, (Join, Sort, Filter)):
            continue
        if any(isinstance(parent, (*_NARROWING, DataSink)) for parent in parents[id(node)]):
            continue  # it drops them itself
        decision = _decision(node, live, estimates, shuffles)
        if decision is not None:
            yield decision


def _decision(
    node: Node, live: Live, estimates: Estimates, shuffles: dict[int, str | None]
) -> Decision | None:
    kept = tuple(column for column in node.outputs if column.id in live[id(node)])
    dropped = tuple(column for column in node.outputs if column.id not in live[id(node)])
    if not dropped:
        return None
    width = sum(estimates.width(column) for column in dropped)
    return Decision(node, kept, dropped, estimates.rows(node), width, shuffles[id(node)])


def _narrow(plan: Node) -> Node | None:
    paying = {id(decision.node): decision for decision in decisions(plan) if decision.pays}
    if not paying:
        return None
    originals = {id(node): node for node in topological(plan)}
    replaced: dict[int, Node] = {}
    for number in reversed([id(node) for node in topological(plan)]):
        node = originals[number]
        children = [replaced[id(child)] for child in node.children]
        same = all(new is old for new, old in zip(children, node.children, strict=True))
        current = node if same else node.with_children(children)
        if number in paying:
            current = Keep(child=current, columns=paying[number].keeps)
        replaced[number] = current
    return replaced[id(plan)]


def _next_shuffles(plan: Node) -> dict[int, str | None]:
    """For each node, the operator above it that shuffles the node's rows before they are narrowed
    by something else."""
    found: dict[int, str | None] = {id(plan): None}
    for node in topological(plan):
        for place, child in enumerate(node.children):
            above = found[id(node)]
            if isinstance(node, Subquery) and place == 1:
                above = "Subquery"
            elif isinstance(node, _SHUFFLED):
                above = node.operator
            elif isinstance(node, _NARROWING):
                above = None
            found[id(child)] = found.get(id(child)) or above
    return found


def _parents(plan: Node) -> dict[int, list[Node]]:
    parents: dict[int, list[Node]] = {id(node): [] for node in topological(plan)}
    for node in topological(plan):
        for child in node.children:
            parents[id(child)].append(node)
    return parents


__all__ = ["Decision", "ProjectionPushdown", "decisions"]
