"""A projection as the native kernel wants it: flat lists of tuples that refer to each other.

    columns   ("bigint",), ("decimal", 10, 2), ("struct", names, columns), ("list", column),
              ("map", keys, values): what is built, parts of other columns included
    reads     ("scalar", column), ("nothing", column), ("struct", column, names, reads, nulls),
              ("list", column, part, [(index, read)], rest), ("map", column, keys, values, names,
              reads, rest): how a value becomes that of a column
    places    ("object", names, places, reads, texts, presence, length), ("array", indices, ...),
              ("scalar", None, ...): where values are found; the first is the row
    outputs   the columns of the batch, then the fragments
    forms     ("bigint",), ..., ("struct", names, starts, forms), ("list", form), ("map", form):
              how values are written that are only encoded
    texts     (form, counts): the values that are
    fragments (column, omits_nulls, starts, texts)

Parts come after what they are part of, but forms before. Several reads may fill one column:
elements of a list that are looked at in different ways.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from narrows.arrow.types import arrow_type
from narrows.demand import ALL, NOTHING, Demand, Fields, Items, Keys
from narrows.errors import InternalError
from narrows.formats.json.columns import ColumnSink
from narrows.formats.json.encoder import field_start, member_starts
from narrows.formats.json.places import JsonPlace, places_of, reach
from narrows.projection.columns import DecodeProjection, Key, Step
from narrows.schema import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    Array,
    DataType,
    Decimal,
    Map,
    Struct,
    is_scalar,
)

_SCALARS = {
    BIGINT: "bigint",
    BINARY: "binary",
    BOOLEAN: "boolean",
    DATE: "date",
    DOUBLE: "double",
    FLOAT: "float",
    INT: "int",
    SMALLINT: "smallint",
    STRING: "string",
    TIMESTAMP: "timestamp",
    TINYINT: "tinyint",
}
_INDICES = range(2**31)
"""Where a list can have elements."""

_Tuple = tuple[Any, ...]


@dataclass
class Description:
    schema: pa.Schema
    """Of the outputs."""
    transcodes: bool = False
    """Does the kernel make the fragments?"""
    columns: list[_Tuple] = field(default_factory=list)
    reads: list[_Tuple] = field(default_factory=list)
    places: list[_Tuple] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    forms: list[_Tuple] = field(default_factory=list)
    texts: list[tuple[int, bool]] = field(default_factory=list)
    fragments: list[_Tuple] = field(default_factory=list)


def describe(projection: DecodeProjection, zone: int | None) -> Description:
    transcodes = _can_transcode(projection, zone)
    columns = projection.columns[: projection.observed] if transcodes else projection.columns
    row, sinks = places_of(projection.schema, columns)
    schema = [(c.text, arrow_type(c.dtype)) for c in columns]
    if transcodes:
        schema += [(f"fragment {place}", pa.binary()) for place in range(len(projection.fragments))]
    description = Description(pa.schema(schema), transcodes)
    describer = _Describer(description)
    for sink in sinks:
        description.outputs.append(describer.column(sink))
    if transcodes:
        describer.fragments(projection, row)
    describer.place(row)
    return description


def _can_transcode(projection: DecodeProjection, zone: int | None) -> bool:
    """Can the kernel write the fragments? It knows JSON, and no zone that is a region."""
    fields = [field for fragment in projection.fragments for field in fragment.fields]
    return (
        bool(projection.fragments)
        and all(fragment.format == "json" for fragment in projection.fragments)
        and (
            (zone is not None and zone % 60 == 0)
            or not any(has_time(f.dtype, TIMESTAMP) for f in fields)
        )
    )


def has_time(dtype: DataType, *times: DataType) -> bool:
    """Is it one of these types, or are there any in it?"""
    match dtype:
        case Struct(members):
            return any(has_time(member.type, *times) for member in members)
        case Array(inner) | Map(_, inner):
            return has_time(inner, *times)
        case _:
            return dtype in times


class _Describer:
    def __init__(self, description: Description) -> None:
        self._columns = description.columns
        self._reads = description.reads
        self._places = description.places
        self._description = description
        self._numbers: dict[int, int] = {}
        self._forms: dict[DataType, int] = {}

    def column(self, sink: ColumnSink) -> int:
        number = len(self._columns)
        self._numbers[id(sink)] = number
        self._columns.append(())  # its parts come after it
        parts = [self.column(part) for part in sink.parts]
        match sink.dtype:
            case Struct(members):
                names = ["" if "\0" in m.name else m.name for m in members]
                self._columns[number] = ("struct", names, parts)
            case Array():
                self._columns[number] = ("list", *parts)
            case Map():
                self._columns[number] = ("map", *parts)
            case dtype:
                self._columns[number] = _scalar(dtype)
        return number

    def fragments(self, projection: DecodeProjection, row: JsonPlace) -> None:
        """Texts at the places of all fields; two fields of one value share its text."""
        texts: dict[int, int] = {}
        for fragment, places in zip(projection.fragments, projection.encoded, strict=True):
            for place in dict.fromkeys(places):
                if place not in texts:
                    texts[place] = len(texts)
                    column = projection.columns[place]
                    reach(row, column.path).texts.append(texts[place])
                    counts = place >= projection.observed
                    self._description.texts.append((self._form(column.dtype), counts))
            number = len(self._columns)
            self._columns.append(("binary",))
            self._description.outputs.append(number)
            omits = dict(fragment.options).get("omit_null_columns") is True
            starts = [field_start(field.name) for field in fragment.fields]
            fields = (starts, [texts[place] for place in places])
            self._description.fragments.append((number, omits, *fields))

    def _form(self, dtype: DataType) -> int:
        if dtype not in self._forms:
            match dtype:
                case Struct(members):
                    names = [member.name for member in members]
                    parts = [self._form(member.type) for member in members]
                    form: _Tuple = ("struct", names, member_starts(names), parts)
                case Array(element):
                    form = ("list", self._form(element))
                case Map(_, value):
                    form = ("map", self._form(value))
                case _:
                    form = _scalar(dtype)
            self._forms[dtype] = len(self._description.forms)
            self._description.forms.append(form)
        return self._forms[dtype]

    def place(self, place: JsonPlace) -> int:
        number = len(self._places)
        self._places.append(())
        match place.dtype:
            case Array():
                shape = "array"
                reachable = {s: p for s, p in place.parts.items() if s in _INDICES}
                steps: list[Any] = sorted(reachable, key=_index)
                # Those that no list can have are never found.
                beyond = [s for s in place.parts if s not in reachable]
                steps += beyond
                names: Any = [*sorted(reachable, key=_index), *[2**32 - 1] * len(beyond)]
            case Struct() | Map():
                shape = "object"
                steps = _in_order(place)
                names = [_name(step) for step in steps]
            case _:
                shape, steps, names = "scalar", [], None
        self._places[number] = (
            shape,
            names,
            [self.place(place.parts[step]) for step in steps],
            [self._read(sink, place.dtype, demand) for sink, demand in place.values],
            place.texts,
            None if place.presence is None else self._numbers[id(place.presence)],
            None if place.length is None else self._numbers[id(place.length)],
        )
        return number

    def _read(self, sink: ColumnSink, dtype: DataType, demand: Demand) -> int:
        number = len(self._reads)
        self._reads.append(())
        column = self._numbers[id(sink)]
        if demand is NOTHING:
            self._reads[number] = ("nothing", column)
        elif is_scalar(dtype):
            self._reads[number] = ("scalar", column)
        else:
            match dtype:
                case Struct():
                    self._reads[number] = self._struct(column, sink, dtype, demand)
                case Array(element):
                    self._reads[number] = self._list(column, sink, element, demand)
                case Map(_, value):
                    self._reads[number] = self._map(column, sink, value, demand)
        return number

    def _struct(self, column: int, sink: ColumnSink, dtype: Struct, demand: Demand) -> _Tuple:
        assert isinstance(sink.dtype, Struct)
        names, reads, nulls = [], [], []
        for member, part in zip(sink.dtype, sink.parts, strict=True):
            wanted = _part(demand, member.name)
            if wanted is NOTHING:
                nulls.append(self._numbers[id(part)])
            else:
                inner = dtype.fields[dtype.ordinal(member.name)].type
                names.append(member.name)
                reads.append(self._read(part, inner, wanted))
        return ("struct", column, names, reads, nulls)

    def _list(self, column: int, sink: ColumnSink, element: DataType, demand: Demand) -> _Tuple:
        (part,) = sink.parts
        special = [
            (index, self._read(part, element, wanted))
            for index, wanted in sorted(_parts(demand).items())
            if index in _INDICES
        ]
        rest = self._read(part, element, _rest(demand))
        return ("list", column, self._numbers[id(part)], special, rest)

    def _map(self, column: int, sink: ColumnSink, value: DataType, demand: Demand) -> _Tuple:
        keys, part = sink.parts
        special = {k: wanted for k, wanted in _parts(demand).items() if isinstance(k, str)}
        reads = [self._read(part, value, wanted) for wanted in special.values()]
        rest = self._read(part, value, _rest(demand))
        numbers = self._numbers[id(keys)], self._numbers[id(part)]
        return ("map", column, *numbers, list(special), reads, rest)


def _scalar(dtype: DataType) -> _Tuple:
    match dtype:
        case Decimal(precision, scale):
            return ("decimal", precision, scale)
        case _ if dtype in _SCALARS:
            return (_SCALARS[dtype],)
        case _:
            raise InternalError(f"no JSON value is a {dtype}")


def _in_order(place: JsonPlace) -> list[Step]:
    """The steps to the parts in the order of the schema, which is mostly that of documents: of a
    key, the kernel tries first whether it is the next one."""
    if isinstance(place.dtype, Struct):
        ordinal = place.dtype.ordinal
        return sorted(place.parts, key=lambda step: ordinal(str(step)))
    return list(place.parts)


def _index(step: Step) -> int:
    assert isinstance(step, int)
    return step


def _name(step: Step) -> str:
    return str(step.value) if isinstance(step, Key) else str(step)


def _part(demand: Demand, name: str) -> Demand:
    if isinstance(demand, Fields):
        return demand.at(name)
    return ALL if demand is ALL else NOTHING


def _parts(demand: Demand) -> Mapping[Any, Demand]:
    return demand.parts if isinstance(demand, (Items, Keys)) else {}


def _rest(demand: Demand) -> Demand:
    if isinstance(demand, (Items, Keys)):
        return demand.rest
    return ALL if demand is ALL else NOTHING
