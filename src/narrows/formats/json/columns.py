"""What the decoder collects into, row by row, and how that becomes Arrow arrays.

A nested column is collected as Arrow stores it: a list of where each value starts, and a column of
elements. So however deep a leaf lies its values end in one Python list, which Arrow converts at
once; no dict or list is ever made for a struct or a list.

The cheapest test of a whole column is to let Arrow convert it. Integers out of range, odd dates and
times are looked for only when that fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from narrows.arrow.times import date_days, seconds_to_micros, timestamp_micros
from narrows.arrow.types import arrow_type
from narrows.formats.json.values import Mistyped
from narrows.formats.time_columns import TimeForms, counted, rewritten, rewritten_dates
from narrows.schema import DATE, INTEGRAL, TIMESTAMP, Array, DataType, Map, Struct


class ColumnSink:
    """A column under construction."""

    def __init__(self, dtype: DataType, *parts: ColumnSink) -> None:
        self.dtype = dtype
        self.target = arrow_type(dtype)
        self.values: list[Any] = []
        """Of a leaf its values; of a struct whether each is there; of a list or map where each
        starts, None if it is NULL."""
        self.parts = parts
        """Of a struct its fields; of a list its elements; of a map its keys and its values."""

    def all(self) -> Iterator[ColumnSink]:
        yield self
        for part in self.parts:
            yield from part.all()

    def truncate(self, length: int) -> None:
        """Forget all values after the first few, some of which may be half made."""
        for part in self.parts:
            part.truncate(length)
        del self.values[length:]

    def to_arrow(self, times: TimeForms, mistyped: Mistyped) -> pa.Array:
        return pa.array(self.values, self.target)


class _Structs(ColumnSink):
    def to_arrow(self, times: TimeForms, mistyped: Mistyped) -> pa.Array:
        members = [part.to_arrow(times, mistyped) for part in self.parts]
        there = pa.array(self.values, pa.bool_()).buffers()[1]
        return pa.Array.from_buffers(self.target, len(self.values), [there], children=members)


class _Lists(ColumnSink):
    """Lists, and maps, which Arrow stores as lists of entries."""

    def truncate(self, length: int) -> None:
        kept = next((start for start in self.values[length:] if start is not None), None)
        if kept is not None:
            for part in self.parts:
                part.truncate(kept)
        del self.values[length:]

    def to_arrow(self, times: TimeForms, mistyped: Mistyped) -> pa.Array:
        elements = [part.to_arrow(times, mistyped) for part in self.parts]
        offsets = pa.array([*self.values, len(elements[0])], pa.int32())
        kind = pa.ListArray if len(elements) == 1 else pa.MapArray
        return kind.from_arrays(offsets, *elements, type=self.target)


class _Integers(ColumnSink):
    def to_arrow(self, times: TimeForms, mistyped: Mistyped) -> pa.Array:
        try:
            return pa.array(self.values, self.target)
        except (OverflowError, pa.ArrowInvalid):
            limit = 1 << self.target.bit_width - 1
            fitting = range(-limit, limit)
            kept = [v if v is None or v in fitting else mistyped(v) for v in self.values]
            return pa.array(kept, self.target)


class _Dates(ColumnSink):
    def to_arrow(self, times: TimeForms, mistyped: Mistyped) -> pa.Array:
        return _dates(self.values, self.target, times, mistyped)


class _Timestamps(ColumnSink):
    def to_arrow(self, times: TimeForms, mistyped: Mistyped) -> pa.Array:
        return _timestamps(self.values, self.target, times, mistyped)


def sink_for(dtype: DataType) -> ColumnSink:
    match dtype:
        case Struct(members):
            return _Structs(dtype, *(sink_for(member.type) for member in members))
        case Array(element):
            return _Lists(dtype, sink_for(element))
        case Map(key, value):
            return _Lists(dtype, sink_for(key), sink_for(value))
        case _ if dtype in INTEGRAL:
            return _Integers(dtype)
        case _ if dtype == DATE:
            return _Dates(dtype)
        case _ if dtype == TIMESTAMP:
            return _Timestamps(dtype)
        case _:
            return ColumnSink(dtype)


# --- dates and times ------------------------------------------------------------------------------

_DAY = "^[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME = f"{_DAY}[ T][0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}([.][0-9]{{1,6}})?"
_ZONED = f"{_TIME}(Z|[+-](0[0-9]|1[0-7]):[0-5][0-9])$"
_LOCAL = f"{_TIME}$"
"""Texts that mean the same to Arrow and to Spark; Arrow reads ten in the time in which Python
reads one."""


def _dates(texts: list[Any], target: pa.DataType, times: TimeForms, mistyped: Mistyped) -> pa.Array:
    given = pa.array(texts, pa.string())
    column = rewritten_dates(given, times.date)
    _count_lost(column, given, mistyped)
    try:
        plain = _matching(column, f"{_DAY}$").cast(target)
    except pa.ArrowInvalid:
        plain = pa.nulls(len(column), target)  # there is no such day; look at each
    return _with_odd_ones(column, plain, date_days, pa.int32(), mistyped)


def _timestamps(
    values: list[Any], target: pa.DataType, times: TimeForms, mistyped: Mistyped
) -> pa.Array:
    zone = times.zone
    if times.unit is not None:
        return _numbers(values, times.unit, mistyped).cast(target)
    try:
        given = pa.array(values, pa.string())
    except pa.ArrowTypeError:
        # Some are numbers.
        micros = [None if value is None else _micros(value, times, mistyped) for value in values]
        return pa.array(micros, pa.int64()).cast(target)
    column = rewritten(given, times.timestamp)
    _count_lost(column, given, mistyped)
    try:
        if _all_match(column, _ZONED):
            return column.cast(target)
        # Nobody sees more than microseconds, and Arrow would not read more.
        cut = pc.replace_substring_regex(column, "([.][0-9]{6})[0-9]+", r"\1")
        plain = _matching(cut, _ZONED).cast(target)
        if zone == 0:
            local = _matching(cut, _LOCAL).cast(pa.timestamp("us"))
            plain = pc.coalesce(plain, local.cast(target))
    except pa.ArrowInvalid:
        plain = pa.nulls(len(column), target)  # there is no such time; look at each
    return _with_odd_ones(
        column, plain, lambda text: timestamp_micros(text, zone), pa.int64(), mistyped
    )


def _micros(value: str | int, times: TimeForms, mistyped: Mistyped) -> int | None:
    if isinstance(value, int):
        micros = seconds_to_micros(value)
    else:
        text = value if times.timestamp is None else times.timestamp.rewritten(value)
        micros = None if text is None else timestamp_micros(text, times.zone)
    return micros if micros is not None else mistyped(value)


def _numbers(values: list[Any], unit: int, mistyped: Mistyped) -> pa.Array:
    """Numbers, and texts that are."""
    texts = pa.array([None if value is None else str(value) for value in values], pa.string())
    micros = counted(texts, unit)
    _count_lost(micros, texts, mistyped)
    return micros


def _count_lost(made: pa.Array, texts: pa.Array, mistyped: Mistyped) -> None:
    for _ in range(made.null_count - texts.null_count):
        mistyped(None)


def _with_odd_ones(
    texts: pa.Array,
    plain: pa.Array,
    read: Callable[[str], int | None],
    storage: pa.DataType,
    mistyped: Mistyped,
) -> pa.Array:
    """The plain ones and, read one by one, those that are none."""
    if plain.null_count == texts.null_count:
        return plain
    odd: list[int | None] = [None] * len(texts)
    for place in pc.indices_nonzero(pc.and_(plain.is_null(), texts.is_valid())).to_pylist():
        text = texts[place].as_py()
        found = read(text)
        odd[place] = found if found is not None else mistyped(text)
    return pc.coalesce(plain, pa.array(odd, storage).cast(plain.type))


def _matching(column: pa.Array, pattern: str) -> pa.Array:
    """The texts that look as they should, NULL for the others."""
    return pc.if_else(
        pc.match_substring_regex(column, pattern), column, pa.scalar(None, column.type)
    )


def _all_match(column: pa.Array, pattern: str) -> bool:
    return pc.all(pc.match_substring_regex(column, pattern)).as_py() is not False
