"""How functions look at their arguments: the vocabulary that the function tables are written in.

A look goes from what is wanted of a call's result to what that demands of each argument. The
default, `whole`, is always right; every other look is a promise that the function cannot tell the
pruned argument from the full one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from narrows.demand import (
    ALL,
    LENGTH,
    NOTHING,
    PRESENCE,
    Demand,
    Fields,
    Items,
    Keys,
    fields,
    items,
    keys,
)
from narrows.expressions.function import InsideLambda, Look, whole
from narrows.expressions.nodes import Call, ElementAccess, Expr, FieldAccess, Lambda, Literal
from narrows.schema import INTEGRAL, STRING, Array, DataType, Map, Struct

ArgumentAspect = Demand | Callable[[Demand], Demand]
"""What an argument is needed for: a fixed demand, or one that follows from the wanted result."""


def each(*aspects: ArgumentAspect) -> Look:
    """One aspect an argument; the last one is repeated for all further arguments."""

    def look(call: Call, wanted: Demand, inside: InsideLambda) -> Sequence[Demand]:
        count = len(call.args)
        chosen = [*aspects[:count], *[aspects[-1]] * (count - len(aspects))]
        return [a if isinstance(a, Demand) else a(wanted) for a in chosen]

    return look


def same(wanted: Demand) -> Demand:
    """The result *is* the argument."""
    return wanted


def same_if_present(wanted: Demand) -> Demand:
    """The result is the argument, if that is not NULL."""
    return wanted | PRESENCE


def first_rows(call: Call, wanted: Demand, inside: InsideLambda) -> Sequence[Demand]:
    """`max_by(x, y)`, `max_by(x, y, 3)`: what is looked at of one x, or of a list of them."""
    of_one = wanted if len(call.args) < 3 else of_element(wanted) | PRESENCE
    return [of_one, *[ALL] * (len(call.args) - 1)]


def shuffled(wanted: Demand) -> Demand:
    """The result is a list of the argument's elements, at other places."""
    if wanted is PRESENCE:
        return PRESENCE
    if wanted is ALL or wanted is NOTHING:
        return wanted
    inner = of_element(wanted)
    return items(rest=inner, length=True)


def of_element(wanted: Demand) -> Demand:
    """What a demand on a list or map wants of an element, wherever that stands."""
    if isinstance(wanted, (Items, Keys)):
        return wanted.anywhere()
    return ALL if wanted is ALL else NOTHING


def of_key(wanted: Demand) -> Demand:
    """What a demand on `map_keys(m)` or `map_entries(m)` needs of the entries: their keys are not a
    part of their own, so the least that keeps them is the presence of the values."""
    if wanted is LENGTH or wanted is PRESENCE:
        return LENGTH
    return keys(rest=PRESENCE) if wanted is not NOTHING else NOTHING


def of_value(wanted: Demand) -> Demand:
    """What a demand on `map_values(m)` needs of the map."""
    if wanted is LENGTH or wanted is PRESENCE:
        return LENGTH
    return keys(rest=of_element(wanted))


# --- conditionals and constructors ----------------------------------------------------------------


def case(call: Call, wanted: Demand, inside: InsideLambda) -> Sequence[Demand]:
    """`when, then, when, then, ..., [else]`: conditions are looked at, results are handed on."""
    count = len(call.args)
    has_else = count % 2 == 1
    return [
        wanted if place % 2 == 1 or (has_else and place == count - 1) else ALL
        for place in range(count)
    ]


def named_struct(call: Call, wanted: Demand, inside: InsideLambda) -> Sequence[Demand]:
    """`name, value, name, value, ...`"""
    return _interleaved(call, lambda place: _of_member(call, place, wanted))


def _of_member(call: Call, place: int, wanted: Demand) -> Demand:
    if isinstance(wanted, Fields) and isinstance(call.dtype, Struct):
        return wanted.at(call.dtype.fields[place].name)
    return ALL if wanted is ALL else NOTHING


def array(call: Call, wanted: Demand, inside: InsideLambda) -> Sequence[Demand]:
    if isinstance(wanted, Items):
        return [wanted.at(place) for place in range(len(call.args))]
    return [ALL if wanted is ALL else NOTHING] * len(call.args)


def map_of_pairs(call: Call, wanted: Demand, inside: InsideLambda) -> Sequence[Demand]:
    return _interleaved(call, lambda place: of_element(wanted))


def _interleaved(call: Call, of_pair: Callable[[int], Demand]) -> list[Demand]:
    return [ALL if place % 2 == 0 else of_pair(place // 2) for place in range(len(call.args))]


# --- access ---------------------------------------------------------------------------------------


def access(base: Expr, index: Expr, wanted: Demand, first: int = 0) -> Demand:
    """What `base[index]` demands of its base, when its lists count from `first`."""
    constant = constant_place(base.dtype, index)
    if isinstance(base.dtype, Map):
        return keys({constant: wanted}) if constant is not None else keys(rest=wanted)
    if not isinstance(base.dtype, Array):
        return ALL
    if not isinstance(constant, int):
        return items(rest=wanted)
    if constant < first:
        # Before the first element: always NULL where lists count from 0; element_at(x, -1) counts
        # from the end instead, which may be any element.
        return NOTHING if first == 0 else items(rest=wanted)
    return items({constant - first: wanted})


def constant_place(dtype: DataType, index: Expr) -> int | str | None:
    """The index or key that a constant means; None when it is none, or Spark would convert it."""
    value = index.value if isinstance(index, Literal) else None
    match dtype, value:
        case _, bool():
            return None
        case Array(), int():
            return value
        case Map(key), str() if key == STRING:
            return value
        case Map(key), int() if key in INTEGRAL:
            return value
        case _:
            return None


def element_at(call: Call, wanted: Demand, inside: InsideLambda) -> Sequence[Demand]:
    return [access(call.args[0], call.args[1], wanted, first=1), ALL]


def get(call: Call, wanted: Demand, inside: InsideLambda) -> Sequence[Demand]:
    return [access(call.args[0], call.args[1], wanted), ALL]


# --- higher-order functions -----------------------------------------------------------------------


def transform(call: Call, wanted: Demand, inside: InsideLambda) -> Sequence[Demand]:
    """Element i of the result needs element i of the list, as the lambda looks at it."""
    body = call.args[1]
    if not isinstance(body, Lambda):
        return whole(call, wanted, inside)

    def through(element: Demand) -> Demand:
        return inside(body, element)[0] if element is not NOTHING else NOTHING

    match wanted:
        case Items(parts, rest, length):
            places = {index: through(part) for index, part in parts.items()}
            # Element i of the result is there only if the list is that long, unless the body is
            # NULL for a missing element anyway, as a mere access is.
            known = length or not _is_access(body)
            return [items(places, through(rest), known), NOTHING]  # type: ignore[arg-type]
        case _ if wanted is ALL:
            return [items(rest=through(ALL), length=True), NOTHING]
        case _:
            return [wanted, NOTHING]


def _is_access(function: Lambda) -> bool:
    """Is the lambda `x -> x.f[0].g`: NULL whenever its element is NULL or missing?"""
    body = function.body
    while isinstance(body, (FieldAccess, ElementAccess)):
        if isinstance(body, ElementAccess) and not isinstance(body.index, Literal):
            return False
        body = body.base
    return body == function.parameters[0]


def filter_elements(call: Call, wanted: Demand, inside: InsideLambda) -> Sequence[Demand]:
    """Every element is tested; what the tested ones are wanted for comes on top."""
    tested = _first_parameter(call, 1, inside)
    return [items(rest=tested | of_element(wanted), length=True), NOTHING]


def test_elements(call: Call, wanted: Demand, inside: InsideLambda) -> Sequence[Demand]:
    """exists, forall"""
    return [items(rest=_first_parameter(call, 1, inside), length=True), NOTHING]


def fold(call: Call, wanted: Demand, inside: InsideLambda) -> Sequence[Demand]:
    """aggregate(list, zero, (acc, x) -> ..., [acc -> ...]): the accumulator may hold anything."""
    merge = call.args[2]
    if not isinstance(merge, Lambda):
        return whole(call, wanted, inside)
    element = inside(merge, ALL)[1] if len(merge.parameters) > 1 else ALL
    for finish in call.args[3:]:
        if isinstance(finish, Lambda):
            inside(finish, ALL)
    return [items(rest=element, length=True), ALL, *[NOTHING] * (len(call.args) - 2)]


def zip_lists(call: Call, wanted: Demand, inside: InsideLambda) -> Sequence[Demand]:
    """zip_with(a, b, (x, y) -> ...): the shorter list is padded, so both lengths count."""
    combine = call.args[2]
    if not isinstance(combine, Lambda):
        return whole(call, wanted, inside)
    demands = [*inside(combine, of_element(wanted)), NOTHING, NOTHING][:2]
    return [*(items(rest=demand, length=True) for demand in demands), NOTHING]


def filter_entries(call: Call, wanted: Demand, inside: InsideLambda) -> Sequence[Demand]:
    """map_filter(m, (k, v) -> ...)"""
    test = call.args[1]
    if not isinstance(test, Lambda):
        return whole(call, wanted, inside)
    demands = inside(test, ALL)
    value = demands[1] if len(demands) > 1 else NOTHING
    return [keys(rest=value | of_element(wanted) | PRESENCE, length=True), NOTHING]


def transform_values(call: Call, wanted: Demand, inside: InsideLambda) -> Sequence[Demand]:
    """transform_values(m, (k, v) -> ...)"""
    body = call.args[1]
    if not isinstance(body, Lambda):
        return whole(call, wanted, inside)
    demands = inside(body, of_element(wanted))
    value = demands[1] if len(demands) > 1 else NOTHING
    return [keys(rest=value | PRESENCE, length=True), NOTHING]


def _first_parameter(call: Call, place: int, inside: InsideLambda) -> Demand:
    test = call.args[place]
    return inside(test, ALL)[0] if isinstance(test, Lambda) else ALL


# --- generators -----------------------------------------------------------------------------------


def explode(call: Call, wanted: Sequence[Demand]) -> Sequence[Demand]:
    """explode, posexplode: the last output is the element or the value, one before it may be the
    position or the key."""
    element = wanted[-1]
    if isinstance(call.args[0].dtype, Map):
        return [keys(rest=element | (PRESENCE if any(wanted) else NOTHING), length=True)]
    return [items(rest=element, length=True)]


def inline(call: Call, wanted: Sequence[Demand]) -> Sequence[Demand]:
    """inline(list of structs): one output a field."""
    source = call.args[0].dtype
    if isinstance(source, Array) and isinstance(source.element, Struct):
        names = source.element.names
        return [items(rest=fields(dict(zip(names, wanted, strict=True))), length=True)]
    return [ALL]


def whole_generator(call: Call, wanted: Sequence[Demand]) -> Sequence[Demand]:
    return [ALL] * len(call.args)
