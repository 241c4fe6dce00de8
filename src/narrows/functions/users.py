"""A user's function, and what it says of itself: how it looks at its arguments, what it gives.

    catalog.add_function("score", 2, 2, looks=["STRUCT<c: BIGINT, items: ARRAY<STRUCT<x: INT>>>"])

It promises to look at no more of its first argument than a value of that type has, so nothing else
is decoded for it: fields that it did not name are NULL there. Of an argument that nothing is said
of it may look at everything.
"""

from __future__ import annotations

from collections.abc import Sequence

from narrows.demand import ALL, LENGTH, NOTHING, PRESENCE, Demand, fields, items, keys
from narrows.errors import Code, did_you_mean, fail
from narrows.expressions.function import Function, InsideLambda, whole
from narrows.expressions.nodes import Call, Expr
from narrows.expressions.text import expression_text
from narrows.schema import UNKNOWN, Array, DataType, Map, Struct, is_nested

LOOKS: dict[str, Demand] = {
    "all": ALL,
    "length": LENGTH,
    "presence": PRESENCE,
    "nothing": NOTHING,
}
"""What may be said of an argument, beside a type."""

Seen = Demand | DataType


def users_function(
    name: str,
    min_args: int,
    max_args: int | None,
    looks: Sequence[Seen] = (),
    returns: DataType = UNKNOWN,
) -> Function:
    def demands(args: Sequence[Expr]) -> list[Demand]:
        said = [*looks, *[ALL] * len(args)]
        return [_demand(name, seen, arg) for seen, arg in zip(said, args, strict=False)]

    def result(args: Sequence[Expr]) -> DataType:
        demands(args)  # raises what does not fit
        return returns

    def look(call: Call, wanted: Demand, inside: InsideLambda) -> Sequence[Demand]:
        return demands(call.args)

    return Function(
        name.lower(),
        min_args=min_args,
        max_args=max_args,
        result=result,
        look=look if looks else whole,
        known=bool(looks),
    )


def _demand(name: str, seen: Seen, arg: Expr) -> Demand:
    if isinstance(seen, Demand):
        is_long = isinstance(arg.dtype, Array | Map)
        return ALL if seen is LENGTH and not is_long else seen
    return _of_type(name, seen, arg.dtype, arg)


def _of_type(name: str, seen: DataType, dtype: DataType, arg: Expr) -> Demand:
    """What a value has that a type names, of an argument of another type."""
    match seen, dtype:
        case Struct(), Struct():
            parts = {}
            for field in seen:
                found = dtype.find(field.name)
                if len(found) != 1:
                    raise fail(
                        Code.UNKNOWN_FIELD,
                        f"`{name}` looks at the field `{field.name}`, which"
                        f" `{expression_text(arg)}` has not",
                        arg.span,
                        did_you_mean(field.name, dtype.names),
                    )
                member = dtype.fields[found[0]]
                parts[member.name] = _of_type(name, field.type, member.type, arg)
            return fields(parts, presence=True)
        case Array(), Array():
            return items(rest=_of_type(name, seen.element, dtype.element, arg), length=True)
        case Map(), Map():
            inner = _of_type(name, seen.value, dtype.value, arg)
            return keys(rest=inner | PRESENCE, length=True)
        case _ if dtype == UNKNOWN or is_nested(seen) == is_nested(dtype) is False:
            return ALL
        case _:
            raise fail(
                Code.WRONG_TYPE,
                f"`{name}` looks at {seen.sql()}, and `{expression_text(arg)}` has {dtype.sql()}"
                " there",
                arg.span,
            )
