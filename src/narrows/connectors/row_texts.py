"""Texts that are made of rows (`plugins/row_text.py`), for sinks: a column of them at a time."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from narrows.arrow.value_text import scalar_text
from narrows.connectors.target import SinkTarget
from narrows.plugins.row_text import Column, RowText


class RowTexts:
    """Makes a text for each row. NULL where one of its columns is: that is for the sink to judge.

    A column that is the whole text may be binary: then its bytes are what is made.
    """

    def __init__(self, text: RowText, target: SinkTarget) -> None:
        self._zone = str(dict(target.options).get("timezone", "UTC"))
        self._pieces = [
            column_of(target, piece.name) if isinstance(piece, Column) else piece
            for piece in text.pieces
        ]
        self._columns = [isinstance(piece, Column) for piece in text.pieces]

    def of(self, rows: pa.RecordBatch) -> pa.Array:
        """As bytes, one for each row."""
        if self._columns == [True]:
            column = rows.column(self._pieces[0])
            if pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
                return column.cast(pa.binary())
        pieces = [
            self._text(rows.column(piece)) if is_column else piece
            for piece, is_column in zip(self._pieces, self._columns, strict=True)
        ]
        if not any(self._columns):
            return pa.repeat(pa.scalar("".join(pieces).encode(), pa.binary()), rows.num_rows)
        return pc.binary_join_element_wise(*pieces, "").cast(pa.binary())

    def _text(self, column: pa.Array) -> pa.Array:
        text = scalar_text(column, self._zone)
        return column.cast(pa.string()) if text is None else text


def column_of(target: SinkTarget, name: str) -> str:
    """What a column of the query is called in the rows that a task gets."""
    by_name = {part.name: part.column for part in target.parts if part.fragment is None}
    folded = {part.casefold(): column for part, column in by_name.items()}
    return by_name.get(name) or folded[name.casefold()]
