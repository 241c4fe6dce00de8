"""What a pipeline's state depends on in its plan, in a form that can be kept and compared.

State belongs to operators, offsets belong to sources. Filters and projections may change freely: a
stateless pipeline goes on where it left off. Neither how EXPLAIN words things nor the numbers that
the planner gives to relations, nor the case of names or the names of results matter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from narrows.expressions.function import Function
from narrows.expressions.nodes import Column, Expr, columns_of_all, rewrite
from narrows.logical.nodes import DecodedSource, Join, NamedExpr, Node, Project
from narrows.logical.streaming.supported import is_stream
from narrows.logical.walk import topological
from narrows.physical.execution import read_together
from narrows.physical.kept_by_tasks import is_kept_by_tasks
from narrows.physical.nodes import (
    PhysicalDataSource,
    PhysicalDistinct,
    PhysicalEndlessAggregation,
    PhysicalPartialAggregation,
    PhysicalReader,
    PhysicalStreamingAggregation,
    PhysicalWindow,
    PhysicalWindowRows,
)
from narrows.physical.window_rows import encoded_fields, shipped_columns
from narrows.sql.scope import Relation
from narrows.stateful.stored import FORM

_JOIN_FORM = 2
"""Since the event time of two joined streams is what the watermark follows, Spark keeps the columns
of their rows in another order."""
_PARTIAL_FORM = "partial 1"
"""Windows and groups that tasks keep, in files of their own."""
_ROWS_FORM = "rows 1"
"""The same, as rows: with what is kept of each."""

Shape = Mapping[str, list[dict[str, Any]]]


def shape_of(plan: Node) -> Shape:
    """For each source and each operator that keeps state: what it is, and how it is shown."""
    relations: dict[int, int] = {}
    sources, state = [], []
    together = ["read together"] if read_together(plan) else []
    for node in topological(plan):
        if isinstance(node, DecodedSource):
            relations.setdefault(node.relation.id, len(relations))
            source = node.source
            what = [
                source.name.casefold(),
                source.connector,
                source.format,
                source.identity,
                "shared" if source.shared else "alone",
                "entries" if source.is_fed else "by Spark",
                *source.entry_form,
                *together,
            ]
            how = ", ".join([source.format, source.identity, *together])
            text = f"{source.name} ({how})"
            sources.append({"what": what, "text": text})
        elif node.keeps_state:
            parts = [f"{key}={value}" for key, value in node.info().items()]
            text = f"{node.operator} {', '.join(parts)}".strip()
            canonical = _Canonical(relations)
            what, form = canonical.node(_of_source(node)), _form(node, canonical)
            kept = {"what": what if form is None else [what, form], "text": text}
            if isinstance(node, PhysicalStreamingAggregation) and node.merges:
                kept["was"] = [canonical.node(node), _PARTIAL_FORM]
            if isinstance(form, list) and form[0] == _JOIN_FORM:
                kept["was"] = [what, _JOIN_FORM]
            state.append(kept)
    return {"sources": sources, "state": state}


def fits(before: Sequence[Mapping[str, Any]], now: Sequence[Mapping[str, Any]]) -> bool:
    """Is what was kept before what a plan keeps now? An earlier version may have said less of it
    (`was`)."""
    return len(before) == len(now) and all(
        old["what"] in (new["what"], new.get("was", new["what"]))
        for old, new in zip(before, now, strict=True)
    )


def _of_source(node: Node) -> Node:
    """A node that names what readers have made of columns, as if it named those: two may be called
    the same, as `a->x` and `b->x` are, and one may be called by several names."""
    partial = node.children[0] if node.children else None
    if not isinstance(partial, PhysicalPartialAggregation):
        return node
    made = zip(partial.relation.ids, (*partial.keys, *partial.calls), strict=True)
    exprs = {column: expr for column, (_, expr) in made}

    def change(part: Expr) -> Expr | None:
        return exprs.get(part.id) if isinstance(part, Column) else None

    return node.with_expressions([rewrite(expr, change) for expr in node.expressions])


def _form(node: Node, canonical: _Canonical) -> object:
    """The form of what is kept, where another version may have another one."""
    if isinstance(node, PhysicalWindowRows):
        return [_ROWS_FORM, *shipped_columns(node.reader)]
    if is_kept_by_tasks(node):
        if isinstance(node, PhysicalDistinct):
            rows = [[str(expr.dtype), canonical.value(expr)] for expr in _rows_of(node)]
            return [f"{FORM}, by tasks", *rows]
        types = [str(column.dtype) for column in columns_of_all(node.expressions)]
        return [f"{FORM}, by tasks", *types, *_rows_below(node, canonical)]
    if node.remembers_rows:
        return FORM
    if isinstance(node, (PhysicalEndlessAggregation, PhysicalStreamingAggregation)):
        partial = node.child
        if isinstance(partial, PhysicalPartialAggregation):
            return [_PARTIAL_FORM, *(str(column.dtype) for column in partial.relation.columns)]
    if isinstance(node, Join) and is_stream(node.left) and is_stream(node.right):
        readers = [each for each in topological(node) if isinstance(each, PhysicalReader)]
        encoded = [field for reader in readers for field in encoded_fields(reader)]
        return [_JOIN_FORM, *encoded] if encoded else _JOIN_FORM
    return None


def _rows_of(node: PhysicalDistinct) -> Sequence[Expr]:
    """What its rows are, by which they are known again."""
    if isinstance(node.child, Project):
        return [expr for _, expr in node.child.fields]
    return node.outputs


def _rows_below(node: Node, canonical: _Canonical) -> list[Any]:
    """Of a window or a join that keeps rows, all that they are made of: they are kept as they
    come."""
    if not isinstance(node, PhysicalWindow | Join):
        return []
    below = [each for each in topological(node) if each is not node]
    return [
        shipped_columns(each) if isinstance(each, PhysicalReader) else canonical.node(each)
        for each in below
        if not isinstance(each, PhysicalDataSource)
    ]


class _Canonical:
    """Values of a plan as JSON: the same for what means the same."""

    def __init__(self, relations: dict[int, int]) -> None:
        self._relations = relations

    def node(self, node: Node) -> Any:
        own = {f.name: getattr(node, f.name) for f in fields(node) if f.compare}
        return [
            type(node).__name__.removeprefix("Physical"),
            {
                name: self.value(value)
                for name, value in own.items()
                if not isinstance(value, (Node, Relation))
            },
        ]

    def value(self, value: object) -> Any:
        match value:
            case None | bool() | int() | float() | str():
                return value
            case Enum():
                return value.name
            case Column(id=column, name=name):
                place = self._relations.setdefault(column.relation, len(self._relations))
                return ["column", place, name.casefold()]
            case Function(name=name):
                return name
            case NamedExpr(expr=expr):
                return self.value(expr)
            case tuple() | list() | frozenset():
                return [self.value(each) for each in value]
            case Expr():
                return [type(value).__name__, *self._compared(value)]
            case _ if is_dataclass(value) and not isinstance(value, type):
                return [type(value).__name__, *self._compared(value)]
            case _:
                return type(value).__name__

    def _compared(self, value: Any) -> list[Any]:
        return [self.value(getattr(value, f.name)) for f in fields(value) if f.compare]
