"""Aggregates of a stream without window have no end: what a pipeline writes of them are updates.

After each micro-batch there is a row for every group that it changed, with the values of now. Who
reads them takes the last row of each key; a sink whose rows replace each other (`mode = 'upsert'`:
a compacted topic, a retained message) does that itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from narrows.catalog.objects import Pipeline, Sink
from narrows.errors import Code, NarrowsError, Problem, listed
from narrows.expressions.nodes import Column
from narrows.logical.nodes import Aggregation, Filter, Node, Project, Window
from narrows.logical.streaming.supported import is_stream
from narrows.logical.walk import topological
from narrows.notices import Notice
from narrows.plugins.registry import CONNECTORS

NOT_TOLD_APART = Notice(
    "updates",
    "a row stands for an earlier one of its group, and nothing that is written says of which group",
    "select all group keys",
)


@dataclass(frozen=True)
class Updates:
    """What tells the groups apart of which rows are updates."""

    key: tuple[str, ...] | None
    """The columns of the group keys; None where not all of them are written."""
    filtered: bool
    """Does HAVING keep rows back? Then what was written of a group may stay though it is over."""


def updates_of(plan: Node, pipeline: Pipeline, sinks: Sequence[Sink]) -> Updates | None:
    """What the rows are updates of; None where each row is written once and for all."""
    found = _found(plan)
    for sink in sinks:
        mode = sink.options.get("mode")
        if mode not in ("update", "upsert", "retract"):
            continue
        if found is None:
            raise _problem(
                pipeline,
                f"sink `{sink.name}` is for updates (`mode = '{mode}'`), and this query writes each"
                " row once and for all",
                "leave `mode` out",
            )
        if mode == "upsert":
            _check_upsert(found, pipeline, sink)
    return found


def _found(plan: Node) -> Updates | None:
    for node in topological(plan):
        if not isinstance(node, Aggregation) or not is_stream(node):
            continue
        if not any(isinstance(below, Window) for below in topological(node)):
            return _updates(plan, node)
    return None


def _updates(plan: Node, folded: Aggregation) -> Updates:
    """Of a projection right above the groups; elsewhere nobody knows what the key is."""
    below = plan.child if isinstance(plan, Project) else plan
    filtered = isinstance(below, Filter)
    if isinstance(below, Filter):
        below = below.child
    if below is not folded or not isinstance(plan, Project) or folded.sets is not None:
        return Updates(None, filtered)
    written = {
        named.expr.id.ordinal: str(named.name)
        for named in plan.fields
        if isinstance(named.expr, Column) and named.expr.id.relation == folded.relation.id
    }
    keys = range(len(folded.keys))
    if not all(place in written for place in keys):
        return Updates(None, filtered)
    return Updates(tuple(written[place] for place in keys), filtered)


def _check_upsert(updates: Updates, pipeline: Pipeline, sink: Sink) -> None:
    replaced = CONNECTORS.find(sink.connector).replaced_by(sink.options)
    if isinstance(replaced, str):
        raise _problem(
            pipeline,
            f"rows of sink `{sink.name}` do not replace each other: {replaced}",
            "write updates (`mode = 'update'`), and take the last row of each key where they are"
            " read",
        )
    if updates.key is None or set(map(str.casefold, replaced)) != set(
        map(str.casefold, updates.key)
    ):
        by = listed(list(replaced)) or "nothing"
        keys = "what is not all written" if updates.key is None else listed(list(updates.key))
        raise _problem(
            pipeline,
            f"rows of sink `{sink.name}` replace each other by {by}, and groups are told apart by"
            f" {keys}",
            "select the group keys, and name all of them there",
        )
    if updates.filtered:
        raise _problem(
            pipeline,
            f"a group that no longer passes HAVING would stay in sink `{sink.name}`",
            "write all groups, with the condition as a column; or write updates"
            " (`mode = 'update'`)",
        )


def _problem(pipeline: Pipeline, message: str, hint: str) -> NarrowsError:
    return NarrowsError(Problem(Code.NOT_SUPPORTED, message, pipeline.query.span, hint))
