"""The plan that fits the state that a pipeline has.

What was kept so far stays where it is: in Spark's state store, or as rows that tasks have kept. A
pipeline that was begun before its tasks could keep its windows and groups and what is remembered,
or fold them, or read several streams together, goes on as it did, until it is reset.
"""

from __future__ import annotations

import contextlib

from narrows.errors import NarrowsError
from narrows.explain.plan import Plan
from narrows.planner.catalog import Catalog
from narrows.state.folder import StateFolder

_FOLDED = "WindowIntoReader"
_BY_TASKS = frozenset(
    {
        _FOLDED,
        "WindowRowsIntoReader",
        "EndlessAggregationIntoReader",
        "MemoryIntoTasks",
        "StreamJoinIntoTasks",
        "UnionByEntry",
    }
)
_BEFORE = (frozenset({_FOLDED}), _BY_TASKS)
"""The rules by which there is no streaming query, and which of them there may have been none of."""


def fitting_plan(
    state: StateFolder, catalog: Catalog, name: str, *, pruning: bool, keep: bool = False
) -> Plan:
    """How a pipeline is planned that is to go on from what is in the state folder. What fits in no
    way is refused, in the words of the usual plan."""
    plan = catalog.plan_pipeline(name, pruning=pruning, keep=keep)
    if not state.knows(name) or not _applied(plan):
        return plan
    try:
        state.check_fits(name, plan.physical)
    except NarrowsError:
        for without in _BEFORE:
            before = catalog.plan_pipeline(name, pruning=pruning, keep=keep, without=without)
            with contextlib.suppress(NarrowsError):
                state.check_fits(name, before.physical)
                return before
    return plan


def _applied(plan: Plan) -> bool:
    return any(run.rule in _BY_TASKS and run.changed for run in plan.rule_runs)
