"""Constant access chains: `s.b->items[0]->x` as the path (b, items, 0, x) into a row of s."""

from __future__ import annotations

from narrows.codecs.projection import Key, Path, Step
from narrows.expressions import Column, ElementAccess, Expr, FieldAccess, Literal
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
            case ElementAccess(base=base, index=Literal(value=value)):
                step = _step(base, value)
                if step is None:
                    return None
                steps.append(step)
                expr = base
            case _:
                return None


def _step(base: Expr, value: object) -> Step | None:
    match base.dtype:
        case Array() if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
        case Map() if isinstance(value, (str, int, bool)):
            return Key(value)
        case _:
            return None
