"""Values of one of the rows, in two steps.

    min(x)          min(x)                  min(..)
    max_by(x, y)    max(y), max_by(x, y)    max_by(..): the value beside the largest of the largest
    any_value(x)    any_value(x)            any_value(..)
    first(x)        first(x)                first(..)

Which row is the first Spark does not say where several tasks read; here as there, rows of one task
keep their order. With FILTER there is a count besides, of the rows that pass: a task that has none
has no first one, not even a NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from narrows.expressions.nodes import Call, Column, Expr
from narrows.physical.in_reader.partial_steps import (
    NONE,
    Steps,
    TypeOf,
    beside,
    merged,
    operation,
    part_of,
)
from narrows.schema import BOOLEAN, is_scalar


def extreme(name: str) -> Callable[[Call, TypeOf], Steps | None]:
    def take(call: Call, type_of: TypeOf) -> Steps | None:
        dtype = type_of(call.args[0])
        if not is_scalar(dtype):
            return None
        part = part_of(name, call, call.args, dtype)
        return (part,), lambda made: merged(name, made[0], call.dtype)

    return take


def extreme_by(name: str) -> Callable[[Call, TypeOf], Steps | None]:
    def take(call: Call, type_of: TypeOf) -> Steps | None:
        value, by = map(type_of, call.args)
        if not (is_scalar(value) and is_scalar(by)):
            return None
        part = part_of(name, call, call.args, value)
        (largest,) = beside(part)

        def merge(made: Sequence[Column]) -> Expr:
            return replace(merged(name, made[1], call.dtype), args=(made[1], made[0]))

        return (replace(largest, dtype=by), part), merge

    return take


def by_place(name: str) -> Callable[[Call, TypeOf], Steps | None]:
    def take(call: Call, type_of: TypeOf) -> Steps | None:
        dtype = type_of(call.args[0])
        if not is_scalar(dtype):
            return None
        part = part_of(name, call, call.args, dtype)
        part = replace(part, ignore_nulls=call.ignore_nulls)
        counts = beside(part)

        def merge(made: Sequence[Column]) -> Expr:
            *passed, value = made
            some = [operation(">", count, NONE, dtype=BOOLEAN) for count in passed]
            one = merged(name, value, call.dtype)
            return replace(one, ignore_nulls=call.ignore_nulls, filter=some[0] if some else None)

        return (*counts, part), merge

    return take
