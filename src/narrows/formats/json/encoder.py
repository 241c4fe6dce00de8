"""Rows as JSON: an object a line, or one list of objects a payload.

The portable encoder: whole columns at a time with Arrow's kernels, so that no Python runs per row.
A nested column is encoded from the inside: the texts of all elements of all lists are one column,
which Arrow joins by the lists they are in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from json.encoder import encode_basestring
from typing import IO, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from narrows.arrow.stacking import stacked_fields, worth_stacking
from narrows.arrow.value_text import bytes_of, scalar_text
from narrows.formats.base import OptionMap
from narrows.formats.encoder import Encoded, Encoder, RowColumns, Values
from narrows.formats.kernel import PORTABLE, chosen_kernel
from narrows.projection.fragments import Fragment


@dataclass(frozen=True)
class JsonEncoder:
    zone: str = "UTC"
    omit_null_columns: bool = False
    layout: str = "lines"

    def open(self, file: IO[bytes]) -> JsonWriter:
        return JsonWriter(self, self.layout, file)

    def fragment(self, fragment: Fragment, columns: Sequence[pa.Array]) -> pa.Array:
        starts = [field_start(field.name) for field in fragment.fields]
        if worth_stacking(len(columns), len(columns[0])):
            return stacked_fields(starts, columns, self._fields)
        return _strung([self._field(s, c) for s, c in zip(starts, columns, strict=True)])

    def _fields(self, starts: pa.Array, values: pa.Array) -> pa.Array:
        return _strung([self._field(starts, values)])

    def objects(self, rows: RowColumns, end: str) -> pa.Array:
        """Each row as an object, and what follows it."""
        parts = [self._part(part) for part in rows]
        # The comma before the first field becomes the bracket.
        opened = pc.binary_replace_slice(_strung(parts), 0, 1, "{")
        return pc.binary_join_element_wise(opened, "}" + end, "")

    def messages(self, rows: RowColumns) -> pa.Array:
        return self.objects(rows, "")

    def _part(self, part: Values | Encoded) -> list[pa.Array | str]:
        if isinstance(part, Encoded):
            text = part.array.cast(pa.string())
            return [text.fill_null(self.null_fields(part.fragment)) if text.null_count else text]
        pieces = self._field(field_start(part.name), part.array)
        if part.changed is None:
            return pieces
        return [pc.if_else(part.changed, _joined(pieces, len(part.array)), "")]

    def null_fields(self, fragment: Fragment) -> str:
        """What the fields of a row look like that an outer join made up."""
        if self.omit_null_columns:
            return ""
        return "".join(f"{field_start(field.name)}null" for field in fragment.fields)

    def _field(self, start: pa.Array | str, column: pa.Array) -> list[pa.Array | str]:
        """Pieces of text that make up `,"name":value`; `start` is what comes before the value."""
        text = value_text(column, self.zone)
        if not text.null_count:
            return [start, text]
        if self.omit_null_columns:
            return [pc.binary_join_element_wise(start, text, "").fill_null("")]
        return [start, text.fill_null("null")]


def make(options: OptionMap) -> Encoder:
    portable = JsonEncoder(
        zone=str(options.get("timezone", "UTC")),
        omit_null_columns=options.get("omit_null_columns") is True,
        layout=str(options.get("layout", "lines")),
    )
    if chosen_kernel() == PORTABLE:
        return portable
    from narrows.formats.json.native_encoder import NativeJsonEncoder

    return NativeJsonEncoder(portable)


class ObjectEncoder(Protocol):
    def objects(self, rows: RowColumns, end: str) -> pa.Array:
        """Each row as an object, and what follows it."""


class JsonWriter:
    """Objects of any encoder, laid out as a payload."""

    def __init__(self, encoder: ObjectEncoder, layout: str, file: IO[bytes]) -> None:
        self._encoder = encoder
        self._layout = layout
        self._file = file
        self._empty = True

    def add(self, rows: RowColumns) -> None:
        if self._layout == "lines":
            self._file.write(bytes_of(self._encoder.objects(rows, "\n")))
            return
        text = bytes_of(self._encoder.objects(rows, ",\n"))
        if text:
            self._file.write(b"[\n" if self._empty else b",\n")
            self._file.write(text[:-2])
            self._empty = False

    def close(self) -> None:
        if self._layout == "array":
            self._file.write(b"[]\n" if self._empty else b"\n]\n")


# --- values ---------------------------------------------------------------------------------------


def value_text(column: pa.Array, zone: str) -> pa.Array:
    """The JSON text of every value; NULL stays NULL."""
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _quoted(column.cast(pa.string()))
    if pa.types.is_struct(kind):
        return _structs(column, zone)
    if pa.types.is_map(kind):
        return _maps(column, zone)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        inside = _elements(value_text(column.flatten(), zone).fill_null("null"), column)
        return pc.binary_join_element_wise("[", inside, "]", "")
    text = scalar_text(column, zone)
    if text is None:
        raise ValueError(f"JSON has no form for values of type {kind}")
    if pa.types.is_floating(kind):
        return pc.if_else(
            pc.is_finite(column), text, pc.binary_join_element_wise('"', text, '"', "")
        )
    if _is_plain(kind):
        return text
    return pc.binary_join_element_wise('"', text, '"', "")


def _is_plain(kind: pa.DataType) -> bool:
    """Values that JSON writes without quotes."""
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_null(kind)
    )


def _structs(column: pa.StructArray, zone: str) -> pa.Array:
    pieces: list[pa.Array | str] = []
    for place, start in enumerate(member_starts([field.name for field in column.type])):
        pieces += [start, value_text(column.field(place), zone).fill_null("null")]
    whole = _joined([*pieces, "}"] if pieces else ["{}"], len(column))
    return pc.if_else(column.is_valid(), whole, None) if column.null_count else whole


def _maps(column: pa.MapArray, zone: str) -> pa.Array:
    # As two columns of lists. A cast to one of entries would do, but Arrow gets it wrong, or dies,
    # when the column is a part of a longer one.
    offsets = pa.array(column.offsets.to_numpy(), pa.int32())
    absent = column.is_null() if column.null_count else None
    lists = pa.ListArray.from_arrays(offsets, column.keys, mask=absent)
    keys = lists.flatten()
    values = pa.ListArray.from_arrays(offsets, column.items, mask=absent).flatten()
    name = keys if pa.types.is_string(keys.type) else scalar_text(keys, zone)
    if name is None:
        raise ValueError(f"JSON has no form for a map with keys of type {keys.type}")
    text = pc.binary_join_element_wise(
        _quoted(name), value_text(values, zone).fill_null("null"), ":"
    )
    return pc.binary_join_element_wise("{", _elements(text, lists), "}", "")


def _elements(texts: pa.Array, lists: pa.Array) -> pa.Array:
    """The texts of elements, those of a list joined; NULL where there is no list."""
    lengths = pc.list_value_length(lists).fill_null(0)
    starts = pa.concat_arrays(
        [pa.array([0], pa.int32()), pc.cumulative_sum(lengths).cast(pa.int32())]
    )
    grouped = pa.ListArray.from_arrays(starts, texts)
    joined = pc.binary_join(grouped, ",")
    return pc.if_else(lists.is_valid(), joined, None) if lists.null_count else joined


_QUOTE, _BACKSLASH, _FIRST_PRINTABLE = 0x22, 0x5C, 0x20


def _quoted(column: pa.Array) -> pa.Array:
    if _is_clean(column):
        return pc.binary_join_element_wise('"', column, '"', "")
    values = [None if v is None else encode_basestring(v) for v in column.to_pylist()]
    return pa.array(values, pa.string())


def _is_clean(column: pa.Array) -> bool:
    """Is there nothing in the whole column that JSON escapes? One look at its bytes tells."""
    text = np.frombuffer(bytes_of(column), np.uint8)
    return not bool(
        (text < _FIRST_PRINTABLE).any() or (text == _QUOTE).any() or (text == _BACKSLASH).any()
    )


def field_start(name: str) -> str:
    """What stands before the value of a field."""
    return f",{name_text(name)}:"


def member_starts(names: Sequence[str]) -> list[str]:
    """What stands before the value of each member of an object."""
    return [f"{',' if place else '{'}{name_text(name)}:" for place, name in enumerate(names)]


def name_text(name: str) -> str:
    """A name in quotes."""
    return encode_basestring(name)


# --- joining --------------------------------------------------------------------------------------


def _strung(parts: Sequence[Sequence[pa.Array | str]]) -> pa.Array:
    """Pieces of text, strung together row by row."""
    pieces = [piece for part in parts for piece in part]
    rows = next(len(piece) for piece in pieces if not isinstance(piece, str))
    return _joined(pieces, rows)


def _joined(pieces: Sequence[pa.Array | str], rows: int) -> pa.Array:
    if all(isinstance(piece, str) for piece in pieces):
        return pa.array(["".join(map(str, pieces))] * rows, pa.string())
    return pc.binary_join_element_wise(*pieces, "")
