"""Texts that are made of rows (`plugins/row_text.py`), a column of them at a time."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from narrows.arrow.value_text import scalar_text
from narrows.plugins.row_text import Column, RowText


def row_texts(
    text: RowText, column: Callable[[str], pa.Array], rows: int, zone: str, null: str | None = None
) -> pa.Array:
    """The text of each row, as bytes; `column` finds the values of a column by its name.

    What stands for a value that is NULL is `null`; without it the whole text is NULL then. A column
    that is the whole text may be binary: its bytes are what is made.
    """
    constant = text.constant
    if constant is not None:
        return pa.repeat(pa.scalar(constant.encode(), pa.binary()), rows)
    if len(text.pieces) == 1:
        whole = column(text.columns[0])
        if pa.types.is_binary(whole.type) or pa.types.is_large_binary(whole.type):
            return _filled(whole.cast(pa.binary()), null)
    pieces = [
        _filled(_text(column(piece.name), zone), null) if isinstance(piece, Column) else piece
        for piece in text.pieces
    ]
    return pc.binary_join_element_wise(*pieces, "").cast(pa.binary())


def _text(column: pa.Array, zone: str) -> pa.Array:
    text = scalar_text(column, zone)
    return column.cast(pa.string()) if text is None else text


def _filled(column: pa.Array, null: str | None) -> pa.Array:
    return column if null is None else column.fill_null(pa.scalar(null, column.type))
