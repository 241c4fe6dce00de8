"""The rules, in the order in which they are applied, and the reason for each one's place."""

from __future__ import annotations

from narrows.catalog.measured import NOTHING_MEASURED, Measured
from narrows.optimizer.rule import Rule
from narrows.optimizer.rules.common_conjuncts import CommonConjuncts
from narrows.optimizer.rules.constant_folding import ConstantFolding
from narrows.optimizer.rules.covering_projection import CoveringProjection
from narrows.optimizer.rules.implied_tests import ImpliedTests
from narrows.optimizer.rules.list_element_pruning import ListElementPruning
from narrows.optimizer.rules.predicate_pushdown import PredicatePushdown
from narrows.optimizer.rules.projection_pushdown import ProjectionPushdown
from narrows.optimizer.rules.struct_field_pruning import StructFieldPruning
from narrows.optimizer.rules.top_level_column_pruning import TopLevelColumnPruning
from narrows.optimizer.runner import rule_name, snake_case
from narrows.physical.rules.by_index_projection_into_encoder_rewrite import (
    ByIndexProjectionIntoEncoderRewrite,
)
from narrows.physical.rules.endless_aggregation_into_reader import EndlessAggregationIntoReader
from narrows.physical.rules.few_rows_into_one_task import FewRowsIntoOneTask
from narrows.physical.rules.filter_into_decoder import FilterIntoDecoder
from narrows.physical.rules.join_filter_into_reader import JoinFilterIntoReader
from narrows.physical.rules.limit_into_reader import LimitIntoReader
from narrows.physical.rules.memory_into_tasks import MemoryIntoTasks
from narrows.physical.rules.partial_aggregation_into_reader import PartialAggregationIntoReader
from narrows.physical.rules.projection_into_reader import ProjectionIntoReader
from narrows.physical.rules.stream_join_into_tasks import StreamJoinIntoTasks
from narrows.physical.rules.streaming_aggregation_rewrite import StreamingAggregationRewrite
from narrows.physical.rules.streaming_encoder_rewrite import StreamingEncoderRewrite
from narrows.physical.rules.union_by_entry import UnionByEntry
from narrows.physical.rules.window_into_reader import WindowIntoReader
from narrows.physical.rules.window_rows_into_reader import WindowRowsIntoReader

LOGICAL_RULES: tuple[Rule, ...] = (
    ConstantFolding(),  # first: an index that becomes constant prunes more
    CommonConjuncts(),  # before they are pushed down: what all branches ask for can move
    ImpliedTests(),  # after those, which may leave no OR; what is implied can move
    PredicatePushdown(),  # before pruning: predicates take their columns along
    TopLevelColumnPruning(),  # the same demand at three depths, so that each step can be shown
    StructFieldPruning(),
    ListElementPruning(),
    CoveringProjection(),  # after pruning: it must cover what is decoded
    ProjectionPushdown(),  # last: what is not decoded need not be dropped
)


def physical_rules(*, ansi: bool, measured: Measured = NOTHING_MEASURED) -> tuple[Rule, ...]:
    """`ansi`: an overflow is an error, so what may overflow is not for readers to compute;
    `measured`: what is known of sources."""
    return (
        StreamingAggregationRewrite(ansi),  # first: what a window keeps does not depend on the ends
        FilterIntoDecoder(ansi),  # the reader drops rows before they are shipped
        JoinFilterIntoReader(measured),  # after filters: they tell which readers have few rows
        PartialAggregationIntoReader(
            ansi, measured
        ),  # after filters: what they drop is in no group
        WindowIntoReader(ansi),  # after those, which leave streams to it
        WindowRowsIntoReader(ansi),  # after that one: what can be folded need not be kept
        EndlessAggregationIntoReader(ansi),  # as the windows, of streams
        MemoryIntoTasks(),  # after those, which leave nothing else that keeps rows
        StreamJoinIntoTasks(),  # likewise
        UnionByEntry(),  # after all of those, which leave what nobody keeps anything of
        LimitIntoReader(ansi),  # after those: where groups begin in the reader, it counts groups
        FewRowsIntoOneTask(measured),  # after those: by what readers leave, and of what they began
        StreamingEncoderRewrite(),  # before the next: it delays into encoders above a projection
        ByIndexProjectionIntoEncoderRewrite(),
        ProjectionIntoReader(ansi),  # last: what is delayed is not computed
    )


PHYSICAL_RULES: tuple[Rule, ...] = physical_rules(ansi=False)

PRUNING: frozenset[str] = frozenset(
    {
        "TopLevelColumnPruning",
        "StructFieldPruning",
        "ListElementPruning",
        "CoveringProjection",
        "ProjectionPushdown",
        "FilterIntoDecoder",
        "JoinFilterIntoReader",
        "PartialAggregationIntoReader",
        "WindowIntoReader",
        "WindowRowsIntoReader",
        "EndlessAggregationIntoReader",
        "LimitIntoReader",
        "ByIndexProjectionIntoEncoderRewrite",
        "ProjectionIntoReader",
    }
)
"""The rules that decide what is decoded and shipped; without them it is everything."""


def settings() -> dict[str, str]:
    """The names of all rules, by what `SET narrows.rule.<name>` calls them."""
    names = [rule_name(rule) for rule in (*LOGICAL_RULES, *PHYSICAL_RULES)]
    return {snake_case(name): name for name in names}
