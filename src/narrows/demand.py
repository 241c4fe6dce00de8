"""Which part of a value will anyone look at?

Every pruning decision in Narrows is an answer to that one question, and every answer is a `Demand`:
of an expression on a column, of a plan on a source, of all running pipelines on a shared stream, of
a projection on a decoder. A row is a struct, so the demand on a whole source is a `Fields` too.

    NOTHING                            nobody looks
    PRESENCE                           only "is it NULL?"
    LENGTH                             only how long the list or map is (and so whether it is NULL)
    Fields{name: demand, ...}          some fields of a struct
    Items{index: demand, ...; rest}    some elements of a list, by 0-based index
    Keys{key: demand, ...; rest}       some entries of a map
    ALL                                the whole value

Demands form a join semilattice: `union` is commutative, associative and idempotent, `NOTHING` is
its bottom and `ALL` its top, and `a.covers(b)` means that whoever has `a` can answer `b`.

What a demand does *not* imply matters as much. `b->c` is NULL both when `b` is NULL and when `c`
is, so `Fields{c}` does not tell whether `b` is there: `Fields.presence` says that somebody asked.
In the same way `items[0]` does not tell how long `items` is: `Items.length` does. That is what lets
a decoder emit `b.items[0].x` as a flat column and build neither struct nor list.

Values are immutable and canonical (build them with `fields`, `items` and `keys`), so equal demands
compare equal. Demands whose shapes contradict each other, which a bound query cannot produce, join
to `ALL`: decoding too much is slow, decoding too little is wrong.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from narrows.schema import VOID, Array, DataType, Field, Map, Struct, count_leaves


class Demand:
    """Base of the closed set of demands; the module's docstring has the list."""

    __slots__ = ()

    def union(self, other: Demand) -> Demand:
        """The least demand that covers both."""
        return _union(self, other)

    def covers(self, other: Demand) -> bool:
        """Is everything that `other` needs in `self`?"""
        return _union(self, other) == self

    def __or__(self, other: Demand) -> Demand:
        return _union(self, other)

    def __bool__(self) -> bool:
        """Does anybody look at all?"""
        return self is not NOTHING


class _Named(Demand):
    """A demand without parts. There is one object of each."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> str:
        return self.name  # unpickles to the same object, so `is` keeps working in Spark workers


NOTHING = _Named("NOTHING")
PRESENCE = _Named("PRESENCE")
LENGTH = _Named("LENGTH")
ALL = _Named("ALL")


@dataclass(frozen=True, slots=True)
class Fields(Demand):
    """Some fields of a struct. Never empty; no part is `NOTHING`."""

    parts: Mapping[str, Demand]
    presence: bool = False

    def at(self, name: str) -> Demand:
        return self.parts.get(name, NOTHING)


@dataclass(frozen=True, slots=True)
class _Elements(Demand):
    """What lists and maps share: known places, all other places, and how many there are.

    Canonical: every part covers `rest` and differs from it. A demand on `rest` needs every element,
    so it knows the length.
    """

    parts: Mapping[Hashable, Demand]
    rest: Demand = NOTHING
    length: bool = False

    def at(self, place: Hashable) -> Demand:
        return self.parts.get(place, self.rest)

    def anywhere(self) -> Demand:
        """What is demanded of an element, wherever it stands."""
        return union_all((self.rest, *self.parts.values()))


class Items(_Elements):
    """Some elements of a list."""

    __slots__ = ()


class Keys(_Elements):
    """Some entries of a map."""

    __slots__ = ()


def fields(parts: Mapping[str, Demand], presence: bool = False) -> Demand:
    kept = {name: part for name, part in parts.items() if part is not NOTHING}
    if kept:
        return Fields(kept, presence)
    return PRESENCE if presence else NOTHING


def items(
    parts: Mapping[int, Demand] | None = None, rest: Demand = NOTHING, length: bool = False
) -> Demand:
    return _elements(Items, parts or {}, rest, length)


def keys(
    parts: Mapping[Hashable, Demand] | None = None, rest: Demand = NOTHING, length: bool = False
) -> Demand:
    return _elements(Keys, parts or {}, rest, length)


def _elements(
    kind: type[_Elements], parts: Mapping[Any, Demand], rest: Demand, length: bool
) -> Demand:
    widened = {place: _union(part, rest) for place, part in parts.items()}
    kept = {place: part for place, part in widened.items() if part != rest}
    if kept or rest is not NOTHING:
        return kind(kept, rest, length or rest is not NOTHING)
    return LENGTH if length else NOTHING


def union_all(demands: Iterable[Demand]) -> Demand:
    """The union of many, in time linear in their sizes: a struct may have 15 000 fields, each used
    by an expression of its own."""
    total: Demand = NOTHING
    by_field: dict[str, list[Demand]] = {}
    presence = False
    for demand in demands:
        if isinstance(demand, Fields):
            presence = presence or demand.presence
            for name, part in demand.parts.items():
                by_field.setdefault(name, []).append(part)
        else:
            total = _union(total, demand)
    if not by_field:
        return total
    return _union(total, Fields({n: union_all(p) for n, p in by_field.items()}, presence))


def _union(a: Demand, b: Demand) -> Demand:
    if a is b or b is NOTHING or a is ALL:
        return a
    if a is NOTHING or b is ALL:
        return b
    if isinstance(a, _Named):
        a, b = b, a  # now only `b` may be PRESENCE or LENGTH, unless both are
    if isinstance(a, _Named):
        return LENGTH  # of PRESENCE and LENGTH
    if isinstance(a, Fields):
        if b is PRESENCE:
            return Fields(a.parts, presence=True)
        if isinstance(b, Fields):
            return Fields(_union_parts(a.parts, b.parts), a.presence or b.presence)
    if isinstance(a, _Elements):
        if isinstance(b, _Named):
            # A list that is asked for NULL is asked for its length: telling these two apart for
            # a partly demanded list would buy nothing and cost another state.
            return type(a)(a.parts, a.rest, length=True)
        if isinstance(b, _Elements) and type(a) is type(b):
            places = a.parts.keys() | b.parts.keys()
            parts = {place: _union(a.at(place), b.at(place)) for place in places}
            return _elements(type(a), parts, _union(a.rest, b.rest), a.length or b.length)
    return ALL


def _union_parts(a: Mapping[str, Demand], b: Mapping[str, Demand]) -> dict[str, Demand]:
    merged = dict(a)
    for name, part in b.items():
        mine = merged.get(name)
        merged[name] = part if mine is None else _union(mine, part)
    return merged


# --- a demand applied to a type -------------------------------------------------------------------


def conform(demand: Demand, dtype: DataType) -> Demand:
    """The demand as it can be met on values of this type.

    A scalar has no parts: its presence is its value, because a value of the wrong type reads as
    NULL. Of a type that the planner does not know, everything is needed.
    """
    if demand is NOTHING or demand is ALL:
        return demand
    match dtype, demand:
        case Struct(), Fields(parts, presence):
            inner = {
                name: conform(part, dtype.fields[dtype.ordinal(name)].type)
                for name, part in parts.items()
            }
            if presence and len(inner) == len(dtype) and all(p is ALL for p in inner.values()):
                return ALL
            return fields(inner, presence)
        case Array(element), Items(parts, rest, length):
            return _conform_elements(Items, parts, rest, length, element)
        case Map(_, value), Keys(parts, rest, length):
            return _conform_elements(Keys, parts, rest, length, value)
        case ((Array() | Map()), _Named()):
            return demand
        case Struct(), _ if demand is PRESENCE:
            return demand
        case _:
            return ALL


def _conform_elements(
    kind: type[_Elements],
    parts: Mapping[Hashable, Demand],
    rest: Demand,
    length: bool,
    element: DataType,
) -> Demand:
    inner = {place: conform(part, element) for place, part in parts.items()}
    return _elements(kind, inner, conform(rest, element), length)


def prune(dtype: DataType, demand: Demand) -> DataType:
    """The type of what is left of a value when only the demand is kept.

    `STRUCT<c: INT, items: ARRAY<STRUCT<x: INT, y: INT>>>` under `items[0]->x` becomes
    `STRUCT<items: ARRAY<STRUCT<x: INT>>>`. A list whose elements nobody looks at keeps elements of
    type VOID, a struct asked only for NULL keeps no field.
    """
    match dtype, demand:
        case _ if demand is NOTHING:
            return VOID
        case _ if demand is ALL:
            return dtype
        case Struct(members), Fields(parts):
            return Struct(
                tuple(
                    Field(f.name, prune(f.type, parts[f.name])) for f in members if f.name in parts
                )
            )
        case Struct(), _:
            return Struct(())
        case Array(element), Items():
            return Array(prune(element, demand.anywhere()))
        case Array(), _:
            return Array(VOID)
        case Map(key, value), Keys():
            return Map(key, prune(value, demand.anywhere()))
        case Map(key), _:
            return Map(key, VOID)
        case _:
            return dtype


def count_demanded_leaves(dtype: DataType, demand: Demand) -> int:
    """How many leaves of the type have to be decoded; lengths and presences are not leaves."""
    if demand is NOTHING:
        return 0
    if demand is ALL:
        return count_leaves(dtype)
    match dtype, demand:
        case Struct(), Fields(parts):
            return sum(
                count_demanded_leaves(dtype.fields[dtype.ordinal(name)].type, part)
                for name, part in parts.items()
            )
        case Array(element), Items():
            return count_demanded_leaves(element, demand.anywhere())
        case Map(_, value), Keys():
            return count_demanded_leaves(value, demand.anywhere())
        case ((Struct() | Array() | Map()), _):
            return 0
        case _:
            return count_leaves(dtype)


def whole_row(row: Demand, schema: Struct) -> Demand:
    """`ALL` where every column is wanted whole: a row is always there, so that is everything."""
    if not isinstance(row, Fields) or len(row.parts) < len(schema):
        return row
    return ALL if all(part is ALL for part in row.parts.values()) else row


def of_columns(row: Demand, schema: Struct) -> Demand:
    """What a demand on a row asks of those of its columns that are in the schema."""
    if not isinstance(row, Fields):
        return row
    names = set(schema.names)
    parts = {name: part for name, part in row.parts.items() if name in names}
    return whole_row(fields(parts), schema)


class Depth(Enum):
    """How deep a pruning rule may look. Three depths of one demand, so that each can be shown."""

    COLUMN = 1
    STRUCT = 2
    ELEMENT = 3


def coarsen(row: Demand, depth: Depth) -> Demand:
    """The demand on a row as a rule of this depth sees it: wider, never narrower."""
    if not isinstance(row, Fields) or depth is Depth.ELEMENT:
        return row
    if depth is Depth.COLUMN:
        return Fields(dict.fromkeys(row.parts, ALL))
    return Fields({name: _coarsen_to_structs(part) for name, part in row.parts.items()})


def _coarsen_to_structs(demand: Demand) -> Demand:
    match demand:
        case Fields(parts, presence):
            return Fields({n: _coarsen_to_structs(p) for n, p in parts.items()}, presence)
        case _ if demand is PRESENCE:
            return demand
        case _:
            return ALL


__all__ = [
    "ALL",
    "LENGTH",
    "NOTHING",
    "PRESENCE",
    "Demand",
    "Depth",
    "Fields",
    "Items",
    "Keys",
    "coarsen",
    "conform",
    "count_demanded_leaves",
    "fields",
    "items",
    "keys",
    "of_columns",
    "prune",
    "union_all",
    "whole_row",
]
