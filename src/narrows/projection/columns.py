"""A demand compiled for a decoder: which Arrow columns to emit, and what to build for each.

Whatever nobody can observe is not built. A value that is reached through constant steps only -
fields, list indices, map keys - is emitted as a flat column of its own; a list's length and a
struct's presence are columns too. A struct, list or map is built only where somebody needs it as a
value:

    demand                                  columns
    a, b{c}                                 a, b.c
    b{items[0,3][struct{x}]}                b.items[0].x, b.items[3].x
    items[#,0][struct{x}]                   items.#, items[0].x
    b?                                      b.?
    items[*][struct{x}]                     items, a list of structs with the one field x
    m{'k'{x}}                               m['k'].x
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from functools import cached_property

from narrows.demand import ALL, LENGTH, NOTHING, PRESENCE, Demand, Fields, Items, Keys, of_columns
from narrows.projection.fragments import Fragment, FragmentField
from narrows.schema import BOOLEAN, INT, NO_COLUMNS, Array, DataType, Map, Struct, is_scalar, joined
from narrows.schema import Field as SchemaField


@dataclass(frozen=True)
class Key:
    """A step to the value of a map's key; fields are `str` steps and list indices `int` steps."""

    value: Hashable


Step = str | int | Key
Path = tuple[Step, ...]
"""From the row to a value; the first step is the column."""


class Aspect(Enum):
    """What of the value at a path a column holds."""

    VALUE = "value"
    LENGTH = "length"
    PRESENCE = "presence"


@dataclass(frozen=True)
class FlatColumn:
    """One Arrow column that a decoder emits."""

    path: Path
    aspect: Aspect
    dtype: DataType
    """The type of the column: a built value has only the fields that are demanded of it."""
    source_type: DataType
    """The type of the value at the path, in full."""
    demand: Demand = field(default=ALL, hash=False)
    """What is demanded of the value at the path; decides how much of a nested value is built."""

    @property
    def text(self) -> str:
        """`b.items[0].x`, for people."""
        return (
            path_text(self.path)
            + {
                Aspect.VALUE: "",
                Aspect.LENGTH: ".#",
                Aspect.PRESENCE: ".?",
            }[self.aspect]
        )


@dataclass(frozen=True)
class DecodeProjection:
    """What to decode of each payload. Decoders cache what they derive from it by `version`.

    A row may have columns that do not come out of the payload but with it (`metadata`). A demand is
    on the whole row; decoders only ever see what is left of it for the `payload`.
    """

    schema: Struct
    """The columns that are in a payload."""
    demand: Demand
    version: int = 0
    tested: Demand = NOTHING
    """What the reader itself looks at to filter rows; decoded, but not shipped."""
    fragments: tuple[Fragment, ...] = ()
    """What the reader encodes; the fields are decoded, but not shipped as columns. They are always
    of the payload."""
    metadata: Struct = NO_COLUMNS
    """The columns that the connector makes."""

    def __getstate__(self) -> dict[str, object]:
        """Without what is derived: a worker that needs it makes it faster than it is carried."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @cached_property
    def row(self) -> Struct:
        """All columns of a row: those of the payload, then the others."""
        return joined(self.schema, self.metadata)

    @cached_property
    def payload(self) -> DecodeProjection:
        """What is wanted of the payload. The order of columns is the same here and there."""
        if not self.metadata:
            return self
        return replace(
            self,
            demand=of_columns(self.demand, self.schema),
            tested=of_columns(self.tested, self.schema),
            metadata=NO_COLUMNS,
        )

    @cached_property
    def of_metadata(self) -> DecodeProjection:
        """What is wanted of the metadata, as if it were what is in a payload."""
        return replace(
            self,
            schema=self.metadata,
            demand=of_columns(self.demand, self.metadata),
            tested=of_columns(self.tested, self.metadata),
            fragments=(),
            metadata=NO_COLUMNS,
        )

    @cached_property
    def stored(self) -> DecodeProjection:
        """The same of rows that were read before: all columns are in what is read."""
        return replace(self, schema=self.row, metadata=NO_COLUMNS)

    @cached_property
    def columns(self) -> tuple[FlatColumn, ...]:
        """The shipped columns, then those that are only tested, then those only encoded."""
        columns = dict.fromkeys(_flatten((), self.row, self.demand))
        tested = dict.fromkeys(_flatten((), self.row, self.tested))
        encoded = dict.fromkeys(
            _encoded(field) for fragment in self.fragments for field in fragment.fields
        )
        return tuple(columns | tested | encoded)

    @cached_property
    def shipped(self) -> int:
        """How many of the columns leave the reader: the first ones."""
        return sum(1 for _ in _flatten((), self.row, self.demand))

    @cached_property
    def observed(self) -> int:
        """How many of the columns are shipped or tested: the first ones. The others are only
        encoded, and a decoder that makes fragments by itself leaves them out."""
        shipped = dict.fromkeys(_flatten((), self.row, self.demand))
        return len(shipped | dict.fromkeys(_flatten((), self.row, self.tested)))

    @cached_property
    def by_place(self) -> dict[tuple[Path, Aspect], int]:
        """Where each column stands; of two for the same value, the shipped one."""
        places = reversed(list(enumerate(self.columns)))
        return {(column.path, column.aspect): place for place, column in places}

    @cached_property
    def encoded(self) -> tuple[tuple[int, ...], ...]:
        """For each fragment, where the columns of its fields stand."""
        places = {column: place for place, column in enumerate(self.columns)}
        return tuple(
            tuple(places[_encoded(field)] for field in fragment.fields)
            for fragment in self.fragments
        )


def _encoded(field: FragmentField) -> FlatColumn:
    """The column that a field is encoded from: all of the value is looked at."""
    return FlatColumn(field.path, Aspect.VALUE, field.dtype, field.dtype)


def path_text(path: Path) -> str:
    text = ""
    for step in path:
        match step:
            case str():
                text += f".{step}" if text else step
            case int():
                text += f"[{step}]"
            case Key(value):
                text += f"[{value!r}]"
    return text


def _flatten(path: Path, dtype: DataType, demand: Demand) -> Iterator[FlatColumn]:
    if demand is NOTHING:
        return
    if not path and (demand is ALL or isinstance(demand, Fields)):
        # The row itself is always there: it is never built, whatever is asked of it.
        assert isinstance(dtype, Struct)
        for member in dtype:
            part = demand.at(member.name) if isinstance(demand, Fields) else ALL
            yield from _flatten((member.name,), member.type, part)
        return
    if demand is PRESENCE and not is_scalar(dtype):
        yield FlatColumn(path, Aspect.PRESENCE, BOOLEAN, dtype, demand)
        return
    if demand is LENGTH:
        yield FlatColumn(path, Aspect.LENGTH, INT, dtype, demand)
        return
    match demand, dtype:
        case Fields(parts, presence=False), Struct():
            for member in dtype:
                if member.name in parts:
                    yield from _flatten((*path, member.name), member.type, parts[member.name])
        case Items(parts, rest, length), Array(element) if rest is NOTHING:
            if length:
                yield FlatColumn(path, Aspect.LENGTH, INT, dtype, LENGTH)
            for index in sorted(parts):  # type: ignore[type-var]
                assert isinstance(index, int)
                yield from _flatten((*path, index), element, parts[index])
        case Keys(parts, rest, length=False), Map(_, value) if rest is NOTHING:
            for key in sorted(parts, key=str):
                yield from _flatten((*path, Key(key)), value, parts[key])
        case _:
            yield FlatColumn(path, Aspect.VALUE, built_type(dtype, demand), dtype, demand)


STAND_IN = SchemaField("present", BOOLEAN)
"""The field of a built struct that is only asked whether it is there; its value is NULL."""


def built_type(dtype: DataType, demand: Demand) -> DataType:
    """The type of a nested value that is built for a demand: only what is looked at.

    Elements and values that nobody looks at are NULLs of BOOLEAN, for a type there must be.
    """
    if demand is ALL or is_scalar(dtype):
        return dtype
    match dtype, demand:
        case Struct(members), Fields(parts):
            kept = [m for m in members if m.name in parts]
            return Struct(
                tuple(SchemaField(m.name, built_type(m.type, parts[m.name])) for m in kept)
            )
        case Struct(), _:
            return Struct((STAND_IN,))
        case Array(element), Items():
            return Array(_part_type(element, demand.anywhere()))
        case Array(), _:
            return Array(BOOLEAN)
        case Map(key, value), Keys():
            return Map(key, _part_type(value, demand.anywhere()))
        case Map(key), _:
            return Map(key, BOOLEAN)
        case _:
            return dtype


def _part_type(dtype: DataType, demand: Demand) -> DataType:
    return BOOLEAN if demand is NOTHING else built_type(dtype, demand)
