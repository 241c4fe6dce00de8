"""Aggregations of a stream that begin in its reader, for tasks to keep what it makes of rows.

What the rules have in common that take one apart so: `WindowIntoReader`, for windows, and
`EndlessAggregationIntoReader`, for groups that none ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from narrows.expressions.nodes import Call, Column, Expr
from narrows.logical.conjuncts import split
from narrows.logical.nodes import Aggregation, NamedExpr, Node, default_name, relation_of
from narrows.physical.in_reader.partial_calls import take_apart
from narrows.physical.in_reader.partial_steps import TypeOf
from narrows.physical.in_reader.worker_aggregation import can_compute, can_fold, computed_type
from narrows.physical.in_reader.worker_predicate import leaf_test
from narrows.physical.kept_groups import is_of_one_row
from narrows.physical.nodes import PhysicalFilter, PhysicalPartialAggregation, PhysicalReader
from narrows.schema import DOUBLE, FLOAT, INTEGRAL, UNKNOWN, DataType, Decimal

_MOST_DIGITS = 38


def testing_reader(below: Node, *, ansi: bool) -> PhysicalReader | None:
    """The reader of a stream, which takes over the tests of a filter above it; None if there is
    something else, or tests that it cannot run, or it has to do what goes by single rows."""
    reader = below
    tests: tuple[Expr, ...] = ()
    if isinstance(reader, PhysicalFilter):
        tests = tuple(split(reader.predicate))
        reader = reader.child
    if not isinstance(reader, PhysicalReader) or reader.order or reader.encodes:
        return None
    if not reader.source.is_fed:
        return None
    if not all(leaf_test(test, reader.relation.id, ansi=ansi) for test in tests):
        return None
    return replace(reader, filter=(*reader.filter, *tests))


class Begun(NamedTuple):
    """An aggregation in two steps."""

    partial: PhysicalPartialAggregation
    made: Mapping[Expr, Column]
    """Where what the reader makes is."""
    calls: tuple[NamedExpr, ...]
    """Those of the aggregation, of what the reader makes."""


def begun_in_reader(
    node: Aggregation,
    keys: Sequence[Expr],
    reader: PhysicalReader,
    fresh: Iterator[int],
    *,
    ansi: bool,
) -> Begun | None:
    """The aggregation of rows by these keys, begun in the reader; None where somebody else has to
    see all rows, or the groups of one key would not be one."""
    relation = reader.relation.id

    def type_of(arg: Expr) -> DataType:
        return computed_type(arg, relation, ansi=ansi) or UNKNOWN

    steps = [take_apart(expr, type_of) for _, expr in node.calls]
    known = [taken for taken in steps if taken is not None and not taken.keys]
    keys = list(dict.fromkeys(keys))
    parts = list(dict.fromkeys(part for taken in known for part in taken.parts))
    if len(known) < len(steps) or any(key.dtype in (FLOAT, DOUBLE) for key in keys):
        return None
    if not all(can_compute(key, relation, ansi=ansi) for key in keys):
        return None
    if not all(can_fold(part, relation, ansi=ansi) for part in parts):
        return None
    if any(_may_overflow(part, type_of, ansi=ansi) for part in parts):
        return None
    named = [NamedExpr(default_name(expr), expr) for expr in (*keys, *parts)]
    partial = PhysicalPartialAggregation(
        child=reader,
        keys=tuple(named[: len(keys)]),
        calls=tuple(named[len(keys) :]),
        relation=relation_of(next(fresh), None, named),
    )
    made = dict(zip((*keys, *parts), partial.relation.columns, strict=True))
    merged = [taken.merge(made) for taken in known]
    if not all(map(is_of_one_row, merged)):
        return None
    calls = [NamedExpr(name, expr) for (name, _), expr in zip(node.calls, merged, strict=True)]
    return Begun(partial, made, tuple(calls))


def _may_overflow(part: Call, type_of: TypeOf, *, ansi: bool) -> bool:
    """Whether it does is for Spark to say."""
    if part.function.name != "sum":
        return False
    dtype = type_of(part.args[0])
    if isinstance(dtype, Decimal):
        return ansi or dtype.precision + 10 > _MOST_DIGITS
    return ansi and dtype in INTEGRAL
