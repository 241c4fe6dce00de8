"""How many rows a node gives and how wide a column is, as far as one can tell before running.

With `ANALYZE TABLE` the figures of a source are counted ones. Without it they are guesses that only
have to be of the right order: a table has a million rows, an equality keeps a tenth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

from narrows.catalog.statistics import ColumnStatistics
from narrows.expressions.nodes import Call, Column, ColumnId, Expr
from narrows.functions import operator
from narrows.logical.conjuncts import split
from narrows.logical.nodes import (
    Aggregation,
    DecodedSource,
    Filter,
    Join,
    JoinKind,
    Limit,
    Node,
)
from narrows.logical.relational_nodes import OneRow, SetOperation, Union, Values
from narrows.logical.walk import topological
from narrows.schema import Array, DataType, Decimal, Map, Scalar, Struct

UNKNOWN_ROWS = 1_000_000.0
EXPLODED = 4.0
"""Elements of a list about whose length nothing is known."""

_WIDTHS = {"BOOLEAN": 1, "TINYINT": 1, "SMALLINT": 2, "INT": 4, "FLOAT": 4, "DATE": 4}
_TEXT_WIDTH = 20.0
_EQUALITY, _RANGE, _OTHER = 0.1, 0.3, 0.25
_EQUALS, _NOT, _UNEQUAL = operator("="), operator("not"), operator("<>")
_NEGATIONS = (_NOT, _UNEQUAL)
_RANGES = tuple(operator(name) for name in ("<", "<=", ">", ">=", "between"))


def type_width(dtype: DataType) -> float:
    """Bytes of a value of the type, if nothing else is known."""
    match dtype:
        case Struct(fields):
            return sum(type_width(field.type) for field in fields)
        case Array(element):
            return EXPLODED * type_width(element)
        case Map(key, value):
            return EXPLODED * (type_width(key) + type_width(value))
        case Decimal():
            return 16.0
        case Scalar(name) if name in ("STRING", "BINARY"):
            return _TEXT_WIDTH
        case Scalar(name):
            return float(_WIDTHS.get(name, 8))
        case _:
            return 8.0


class Estimates:
    """Estimates for the nodes and columns of one plan."""

    def __init__(self, plan: Node, measured: Mapping[int, float] | None = None) -> None:
        """`measured` are rows of nodes that have been counted, by the node's `id()`."""
        self._rows: dict[int, float] = dict(measured or {})
        self._columns: dict[ColumnId, ColumnStatistics] = {}
        for node in topological(plan):
            if isinstance(node, DecodedSource) and node.source.statistics is not None:
                for ordinal, field in enumerate(node.source.schema):
                    known = node.source.statistics.columns.get(field.name)
                    if known is not None:
                        self._columns[ColumnId(node.relation.id, ordinal)] = known

    def width(self, column: Column) -> float:
        known = self._columns.get(column.id)
        return known.width if known is not None else type_width(column.dtype)

    def rows(self, node: Node) -> float:
        if id(node) not in self._rows:
            self._rows[id(node)] = self._estimate(node)
        return self._rows[id(node)]

    def _estimate(self, node: Node) -> float:
        match node:
            case DecodedSource(source=source):
                known = source.statistics
                return float(known.rows) if known is not None else UNKNOWN_ROWS
            case Filter(child=child, predicate=predicate):
                return max(self.rows(child) * self.kept(split(predicate)), 1.0)
            case Join():
                return self._join(node)
            case Aggregation(keys=keys, child=child):
                groups = 1.0
                for _, key in keys:
                    groups *= self.distinct(key) or self.rows(child) ** 0.5
                return min(groups, self.rows(child))
            case Limit(count=int(count), child=child):
                return min(float(count), self.rows(child))
            case Union() | SetOperation():
                return sum(self.rows(child) for child in node.children)
            case OneRow():
                return 1.0
            case Values(rows=rows_given):
                return float(len(rows_given))
            case _:
                return self.rows(node.children[0]) if node.children else UNKNOWN_ROWS

    def _join(self, join: Join) -> float:
        left, right = self.rows(join.left), self.rows(join.right)
        if join.kind in (JoinKind.SEMI, JoinKind.ANTI):
            return max(left * 0.5, 1.0)
        rows = left * right
        if join.condition is not None:
            for conjunct in split(join.condition):
                if isinstance(conjunct, Call) and conjunct.function == _EQUALS:
                    distinct = [self.distinct(side) for side in conjunct.args]
                    rows /= max([d for d in distinct if d] or [max(min(left, right), 1.0)])
                else:
                    rows *= self._kept_by(conjunct)
        at_least = {JoinKind.LEFT: left, JoinKind.RIGHT: right, JoinKind.FULL: left + right}
        return max(rows, at_least.get(join.kind, 1.0))

    def kept(self, conjuncts: Sequence[Expr]) -> float:
        """The share of rows that pass all of these."""
        return prod(map(self._kept_by, conjuncts))

    def _kept_by(self, conjunct: Expr) -> float:
        if isinstance(conjunct, Call) and conjunct.function in _NEGATIONS:
            is_not = conjunct.function == _NOT
            negated = conjunct.args[0] if is_not else replace(conjunct, function=_EQUALS)
            return 1.0 - self._kept_by(negated)
        if isinstance(conjunct, Call) and conjunct.function == _EQUALS:
            distinct = [self.distinct(side) for side in conjunct.args]
            known = [count for count in distinct if count]
            return 1.0 / max(known) if known else _EQUALITY
        if isinstance(conjunct, Call) and conjunct.function in _RANGES:
            return _RANGE
        return _OTHER

    def distinct(self, expr: Expr) -> float | None:
        """How many values there are; None if nobody has counted."""
        known = self._columns.get(expr.id) if isinstance(expr, Column) else None
        return float(known.distinct) if known is not None and known.distinct else None
