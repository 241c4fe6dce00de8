"""Constant access chains: `s.b->items[0]->x` as the path (b, items, 0, x) into a row of s."""

from __future__ import annotations

from narrows.expressions.nodes import Column, ElementAccess, Expr, FieldAccess
from narrows.functions.looks import constant_place
from narrows.projection.columns import Key, Path, Step
from narrows.schema import Array, Map, Struct


def source_path(expr: Expr, relation: int) -> Path | None:
    """The path of an access chain from a column of this relation; None for anything else."""
    steps: list[Step] = []
    while True:
        match expr:
            case Column(id=column, name=name):
                if column.relation != relation:
                    return None
                return (name, *reversed(steps))
            case FieldAccess(base=base, name=name) if isinstance(base.dtype, Struct):
                steps.append(name)
                expr = base
            case ElementAccess(base=base, index=index):
                place = constant_place(base.dtype, index)
                if place is None or (isinstance(base.dtype, Array) and int(place) < 0):
                    return None
                steps.append(Key(place) if isinstance(base.dtype, Map) else int(place))
                expr = base
            case _:
                return None
