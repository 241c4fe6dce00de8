"""Demands and types as people read them, in EXPLAIN and in error messages.

    a                                   a scalar column
    b{c, d}                             fields of a struct          b?  only whether it is NULL
    b?{c}                               both
    items[struct{c}]                    a whole list of structs     nums  a whole list of scalars
    items[0,3][struct{x}]               constant indices            nums[2]
    items[*][struct{x}]                 any index                   items[#]  only its length
    items[#,0][struct{x}]               length and an element
    items[0][struct{x}],[1][struct{x, y}]   indices of different shapes
    m[0][list[1][struct{x}]]            a list of lists
    m{'k'}  m{'k'{x}}  m{*}  m{#}       entries of a map

Columns and fields stand in the order of the schema.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Generic, TypeVar, overload

from narrows.demand import (
    ALL,
    LENGTH,
    NOTHING,
    PRESENCE,
    Demand,
    Fields,
    Items,
    Keys,
    count_demanded_leaves,
)
from narrows.schema import Array, DataType, Map, Struct, count_leaves, quoted

WIDE = 40
"""Lists longer than this are cut ..."""
SHOWN = 10
"""... to this many entries, with a count of the rest."""

T = TypeVar("T")


class Texts(Sequence[str], Generic[T]):
    """Texts that are written when somebody reads them: of a list of 15 000, EXPLAIN shows ten."""

    def __init__(self, write: Callable[[T], str], things: Sequence[T]) -> None:
        self._write = write
        self._things = things

    def __len__(self) -> int:
        return len(self._things)

    def __iter__(self) -> Iterator[str]:
        return map(self._write, self._things)

    @overload
    def __getitem__(self, place: int) -> str: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[str]: ...

    def __getitem__(self, place: int | slice) -> str | Sequence[str]:
        if isinstance(place, slice):
            return Texts(self._write, self._things[place])
        return self._write(self._things[place])


def row_text(row: Demand, schema: Struct) -> str:
    """`[a, b{c}]`: what is demanded of a source's row, cut where it is very wide."""
    return f"[{cut_list(row_parts(row, schema), ', ')}]"


def row_parts(row: Demand, schema: Struct) -> Sequence[str]:
    """The demanded columns of a row, each as text."""
    if row is ALL:
        return Texts(lambda field: _named(field.name, ALL, field.type), schema.fields)
    if not isinstance(row, Fields):
        return ()
    return _members(row, schema)


def type_text(dtype: DataType) -> str:
    """A type for messages: `struct{c, d}`, `list[struct{x}]`, `BIGINT`."""
    match dtype:
        case Struct() | Array() | Map():
            return _shape(ALL, dtype)
        case _:
            return dtype.sql()


def cut_list(parts: Sequence[str], separator: str) -> str:
    """Joined, but readable: `a, b, ... 14 990 more` when there are very many."""
    if len(parts) <= WIDE:
        return separator.join(parts)
    more = f"{len(parts) - SHOWN:,}".replace(",", " ")
    return separator.join((*parts[:SHOWN], f"... {more} more"))


def _named(name: str, demand: Demand, dtype: DataType) -> str:
    return _label(name) + _suffix(demand, dtype)


def _label(name: str) -> str:
    # A name that holds a delimiter of this grammar would make the text ambiguous.
    return quoted(name)


def _shape(demand: Demand, dtype: DataType) -> str:
    """An element without a name: `struct{x}`, `list[1]`; empty for a scalar."""
    match dtype:
        case Struct():
            return "struct" + _suffix(demand, dtype)
        case Array():
            return "list" + _suffix(demand, dtype)
        case Map():
            return "map" + _suffix(demand, dtype)
        case _:
            return ""


def _suffix(demand: Demand, dtype: DataType) -> str:
    if demand is PRESENCE and isinstance(dtype, (Struct, Array, Map)):
        return "?"
    match dtype:
        case Struct():
            return _struct_suffix(demand, dtype)
        case Array(element):
            return _list_suffix(demand, element)
        case Map(_, value):
            return _map_suffix(demand, value)
        case _:
            return ""


def _struct_suffix(demand: Demand, dtype: Struct) -> str:
    if demand is ALL:
        return f"{{{cut_list(row_parts(ALL, dtype), ', ')}}}"
    assert isinstance(demand, Fields), demand
    return f"{'?' if demand.presence else ''}{{{cut_list(_members(demand, dtype), ', ')}}}"


def _members(demand: Fields, dtype: Struct) -> Sequence[str]:
    ordinals = sorted(dtype.ordinal(name) for name in demand.parts)
    members = [dtype.fields[ordinal] for ordinal in ordinals]
    return Texts(lambda field: _named(field.name, demand.parts[field.name], field.type), members)


def _list_suffix(demand: Demand, element: DataType) -> str:
    if demand is ALL:
        shape = _shape(ALL, element)
        return f"[{shape}]" if shape else ""
    if demand is LENGTH:
        return "[#]"
    assert isinstance(demand, Items), demand
    groups = _group_by_shape(demand.parts, element)
    if demand.rest is not NOTHING:
        groups.append((["*"], _shape(demand.rest, element)))
    elif demand.length:
        groups[0][0].insert(0, "#")
    return ",".join(
        f"[{','.join(places)}]" + (f"[{shape}]" if shape else "") for places, shape in groups
    )


def _group_by_shape(
    parts: Mapping[Hashable, Demand], element: DataType
) -> list[tuple[list[str], str]]:
    """Indices in ascending order, those of equal shape together where the first of them stands."""
    groups: dict[str, list[str]] = {}
    for index in sorted(parts, key=_as_int):
        groups.setdefault(_shape(parts[index], element), []).append(str(index))
    return [(places, shape) for shape, places in groups.items()]


def _as_int(index: Hashable) -> int:
    assert isinstance(index, int), index
    return index


def _key_order(entry: tuple[Hashable, Demand]) -> tuple[int, str]:
    key = entry[0]
    return (key, "") if isinstance(key, int) else (0, str(key))


def _map_suffix(demand: Demand, value: DataType) -> str:
    whole = _suffix(ALL, value)
    if demand is ALL:
        return f"{{*{whole}}}" if whole else ""
    if demand is LENGTH:
        return "{#}"
    assert isinstance(demand, Keys), demand
    entries = [
        (repr(key) if isinstance(key, str) else str(key)) + _suffix(part, value)
        for key, part in sorted(demand.parts.items(), key=_key_order)
    ]
    if demand.rest is not NOTHING:
        entries.append("*" + _suffix(demand.rest, value))
    elif demand.length:
        entries.insert(0, "#")
    return f"{{{', '.join(entries)}}}"


def leaves_text(row: Demand, schema: Struct) -> str:
    """`2 of 5 leaves`: how much of a row is decoded."""
    there = count_leaves(schema)
    return f"{there if row is ALL else count_demanded_leaves(schema, row)} of {there} leaves"
