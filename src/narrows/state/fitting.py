"""The plan that fits the state that a pipeline has.

What Spark's state store has kept so far stays there: windows, groups, and what functions remember.
A pipeline that was begun before its tasks could keep it goes on as it did, until it is reset.
"""

from __future__ import annotations

from narrows.errors import NarrowsError
from narrows.explain.plan import Plan
from narrows.planner.catalog import Catalog
from narrows.state.folder import StateFolder

_BY_TASKS = frozenset({"WindowIntoReader", "EndlessAggregationIntoReader", "MemoryIntoTasks"})


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
        before = catalog.plan_pipeline(name, pruning=pruning, keep=keep, without=_BY_TASKS)
        try:
            state.check_fits(name, before.physical)
        except NarrowsError:
            return plan
        return before
    return plan


def _applied(plan: Plan) -> bool:
    return any(run.rule in _BY_TASKS and run.changed for run in plan.rule_runs)
