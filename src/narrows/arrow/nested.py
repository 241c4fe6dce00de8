"""The columns of a projection out of nested Arrow data, such as a Parquet file holds.

The counterpart of a record decoder for values that are decoded already: flat leaves are picked out
by their paths, lengths and presences are told, and what is needed as a value is built anew with
only the fields that are demanded. What the data does not have reads as NULL. A value that is not of
the declared type is converted if it can be, else it is NULL and counted; a column none of whose
values could ever be of the type is an error, for that is not a bad value but a wrong declaration.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from narrows.arrow.conversion import cast_or_null, from_text
from narrows.arrow.names import places_by_name
from narrows.arrow.types import arrow_type
from narrows.demand import ALL, NOTHING, Demand, Fields, Items, Keys
from narrows.errors import Code, NarrowsError, fail
from narrows.projection.columns import (
    Aspect,
    DecodeProjection,
    FlatColumn,
    Key,
    Path,
    Step,
    path_text,
)
from narrows.schema import BINARY, STRING, TIMESTAMP, Array, DataType, Map, Struct

Places = npt.NDArray[np.int64]


def part_of(demand: Demand, name: str) -> Demand:
    """What is demanded of a field when this is demanded of the struct."""
    if isinstance(demand, Fields):
        return demand.at(name)
    return ALL if demand is ALL else NOTHING


class Projector:
    """Makes the columns of a projection from one batch of a file."""

    def __init__(self, batch: pa.RecordBatch, projection: DecodeProjection, file: str) -> None:
        self.mistyped = 0
        self._rows = batch.num_rows
        self._projection = projection
        self._file = file
        self._batch = batch
        self._places = places_by_name(batch.schema.names, projection.schema)
        self._found: dict[Path, pa.Array | None] = {}

    def columns(self) -> list[pa.Array]:
        return [self._column(column) for column in self._projection.columns]

    def _column(self, column: FlatColumn) -> pa.Array:
        array = self._at(column.path)
        if column.aspect is Aspect.VALUE:
            whole, dtype = column.source_type, column.dtype
            return self._build(array, self._rows, whole, dtype, column.demand, column.path)
        if array is None:
            nulls = pa.nulls(self._rows, arrow_type(column.dtype))
            return nulls.fill_null(False) if column.aspect is Aspect.PRESENCE else nulls
        self._check(array, column.source_type, column.path)
        if column.aspect is Aspect.PRESENCE:
            return array.is_valid()
        lengths = np.diff(array.offsets.to_numpy())
        return pa.array(lengths, pa.int32(), mask=_mask(array.is_null()))

    # --- following paths --------------------------------------------------------------------------

    def _at(self, path: Path) -> pa.Array | None:
        """The values at a path; None when the file does not have it."""
        if path not in self._found:
            if len(path) == 1:
                place = self._places.get(str(path[0]))
                array = None if place is None else self._batch.column(place)
            else:
                outer = self._at(path[:-1])
                array = None if outer is None else self._step(outer, path)
            self._found[path] = _plain(array)
        return self._found[path]

    def _step(self, outer: pa.Array, path: Path) -> pa.Array | None:
        step: Step = path[-1]
        match step:
            case str():
                self._expect(outer, pa.types.is_struct, "a STRUCT", path[:-1])
                return _field(outer, step, self._type_at(path[:-1]))
            case int():
                self._expect(outer, pa.types.is_list, "an ARRAY", path[:-1])
                offsets, (values,) = _unrolled(outer)
                if step >= len(values):
                    return pa.nulls(len(outer), values.type)
                places = offsets[:-1] + step
                beyond = (places >= offsets[1:]) | _mask(outer.is_null())
                return values.take(pa.array(places, mask=beyond))
            case Key(key):
                self._expect(outer, pa.types.is_map, "a MAP", path[:-1])
                offsets, (names, values) = _unrolled(outer)
                entries = self._entries(names, key, path[:-1])[::-1]
                rows = np.searchsorted(offsets, entries, side="right") - 1
                places = np.full(len(outer), -1, np.int64)
                places[rows] = entries  # from the last to the first, so that the first one stays
                return values.take(pa.array(places, mask=(places < 0) | _mask(outer.is_null())))

    def _type_at(self, path: Path) -> DataType:
        dtype: DataType = self._projection.schema
        for step in path:
            match dtype:
                case Struct():
                    dtype = dtype.fields[dtype.ordinal(str(step))].type
                case Array(inner) | Map(_, inner):
                    dtype = inner
        return dtype

    def _entries(self, names: pa.Array, key: object, path: Path) -> Places:
        """The places of a key among the keys of all maps."""
        try:
            return _true_places(pc.equal(_plain(names), pa.scalar(key)))
        except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
            raise self._wrong(f"a MAP with keys like {key!r}", names.type, path) from error

    # --- building values --------------------------------------------------------------------------

    def _build(
        self,
        array: pa.Array | None,
        count: int,
        dtype: DataType,
        target: DataType,
        demand: Demand,
        path: Path,
    ) -> pa.Array:
        """Values of a type as the type built for a demand; whatever is not demanded is NULL."""
        array = _plain(array)
        if array is None or demand is NOTHING:
            return pa.nulls(count, arrow_type(target))
        self._check(array, dtype, path)
        null = array.is_null()
        match dtype, target:
            case Struct(), Struct():
                children = [
                    self._member(array, dtype, member.name, member.type, demand, path)
                    for member in target
                ]
                valid = array.is_valid().buffers()[1]
                return pa.Array.from_buffers(arrow_type(target), count, [valid], children=children)
            case Array(element), Array(built):
                offsets, (values,) = _unrolled(array)
                parts = _by_index(offsets, demand) if isinstance(demand, Items) else []
                inner = self._elements(values, element, built, demand, parts, path)
                starts = pa.array(offsets, pa.int32())
                return pa.ListArray.from_arrays(starts, inner, type=arrow_type(target), mask=null)
            case Map(key, value), Map(_, built):
                offsets, (names, values) = _unrolled(array)
                parts = []
                if isinstance(demand, Keys):
                    parts = [(self._entries(names, k, path), p) for k, p in demand.parts.items()]
                inner = self._elements(values, value, built, demand, parts, path)
                starts = pa.array(offsets, pa.int32())
                cast = self._build(names, len(names), key, key, ALL, path)
                if cast.null_count:
                    raise self._wrong(str(dtype), array.type, path)
                whole = arrow_type(target)
                return pa.MapArray.from_arrays(starts, cast, inner, type=whole, mask=null)
        return self._scalars(array, dtype, path)

    def _member(
        self,
        array: pa.Array,
        dtype: Struct,
        name: str,
        target: DataType,
        demand: Demand,
        path: Path,
    ) -> pa.Array:
        part = part_of(demand, name)
        if part is NOTHING:
            return pa.nulls(len(array), arrow_type(target))  # maybe a stand-in, that is no member
        whole = dtype.fields[dtype.ordinal(name)].type
        return self._build(
            _field(array, name, dtype), len(array), whole, target, part, (*path, name)
        )

    def _elements(
        self,
        values: pa.Array,
        dtype: DataType,
        target: DataType,
        demand: Demand,
        parts: Sequence[tuple[Places, Demand]],
        path: Path,
    ) -> pa.Array:
        """Elements of lists or values of maps, where some places may have demands of their own."""
        rest: Demand = ALL if demand is ALL else NOTHING
        if isinstance(demand, (Items, Keys)):
            rest = demand.rest
        if not parts:
            return self._build(values, len(values), dtype, target, rest, path)
        others = np.ones(len(values), bool)
        for places, _ in parts:
            others[places] = False
        groups = [(np.flatnonzero(others), rest), *parts]
        built = [
            self._build(values.take(pa.array(p)), len(p), dtype, target, part, path)
            for p, part in groups
        ]
        order = np.empty(len(values), np.int64)
        order[np.concatenate([places for places, _ in groups])] = np.arange(len(values))
        return pa.concat_arrays(built).take(pa.array(order))

    def _scalars(self, array: pa.Array, dtype: DataType, path: Path) -> pa.Array:
        target = arrow_type(dtype)
        try:
            if dtype not in (STRING, BINARY) and pa.types.is_string(array.type):
                cast = from_text(array, dtype)
            elif (
                dtype == TIMESTAMP and pa.types.is_timestamp(array.type) and array.type.unit == "ns"
            ):
                cast = pc.floor_temporal(array, unit="microsecond").cast(target)
            else:
                cast = cast_or_null(array, target)
        except pa.ArrowNotImplementedError as error:
            raise self._wrong(str(dtype), array.type, path) from error
        self.mistyped += cast.null_count - array.null_count
        return cast

    # --- types that do not fit --------------------------------------------------------------------

    def _check(self, array: pa.Array, dtype: DataType, path: Path) -> None:
        kind = {Struct: pa.types.is_struct, Array: pa.types.is_list, Map: pa.types.is_map}
        fits = kind.get(type(dtype), lambda t: not pa.types.is_nested(t))
        self._expect(array, fits, dtype.sql(), path)

    def _expect(
        self, array: pa.Array, fits: Callable[[pa.DataType], bool], what: str, path: Path
    ) -> None:
        if not fits(array.type):
            raise self._wrong(what, array.type, path)

    def _wrong(self, declared: str, found: pa.DataType, path: Path) -> NarrowsError:
        message = f"`{path_text(path)}` is declared as {declared}, but is {found} in `{self._file}`"
        return fail(Code.WRONG_TYPE, message)


def _plain(array: pa.Array | None) -> pa.Array | None:
    """An array of one of the kinds that this module knows; None when there can be no value."""
    if array is None or pa.types.is_null(array.type):
        return None
    if isinstance(array, pa.ExtensionArray):
        return _plain(array.storage)
    if pa.types.is_dictionary(array.type):
        return array.dictionary_decode()
    if pa.types.is_large_list(array.type) or pa.types.is_fixed_size_list(array.type):
        return array.cast(pa.list_(array.type.value_field))
    if pa.types.is_large_string(array.type):
        return array.cast(pa.string())
    return array


def _field(array: pa.Array, name: str, declared: DataType) -> pa.Array | None:
    assert isinstance(declared, Struct)
    place = places_by_name([field.name for field in array.type], declared).get(name)
    return None if place is None else pc.struct_field(array, [place])


def _unrolled(array: pa.Array) -> tuple[Places, tuple[pa.Array, ...]]:
    """Where each list or map begins and ends, counted from zero, and what is in all of them."""
    offsets: Places = array.offsets.to_numpy().astype(np.int64)
    first, count = offsets[0], offsets[-1] - offsets[0]
    inside = (array.keys, array.items) if pa.types.is_map(array.type) else (array.values,)
    return offsets - first, tuple(part.slice(first, count) for part in inside)


def _by_index(offsets: Places, demand: Items) -> list[tuple[Places, Demand]]:
    parts = []
    for index, part in demand.parts.items():
        assert isinstance(index, int)
        places = offsets[:-1] + index
        parts.append((places[places < offsets[1:]], part))
    return parts


def _true_places(mask: pa.Array) -> Places:
    return np.flatnonzero(_mask(mask.fill_null(False)))


def _mask(mask: pa.Array) -> npt.NDArray[np.bool_]:
    array: npt.NDArray[np.bool_] = mask.to_numpy(zero_copy_only=False)
    return array
