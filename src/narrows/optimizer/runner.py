"""Runs rules over a plan, and remembers what each of them did.

EXPLAIN VERBOSE, tests that demand that a rule fired, and timings all come from the one `RuleRun`
recorded here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter

from narrows.logical.nodes import Node
from narrows.optimizer.rule import Rule
from narrows.optimizer.rules.common_conjuncts import CommonConjuncts
from narrows.optimizer.rules.constant_folding import ConstantFolding
from narrows.optimizer.rules.covering_projection import CoveringProjection
from narrows.optimizer.rules.list_element_pruning import ListElementPruning
from narrows.optimizer.rules.predicate_pushdown import PredicatePushdown
from narrows.optimizer.rules.projection_pushdown import ProjectionPushdown
from narrows.optimizer.rules.struct_field_pruning import StructFieldPruning
from narrows.optimizer.rules.top_level_column_pruning import TopLevelColumnPruning
from narrows.physical.rules.by_index_projection_into_encoder_rewrite import (
    ByIndexProjectionIntoEncoderRewrite,
)
from narrows.physical.rules.filter_into_decoder import FilterIntoDecoder
from narrows.physical.rules.streaming_aggregation_rewrite import StreamingAggregationRewrite
from narrows.physical.rules.streaming_encoder_rewrite import StreamingEncoderRewrite

LOGICAL_RULES: tuple[Rule, ...] = (
    ConstantFolding(),  # first: an index that becomes constant prunes more
    CommonConjuncts(),  # before they are pushed down: what all branches ask for can move
    PredicatePushdown(),  # before pruning: predicates take their columns along
    TopLevelColumnPruning(),  # the same demand at three depths, so that each step can be shown
    StructFieldPruning(),
    ListElementPruning(),
    CoveringProjection(),  # after pruning: it must cover what is decoded
    ProjectionPushdown(),  # last: what is not decoded need not be dropped
)

PHYSICAL_RULES: tuple[Rule, ...] = (
    StreamingAggregationRewrite(),  # first: what a window keeps does not depend on the ends
    FilterIntoDecoder(),  # the reader drops rows before they are shipped
    StreamingEncoderRewrite(),  # before the next: it delays into encoders right above a projection
    ByIndexProjectionIntoEncoderRewrite(),
)

PRUNING: frozenset[str] = frozenset(
    {
        "TopLevelColumnPruning",
        "StructFieldPruning",
        "ListElementPruning",
        "CoveringProjection",
        "ProjectionPushdown",
        "FilterIntoDecoder",
        "ByIndexProjectionIntoEncoderRewrite",
    }
)
"""The rules that decide what is decoded and shipped; without them it is everything."""


@dataclass(frozen=True)
class RuleRun:
    """What a rule did: how long it took, and the plan after it if it changed."""

    rule: str
    seconds: float
    plan: Node | None

    @property
    def changed(self) -> bool:
        return self.plan is not None


def rule_name(rule: Rule) -> str:
    return type(rule).__name__


def snake_case(name: str) -> str:
    """`TopLevelColumnPruning` as files and settings write it: `top_level_column_pruning`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def settings() -> dict[str, str]:
    """The names of all rules, by what `SET narrows.rule.<name>` calls them."""
    names = [rule_name(rule) for rule in (*LOGICAL_RULES, *PHYSICAL_RULES)]
    return {snake_case(name): name for name in names}


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
        runs.append(RuleRun(name, perf_counter() - started, changed))
        if changed is not None:
            if check is not None:
                check(plan, changed, name)
            plan = changed
    return plan, runs
