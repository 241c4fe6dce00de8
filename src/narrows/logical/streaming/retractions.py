"""Sinks that want retractions (`mode = 'retract'`) of groups that no window ends.

    SELECT site, count(*) AS n FROM s GROUP BY site      {"site": "a", "n": 1, "op": "insert"}
                                                         {"site": "a", "n": 1, "op": "retract"}
                                                         {"site": "a", "n": 3, "op": "insert"}

Who adds what is inserted and subtracts what is retracted has at all times what the query answers.
So the row that is taken back must be the one that was written: what stands above the groups may
only compute, the same each time. HAVING may drop either of the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

from narrows.catalog.objects import Pipeline, Sink
from narrows.errors import Code, NarrowsError, Problem
from narrows.expressions.function import Function, Kind
from narrows.expressions.nodes import Call, Column
from narrows.functions import results
from narrows.logical.builder.query import Built
from narrows.logical.conjuncts import is_deterministic
from narrows.logical.nodes import (
    Aggregation,
    Filter,
    NamedExpr,
    Node,
    Project,
    RetractingAggregation,
    relation_of,
)
from narrows.schema import STRING

MODE = "retract"
OPERATION = "op"
"""The column that says what is done with a row."""
_OPERATION = Function("operation", Kind.AGGREGATE, 0, 0, result=results.fixed(STRING))


def is_operation(call: object) -> bool:
    """Is it the call that says what is done with a row?"""
    return isinstance(call, Call) and call.function is _OPERATION


def retracting(built: Built, pipeline: Pipeline, sinks: Sequence[Sink]) -> Node:
    """The plan with rows that take back earlier ones, if its sinks want that."""
    wanting = [sink for sink in sinks if sink.options.get("mode") == MODE]
    if not wanting:
        return built.plan
    if len(wanting) < len(sinks):
        raise _problem(
            pipeline,
            f"sink `{wanting[0].name}` wants retractions, and other sinks of the pipeline do not",
            "all sinks of a pipeline have the same `mode`; make a pipeline for each",
        )
    plan = built.plan
    if any(column.name.casefold() == OPERATION for column in plan.outputs):
        message = f"the query has a column `{OPERATION}`, which says what is done with a row"
        raise _problem(pipeline, message, "give it another name: `AS ...`", Code.DUPLICATE_COLUMN)
    above = plan.child if isinstance(plan, Project) else plan
    folded = above.child if isinstance(above, Filter) else above
    if not isinstance(plan, Project) or not isinstance(folded, Aggregation) or folded.sets:
        raise _problem(
            pipeline,
            f"sink `{wanting[0].name}` wants retractions, and rows are made of groups by more than"
            " a select list and HAVING",
            "do the rest in another pipeline, or where the rows are read",
        )
    for expr in (*plan.expressions, *(above.expressions if above is not folded else ())):
        if not is_deterministic(expr):
            message = "a row could not be taken back: it would be computed again, and be another"
            raise _problem(pipeline, message, "leave out what is not deterministic")
    return _retracting(plan, above, folded, built)


def _retracting(plan: Project, above: Node, folded: Aggregation, built: Built) -> Node:
    named = (*folded.keys, *folded.calls)
    operation = NamedExpr(OPERATION, Call(function=_OPERATION, args=(), dtype=STRING))
    relation = relation_of(folded.relation.id, None, (*named, operation))
    own = {f.name: getattr(folded, f.name) for f in fields(folded)}
    own |= {"calls": (*folded.calls, operation), "relation": relation}
    below: Node = RetractingAggregation(**own)
    if above is not folded:
        below = above.with_children([below])
    said: Column = relation.column(len(named))
    listed = (*plan.fields, NamedExpr(OPERATION, said))
    made = relation_of(built.ids.new(), None, listed)
    return replace(plan, child=below, fields=listed, relation=made)


def _problem(
    pipeline: Pipeline, message: str, hint: str, code: Code = Code.NOT_SUPPORTED
) -> NarrowsError:
    return NarrowsError(Problem(code, message, pipeline.query.span, hint))
