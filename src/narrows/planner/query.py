"""From SQL text to a plan: parse, bind, optimise, lower. Pure Python, no Spark, milliseconds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from narrows.catalog.objects import Pipeline, Sink
from narrows.catalog.options import LATENCY
from narrows.catalog.store import ObjectStore
from narrows.errors import Code, NarrowsError, Problem, did_you_mean
from narrows.explain.plan import Plan
from narrows.logical.builder.query import Built, build
from narrows.logical.nodes import DataSink, Node, Tail
from narrows.logical.required import required
from narrows.logical.row_order import check_row_order
from narrows.logical.streaming.delta import changed_rows
from narrows.logical.streaming.retractions import retracting
from narrows.logical.streaming.supported import check_streaming
from narrows.logical.streaming.updates import NOT_TOLD_APART, updates_of
from narrows.logical.walk import sources_of
from narrows.notices import Notice
from narrows.optimizer.rule import Rule
from narrows.optimizer.rules.covering_projection import projection_notices
from narrows.optimizer.runner import run_rules
from narrows.physical.low_latency import why_not_low_latency
from narrows.physical.lower import lower
from narrows.physical.rules.by_index_projection_into_encoder_rewrite import refusals
from narrows.physical.window_folds import why_not_retracted
from narrows.planner.handed_on import mismatch, streams_of
from narrows.planner.name_patterns import with_patterns
from narrows.planner.rules import LOGICAL_RULES, PRUNING, physical_rules
from narrows.planner.spark_settings import refuse_other_meanings, rules_that_would_differ
from narrows.plugins.registry import CONNECTORS, FORMATS
from narrows.schema import Field, Struct, is_nested
from narrows.sql.parser.recursion import deep_recursion
from narrows.sql.parser.script import parse_query
from narrows.sql.parser.statements import Query

Check = Callable[[Node, Node, str], None]


def plan(sql: str, catalog: ObjectStore, *, pruning: bool = True) -> Plan:
    """Plans a single query. `pruning=False` decodes everything, for comparison."""
    with deep_recursion():
        return plan_query(parse_query(sql), catalog, pruning=pruning)


def plan_query(
    query: Query,
    catalog: ObjectStore,
    *,
    pruning: bool = True,
    check: Check | None = None,
    pipeline: Pipeline | None = None,
    without: frozenset[str] = frozenset(),
) -> Plan:
    """Plans a parsed query, `without` some rules; with a pipeline, its sinks stand on top of it."""
    try:
        with deep_recursion():
            refuse_other_meanings(query, catalog.setting)
            query = with_patterns(query, catalog.setting)
            functions = catalog.all_functions
            if pipeline is not None:
                functions.variables = lambda name: None  # a pipeline outlives the session
            built = build(query, catalog.find_table, functions)
            bound = built.plan if pipeline is None else _with_sinks(built, pipeline, catalog)
            check_row_order(bound, runs=pipeline is not None)
            disabled = catalog.disabled_rules | without | (frozenset() if pruning else PRUNING)
            disabled |= rules_that_would_differ(bound, catalog.setting)
            rules = physical_rules(ansi=catalog.is_ansi(), measured=catalog.measured)
            plan = _optimise(bound, built.notices, rules, disabled, check)
            return plan if pipeline is None else _for_pipeline(plan, pipeline)
    except NarrowsError as error:
        raise error.located(query.text) from None


def _optimise(
    bound: Node,
    notices: Sequence[Notice],
    rules: Sequence[Rule],
    disabled: frozenset[str],
    check: Check | None,
) -> Plan:
    logical, runs = run_rules(bound, LOGICAL_RULES, disabled=disabled, check=check)
    physical, physical_runs = run_rules(lower(logical), rules, disabled=disabled, check=check)
    losses = required(logical).losses.values()
    return Plan(
        bound=bound,
        logical=logical,
        physical=physical,
        notices=tuple(
            dict.fromkeys((*notices, *losses, *projection_notices(logical), *refusals(physical)))
        ),
        rule_runs=(*runs, *physical_runs),
    )


def _for_pipeline(plan: Plan, pipeline: Pipeline) -> Plan:
    """After the rules: `FROM l, r WHERE l.k = r.k` is a join by then."""
    checked = replace(plan, notices=(*plan.notices, *check_streaming(plan.logical)))
    refused = why_not_retracted(plan.physical)
    if refused is not None:
        message = f"pipeline `{pipeline.name}` cannot write retractions: {refused}"
        hint = "write updates (`mode = 'update'`), or use a window"
        raise NarrowsError(Problem(Code.NOT_SUPPORTED, message, pipeline.query.span, hint))
    if not pipeline.wants_low_latency:
        return checked
    refusal = why_not_low_latency(plan.physical, pipeline.tasks)
    if refusal is not None:
        message = f"pipeline `{pipeline.name}` cannot have low latency: {refusal.reason}"
        span = pipeline.options[LATENCY].value_span
        raise NarrowsError(Problem(Code.NOT_SUPPORTED, message, span, refusal.hint))
    return replace(checked, low_latency=True)


def _with_sinks(built: Built, pipeline: Pipeline, catalog: ObjectStore) -> Node:
    _refuse_duplicate_names(built.plan, pipeline)
    for name in pipeline.sinks:
        _refuse_what_it_cannot_write(built.plan, pipeline, catalog.sink(name))
        _refuse_reading_its_output(built.plan, pipeline, catalog.sink(name))
        _refuse_what_streams_cannot_read(built.plan, pipeline, catalog, catalog.sink(name))
    sinks = [catalog.sink(name) for name in pipeline.sinks]
    updates = updates_of(built.plan, pipeline, sinks)
    retracted = retracting(built, pipeline, sinks)
    if retracted is not built.plan:
        built, updates = replace(built, plan=retracted), None
    rows = changed_rows(built, pipeline, sinks)
    if updates is not None and updates.key is None:
        built.notices.append(NOT_TOLD_APART)
    key = None if updates is None else updates.key or ()
    ends = [
        DataSink(child=rows.plan, sink=sink, changed=rows.changed, updates=key) for sink in sinks
    ]
    return ends[0] if len(ends) == 1 else Tail(sinks=tuple(ends))


def _refuse_what_it_cannot_write(plan: Node, pipeline: Pipeline, sink: Sink) -> None:
    outputs = Struct(tuple(Field(column.name, column.dtype) for column in plan.outputs))
    _refuse_columns_that_are_not_there(outputs, pipeline, sink)
    reason = CONNECTORS.find(sink.connector).check_outputs(outputs, sink.options)
    if reason is None and not sink.takes_rows:
        reason = FORMATS.find(sink.format).check_outputs(outputs)
    if reason is not None:
        message = f"sink `{sink.name}` cannot write this: {reason}"
        raise NarrowsError(Problem(Code.WRONG_TYPE, message, pipeline.query.span))


def _refuse_columns_that_are_not_there(outputs: Struct, pipeline: Pipeline, sink: Sink) -> None:
    problems = []
    for option, names in sink.columns_in_options.items():
        for name in names:
            found = outputs.find(name)
            if len(found) == 1 and not is_nested(outputs.fields[found[0]].type):
                continue
            what = "which is nested" if len(found) == 1 else "which the query does not give"
            problems.append(
                Problem(
                    Code.UNKNOWN_COLUMN if len(found) != 1 else Code.WRONG_TYPE,
                    f"option `{option}` of sink `{sink.name}` names the column `{name}`, {what}",
                    pipeline.query.span,
                    None if found else did_you_mean(name, outputs.names) or "select it",
                )
            )
    if problems:
        raise NarrowsError(*problems)


def _refuse_reading_its_output(plan: Node, pipeline: Pipeline, sink: Sink) -> None:
    """Every row that it wrote would come back to it, for ever."""
    for source in (node.source for node in sources_of(plan)):
        if source.connector != sink.connector:
            continue
        same = CONNECTORS.find(sink.connector).reads_back(source.options, sink.options)
        if same is not None:
            read, written = same
            raise NarrowsError(
                Problem(
                    Code.READS_ITS_OUTPUT,
                    f"pipeline `{pipeline.name}` would read what it writes: {source.kind.value}"
                    f" `{source.name}` reads `{read}`, sink `{sink.name}` writes to `{written}`",
                    pipeline.query.span,
                    f"let `{sink.name}` write to where `{source.name}` does not look",
                )
            )


def _refuse_what_streams_cannot_read(
    plan: Node, pipeline: Pipeline, catalog: ObjectStore, sink: Sink
) -> None:
    for stream in streams_of(catalog, sink):
        wrong = mismatch(stream, plan.outputs)
        if wrong is not None:
            message = f"stream `{stream.name}` cannot read what sink `{sink.name}` is given"
            problem = Problem(
                Code.WRONG_TYPE, f"{message}: {wrong[0]}", pipeline.query.span, wrong[1]
            )
            raise NarrowsError(problem)


def _refuse_duplicate_names(plan: Node, pipeline: Pipeline) -> None:
    """A sink writes columns by name, so each name may stand for one column only."""
    seen: set[str] = set()
    for column in plan.outputs:
        if column.name in seen:
            raise NarrowsError(
                Problem(
                    Code.DUPLICATE_COLUMN,
                    f"pipeline `{pipeline.name}` writes two columns called `{column.name}`",
                    pipeline.query.span,
                    f"give one of them an alias: `... AS {column.name}_2`",
                )
            )
        seen.add(column.name)
