"""Rows as lines of delimited values.

NULL is nothing at all, an empty string is `""`. A value is quoted where it holds the delimiter, a
quote, a line end, or where a reader might trim it; a quote inside is doubled.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO

import pyarrow as pa
import pyarrow.compute as pc

from narrows.arrow.stacking import stacked_fields, worth_stacking
from narrows.arrow.value_text import bytes_of, scalar_text
from narrows.formats.base import OptionMap
from narrows.formats.encoder import Encoded, RowColumns
from narrows.projection.fragments import Fragment


@dataclass(frozen=True)
class CsvEncoder:
    zone: str = "UTC"
    delimiter: str = ","
    header: bool = False

    def open(self, file: IO[bytes]) -> _CsvWriter:
        return _CsvWriter(self, file)

    def fragment(self, fragment: Fragment, columns: Sequence[pa.Array]) -> pa.Array:
        starts = [self.delimiter] * len(columns)
        if worth_stacking(len(columns), len(columns[0])):
            return stacked_fields(starts, columns, self._fields)
        return self._strung([self._text(column) for column in columns])

    def _fields(self, starts: pa.Array, values: pa.Array) -> pa.Array:
        return pc.binary_join_element_wise(starts, self._text(values), "")

    def messages(self, rows: RowColumns) -> pa.Array:
        return self.lines(rows, end="")

    def lines(self, rows: RowColumns, end: str = "\n") -> pa.Array:
        parts = []
        for part in rows:
            if isinstance(part, Encoded):
                nothing = self.delimiter * len(part.fragment.fields)
                parts.append(part.array.cast(pa.string()).fill_null(nothing))
            else:
                text = self._text(part.array)
                parts.append(pc.binary_join_element_wise(self.delimiter, text, ""))
        # The first value has a delimiter before it, too.
        too_much = len(self.delimiter.encode("utf-8"))
        line = pc.binary_join_element_wise(*parts, end, "")
        return pc.binary_replace_slice(line, 0, too_much, "")

    def _strung(self, texts: Sequence[pa.Array]) -> pa.Array:
        pieces = [piece for text in texts for piece in (self.delimiter, text)]
        return pc.binary_join_element_wise(*pieces, "")

    def _text(self, column: pa.Array) -> pa.Array:
        text = scalar_text(column, self.zone)
        if text is None:
            if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
                raise ValueError(f"csv has no form for values of type {column.type}")
            text = column.cast(pa.string())
        return self._quoted(text).fill_null("")

    def _quoted(self, text: pa.Array) -> pa.Array:
        special = rf'["\r\n]|{re.escape(self.delimiter)}|^\s|\s$|^$'
        needs = pc.match_substring_regex(text, special)
        if not pc.any(needs).as_py():
            return text
        doubled = pc.replace_substring(text, '"', '""')
        return pc.if_else(needs, pc.binary_join_element_wise('"', doubled, '"', ""), text)

    def heading(self, rows: RowColumns) -> bytes:
        names: list[str] = []
        for part in rows:
            if isinstance(part, Encoded):
                names += [field.name for field in part.fragment.fields]
            else:
                names.append(part.name)
        quoted = self._quoted(pa.array(names, pa.string())).to_pylist()
        return (self.delimiter.join(quoted) + "\n").encode("utf-8")


def make(options: OptionMap) -> CsvEncoder:
    return CsvEncoder(
        zone=str(options.get("timezone", "UTC")),
        delimiter=str(options.get("delimiter", ",")),
        header=options.get("header") is True,
    )


class _CsvWriter:
    def __init__(self, encoder: CsvEncoder, file: IO[bytes]) -> None:
        self._encoder = encoder
        self._file = file
        self._started = False

    def add(self, rows: RowColumns) -> None:
        lines = self._encoder.lines(rows)
        if self._encoder.header and not self._started:
            self._file.write(self._encoder.heading(rows))
        self._started = True
        self._file.write(bytes_of(lines))

    def close(self) -> None:
        pass
