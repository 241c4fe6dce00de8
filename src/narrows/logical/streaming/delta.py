"""Sinks that write what has changed (`mode = 'delta'`): what stands on top of a pipeline's query.

    device  speed  rpm        delta_key = 'device'
    a       10     800   ->   {"device": "a", "speed": 10, "rpm": 800}
    a       10     900   ->   {"device": "a", "rpm": 900}
    a       NULL   900   ->   {"device": "a", "speed": null}

Each column that is compared has a `had_changed(false, column) OVER (PARTITION BY key)`, which
remembers, and is exactly once, like any other. Where it is false the column is NULL; the sink gets
the answer beside it, so that an encoder can tell that from a NULL that is news.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from narrows.catalog.objects import Delta, Pipeline, Sink
from narrows.errors import Code, NarrowsError, Problem, did_you_mean, listed
from narrows.expressions.nodes import Call, Column, Expr, Literal
from narrows.functions import builtin_functions, operator
from narrows.logical.builder.query import Built
from narrows.logical.nodes import (
    Filter,
    Generate,
    Join,
    NamedExpr,
    Node,
    Project,
    StatefulFunction,
    Window,
    relation_of,
)
from narrows.logical.streaming.supported import is_stream
from narrows.logical.walk import topological
from narrows.notices import Notice
from narrows.schema import BOOLEAN, STRING, VOID, Struct
from narrows.sql.binder.context import Ids
from narrows.sql.binder.literals import literal

_ONE_TASK = Notice(
    "one_task",
    "all rows of the stream go through one task, in their order: each is compared with the one"
    " before it",
    "add `delta_key = '...'` to the sink",
)


@dataclass(frozen=True)
class SinkRows:
    """What sinks write: the plan, and where in it stands what has changed; see `DataSink`."""

    plan: Node
    changed: Mapping[int, int] = field(default_factory=dict)


def changed_rows(built: Built, pipeline: Pipeline, sinks: Sequence[Sink]) -> SinkRows:
    """The rows of a pipeline, as its sinks want them."""
    deltas = {sink.delta for sink in sinks}
    (delta, *others) = deltas
    if others:
        names = listed([f"`{sink.name}`" for sink in sinks])
        raise _problem(
            pipeline,
            Code.NOT_SUPPORTED,
            f"the sinks {names} of pipeline `{pipeline.name}` want other rows of the same query",
            "all sinks of a pipeline have the same `mode`, and compare the same columns; make a"
            " pipeline for each",
        )
    if delta is None:
        return SinkRows(built.plan)
    _check_order(built.plan, pipeline, sinks[0])
    return _compared(built, _Names(delta, pipeline, sinks, built.plan.outputs))


def _check_order(plan: Node, pipeline: Pipeline, sink: Sink) -> None:
    """A row is compared with the one before it, so there must be an order."""
    for node in topological(plan):
        rows = _rows_without_order(node)
        if rows is not None:
            raise _problem(
                pipeline,
                Code.NOT_SUPPORTED,
                f"sink `{sink.name}` compares each row with the one before it, and the rows of"
                f" {rows} have no order",
                "leave `mode = 'delta'` to a pipeline over rows that have one: those of the"
                " stream, or of a topic in memory that this query writes, `ORDER BY ... PER BATCH`",
            )


def _rows_without_order(node: Node) -> str | None:
    """What a node's rows are rows of, in the user's words, if they are in no order: several may
    have one place."""
    match node:
        case Window(window=window):
            return f"`{window.function.name}`"
        case Generate(generator=generator):
            return f"`{generator.function.name}`"
        case Join(left=left, right=right) if is_stream(left) and is_stream(right):
            return "two joined streams"
        case _:
            return node.without_place


def _compared(built: Built, names: _Names) -> SinkRows:
    outputs, ids = built.plan.outputs, built.ids
    tracked, key = names.tracked(), tuple(outputs[place] for place in names.key())
    calls = [_had_changed(outputs[place], key) for place in tracked]
    said = [f"{outputs[place].name} has changed" for place in tracked]
    relation = relation_of(ids.new(), None, list(map(NamedExpr, said, calls)))
    plan: Node = StatefulFunction(child=built.plan, calls=tuple(calls), relation=relation)
    if not key:
        built.notices.append(_ONE_TASK)
    told = dict(zip(tracked, relation.columns, strict=True))
    if names.delta.omit_if_empty:
        plan = Filter(child=plan, predicate=_any(list(told.values())))
    fields = [
        NamedExpr(column.name, _if(told[place], column) if place in told else column)
        for place, column in enumerate(outputs)
    ]
    if names.delta.mask is not None:
        fields.append(NamedExpr(names.delta.mask, _names_of(told, outputs)))
    changed = {place: len(fields) + number for number, place in enumerate(tracked)}
    fields += map(NamedExpr, said, told.values())
    return SinkRows(_project(plan, fields, ids), changed)


def _project(plan: Node, fields: Sequence[NamedExpr], ids: Ids) -> Project:
    return Project(child=plan, fields=tuple(fields), relation=relation_of(ids.new(), None, fields))


# --- which columns --------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Names:
    """The columns that a sink's options mean, by their places in its rows."""

    delta: Delta
    pipeline: Pipeline
    sinks: Sequence[Sink]
    outputs: Sequence[Column]

    def key(self) -> list[int]:
        return list(self._places("delta_key", self.delta.key))

    def tracked(self) -> list[int]:
        mask = self.delta.mask
        if mask is not None and self._schema.find(mask):
            message = f"the query has a column `{mask}` already"
            raise self._wrong("delta_mask", Code.DUPLICATE_COLUMN, message)
        kept = set(self.key())
        for sink in self.sinks:
            kept.update(self._places("delta_key", sink.routing))
        if not self.delta.columns:
            found = [place for place in range(len(self.outputs)) if place not in kept]
        else:
            found = list(self._places("delta_columns", self.delta.columns))
        for place in found:
            if place in kept:
                message = (
                    f"`{self.outputs[place].name}` says which row it is, or where it goes: it"
                    " is always written"
                )
                raise self._wrong("delta_columns", Code.INVALID_OPTION, message)
        if not found:
            message = "there is no column left to compare"
            raise self._wrong("delta_key", Code.INVALID_OPTION, message)
        return sorted(set(found))

    @property
    def _schema(self) -> Struct:
        return relation_of(0, None, [NamedExpr(c.name, c) for c in self.outputs]).schema

    def _places(self, option: str, names: Sequence[str]) -> Iterator[int]:
        for name in names:
            found = self._schema.find(name)
            if len(found) != 1:
                message = f"the query gives no column `{name}`"
                near = did_you_mean(name, self._schema.names) or "select it"
                raise self._wrong(option, Code.UNKNOWN_COLUMN, message, near)
            yield found[0]

    def _wrong(
        self, option: str, code: Code, message: str, hint: str | None = None
    ) -> NarrowsError:
        text = f"option `{option}` of sink `{self.sinks[0].name}`: {message}"
        return _problem(self.pipeline, code, text, hint)


def _problem(pipeline: Pipeline, code: Code, message: str, hint: str | None = None) -> NarrowsError:
    return NarrowsError(Problem(code, message, pipeline.query.span, hint))


# --- expressions ----------------------------------------------------------------------------------


def _had_changed(column: Column, key: tuple[Expr, ...]) -> Call:
    call = _call("had_changed", literal(False), column)
    return Call(function=call.function, args=call.args, dtype=BOOLEAN, partition_by=key)


def _if(told: Expr, value: Expr) -> Expr:
    return _call("if", told, value, Literal(text="NULL", dtype=VOID))


def _any(told: Sequence[Expr]) -> Expr:
    if len(told) == 1:
        return told[0]
    return Call(function=operator("or"), args=tuple(told), dtype=BOOLEAN)


def _names_of(told: Mapping[int, Expr], outputs: Sequence[Column]) -> Expr:
    names = [_if(one, literal(str(outputs[place].name))) for place, one in told.items()]
    call = _call("concat_ws", literal(","), *names)
    return Call(function=call.function, args=call.args, dtype=STRING)


def _call(name: str, *args: Expr) -> Call:
    function = builtin_functions().find(name)
    assert function is not None
    return Call(function=function, args=args, dtype=function.result(args))
