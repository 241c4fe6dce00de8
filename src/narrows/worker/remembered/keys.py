"""The rows of a task by their keys, and those of each key in the order of their source.

Keys are compared as Spark groups them: NULLs are one key, NaNs are one, and so are 0.0 and -0.0. So
they become columns of which equal values have equal bits (`kept_keys`), which are also what files
hold: a time is a count of microseconds there, and a floating number the bits it has. What is nested
is written out, value by value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from narrows.arrow.key_hash import key_numbers
from narrows.stateful.stored import from_bytes, to_bytes

_Places: TypeAlias = npt.NDArray[np.int64]


class KeyedRows(NamedTuple):
    """Rows of a task: where those of each key are, one key after the other."""

    keys: list[pa.Array]
    """A value for each key, of every column of it."""
    rows: _Places
    """The places of rows: those of the first key in their order, then those of the second ..."""
    bounds: _Places
    """Where the rows of each key begin among these, and where the last ones end."""

    def ranges(self) -> Iterator[tuple[int, int]]:
        yield from zip(self.bounds[:-1].tolist(), self.bounds[1:].tolist(), strict=True)


def keyed_rows(table: pa.Table, keys: Sequence[str], order: str | None) -> KeyedRows:
    """Without an order those of a key stay in the one in which they have come."""
    columns = kept_keys([together(table.column(name)) for name in keys])
    numbers = key_numbers(columns, table.num_rows)
    places = [] if order is None else _order(together(table.column(order)))
    rows = np.lexsort((*reversed(places), numbers))
    numbers = numbers[rows]
    begins = np.flatnonzero(np.diff(numbers, prepend=numbers[:1] - 1))
    firsts = pa.array(rows[begins])
    bounds = np.append(begins, len(rows))
    return KeyedRows([column.take(firsts) for column in columns], rows, bounds)


def in_source_order(table: pa.Table, order: str) -> _Places:
    """The places of rows, in the order of their source."""
    return np.lexsort(tuple(reversed(_order(together(table.column(order))))))


def kept_keys(columns: Sequence[pa.Array]) -> list[pa.Array]:
    """The same keys, with equal bits where Spark takes them to be equal."""
    return [*map(_kept, columns)]


def _kept(column: pa.Array) -> pa.Array:
    if pa.types.is_nested(column.type):
        written = (
            None if value is None else to_bytes(_same(value)) for value in column.to_pylist()
        )
        return pa.array(written, pa.binary())
    if pa.types.is_floating(column.type):
        zero, nan = (pa.scalar(number, column.type) for number in (0.0, float("nan")))
        column = pc.if_else(pc.equal(column, zero), zero, column)
        column = pc.if_else(pc.is_nan(column), nan, column)
        return column.view(pa.int64() if pa.types.is_float64(column.type) else pa.int32())
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
    if pa.types.is_duration(column.type):
        return column.cast(pa.int64())
    if pa.types.is_large_string(column.type):
        return column.cast(pa.string())
    return column.cast(pa.binary()) if pa.types.is_large_binary(column.type) else column


def as_values(keys: Sequence[pa.Array], schema: pa.Schema) -> list[pa.Array]:
    """Keys that are kept as the values of such columns."""
    return [*map(_value, keys, schema.types)]


def _same(value: Any) -> Any:
    """The value, or that which stands for all that are equal to it."""
    match value:
        case float():
            return value + 0.0 if value == value else float("nan")
        case datetime() if (
            value.tzinfo is not None
        ):  # clocks of the session may be other ones later
            return value.astimezone(UTC)
        case list():
            return [*map(_same, value)]
        case dict():
            return {name: _same(part) for name, part in value.items()}
    return value


def _value(kept: pa.Array, dtype: pa.DataType) -> pa.Array:
    if pa.types.is_nested(dtype):
        values = (None if written is None else from_bytes(written) for written in kept.to_pylist())
        return pa.array(values, dtype)
    if pa.types.is_floating(dtype):
        return kept.view(dtype)
    if pa.types.is_timestamp(dtype):
        return kept.cast(pa.timestamp("us", dtype.tz)).cast(dtype)
    return kept.cast(dtype)


def _order(place: pa.Array) -> list[_Places]:
    """A row's place in its source as numbers: the first decides, then the next. After a join it is
    a struct of structs; what is NULL comes first."""
    if pa.types.is_struct(place.type):
        return [each for part in place.flatten() for each in _order(part)]
    if not place.null_count:
        return [np.asarray(place)]
    return [np.asarray(place.is_valid()).astype(np.int64), np.asarray(place.fill_null(0))]


def together(column: pa.ChunkedArray) -> pa.Array:
    """All values of a column in one piece."""
    made = column.combine_chunks()
    return pa.concat_arrays(made.chunks) if isinstance(made, pa.ChunkedArray) else made
