"""The columns of a projection as a tree of the places in a row where they are found.

`b.c`, `b.items[0].x` and `b.items.#` share the way to `b` and to `b.items`: a row is walked once,
whatever the number of columns.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from narrows.demand import Demand
from narrows.errors import Code, InternalError, fail
from narrows.formats.json.columns import ColumnSink, sink_for
from narrows.projection.columns import Aspect, FlatColumn, Key, Path, Step, path_text
from narrows.schema import STRING, Array, DataType, Map, Struct


@dataclass
class JsonPlace:
    """A value in a row, and who wants what of it."""

    dtype: DataType
    parts: dict[Step, JsonPlace] = field(default_factory=dict)
    """Values in this one that are wanted as columns of their own."""
    length: ColumnSink | None = None
    presence: ColumnSink | None = None
    values: list[tuple[ColumnSink, Demand]] = field(default_factory=list)
    """Columns that hold this value; more than one when the reader tests it to filter rows."""
    texts: list[int] = field(default_factory=list)
    """Texts that are made of this value, by number; only the native kernel makes such."""


def places_of(schema: Struct, columns: Iterable[FlatColumn]) -> tuple[JsonPlace, list[ColumnSink]]:
    """The row, and where each column is collected."""
    row = JsonPlace(schema)
    sinks = []
    for column in columns:
        place = reach(row, column.path)
        sink = sink_for(column.dtype)
        sinks.append(sink)
        match column.aspect:
            case Aspect.VALUE:
                _check_keys(column.dtype, path_text(column.path))
                place.values.append((sink, column.demand))
            case Aspect.LENGTH:
                place.length = sink
            case Aspect.PRESENCE:
                place.presence = sink
    return row, sinks


def reach(row: JsonPlace, path: Path) -> JsonPlace:
    """The place at a path, made if nobody wanted anything there before."""
    place = row
    for depth, step in enumerate(path):
        if step not in place.parts:
            inner = _step_into(place.dtype, step)
            _check_keys(inner, path_text(path[: depth + 1]))
            place.parts[step] = JsonPlace(inner)
        place = place.parts[step]
    return place


def _step_into(dtype: DataType, step: Step) -> DataType:
    match dtype, step:
        case Struct(members), str():
            return members[dtype.ordinal(step)].type
        case Array(element), int():
            return element
        case Map(_, value), Key():
            return value
        case _:
            raise InternalError(f"no step {step!r} into {dtype}")


def _check_keys(dtype: DataType, where: str) -> None:
    """Keys of JSON objects are texts; `from_json` refuses other maps too."""
    match dtype:
        case Map(key) if key != STRING:
            message = f"`{where}` is a {dtype}, but keys in JSON are always STRING"
            raise fail(Code.NOT_SUPPORTED, message)
        case Map(_, inner) | Array(inner):
            _check_keys(inner, where)
        case Struct(members):
            for member in members:
                _check_keys(member.type, f"{where}.{member.name}")
