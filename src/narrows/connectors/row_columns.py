"""Rows that tasks of a sink get, as its encoder takes them."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from narrows.connectors.target import RowPart
from narrows.formats.encoder import Encoded, RowColumns, Values


def row_columns(parts: Sequence[RowPart], rows: pa.RecordBatch) -> RowColumns:
    columns: list[Values | Encoded] = []
    for part in parts:
        array = rows.column(part.column)
        if pa.types.is_large_string(array.type):
            array = array.cast(pa.string())
        if part.fragment is not None:
            columns.append(Encoded(part.fragment, array))
        else:
            changed = None if part.changed is None else rows.column(part.changed)
            columns.append(Values(part.name, array, changed))
    return columns
