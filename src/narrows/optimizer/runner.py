"""Runs rules over a plan, and remembers what each of them did.

EXPLAIN VERBOSE, tests that demand that a rule fired, and timings all come from the one `RuleRun`
recorded here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter

from narrows.logical.nodes import Node
from narrows.optimizer.rule import RemarkingRule, Rule


@dataclass(frozen=True)
class RuleRun:
    """What a rule did: how long it took, and the plan after it if it changed."""

    rule: str
    seconds: float
    plan: Node | None
    remarks: Callable[[], Iterable[str]] = tuple
    """What the rule has to say about it, for those who ask."""

    @property
    def changed(self) -> bool:
        return self.plan is not None


def rule_name(rule: Rule) -> str:
    return type(rule).__name__


def snake_case(name: str) -> str:
    """`TopLevelColumnPruning` as files and settings write it: `top_level_column_pruning`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def run_rules(
    plan: Node,
    rules: Sequence[Rule],
    *,
    disabled: frozenset[str] = frozenset(),
    check: Callable[[Node, Node, str], None] | None = None,
) -> tuple[Node, list[RuleRun]]:
    """Applies the rules in order. `check(before, after, rule)` is called after each change."""
    runs: list[RuleRun] = []
    for rule in rules:
        name = rule_name(rule)
        if name in disabled:
            continue
        started = perf_counter()
        changed = rule.apply(plan)
        remarks = partial(rule.remarks, plan) if isinstance(rule, RemarkingRule) else tuple
        runs.append(RuleRun(name, perf_counter() - started, changed, remarks))
        if changed is not None:
            if check is not None:
                check(plan, changed, name)
            plan = changed
    return plan, runs
