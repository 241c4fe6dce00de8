"""A row as a text of its own making: `template = '{device} is at {temperature}'`.

    {"device": "a7", "temperature": 21.5}   ->   a7 is at 21.5

A value stands there as CSV writes it, without quotes; NULL is nothing. A line end in a value, or in
the template, stands there as well: what reads the lines again must know.
"""

from __future__ import annotations

from typing import IO

import pyarrow as pa
import pyarrow.compute as pc

from narrows.arrow.row_texts import row_texts
from narrows.arrow.value_text import bytes_of
from narrows.formats.base import OptionMap
from narrows.formats.encoder import RowColumns, Values
from narrows.plugins.row_text import parse_row_text


class TextEncoder:
    def __init__(self, options: OptionMap) -> None:
        self._template = parse_row_text(str(options["template"]))
        self._zone = str(options.get("timezone", "UTC"))

    def open(self, file: IO[bytes]) -> _TextWriter:
        return _TextWriter(self, file)

    def messages(self, rows: RowColumns) -> pa.Array:
        """The text of each row."""
        columns = {part.name: part.array for part in rows if isinstance(part, Values)}
        folded = {name.casefold(): array for name, array in columns.items()}

        def column(name: str) -> pa.Array:
            return columns[name] if name in columns else folded[name.casefold()]

        count = len(next(iter(columns.values())))
        return row_texts(self._template, column, count, self._zone, null="")


class _TextWriter:
    def __init__(self, encoder: TextEncoder, file: IO[bytes]) -> None:
        self._encoder = encoder
        self._file = file

    def add(self, rows: RowColumns) -> None:
        texts = self._encoder.messages(rows)
        self._file.write(bytes_of(pc.binary_join_element_wise(texts, b"\n", b"")))

    def close(self) -> None:
        pass
