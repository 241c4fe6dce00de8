"""Texts that are made of rows (`plugins/row_text.py`), for sinks: where they go, what they are
called."""

from __future__ import annotations

import pyarrow as pa

from narrows.arrow.row_texts import row_texts
from narrows.connectors.target import SinkTarget
from narrows.plugins.row_text import RowText


class RowTexts:
    """Makes a text for each row. NULL where one of its columns is: that is for the sink to judge.

    A column that is the whole text may be binary: then its bytes are what is made.
    """

    def __init__(self, text: RowText, target: SinkTarget) -> None:
        self._zone = str(dict(target.options).get("timezone", "UTC"))
        self._text = text
        self._columns = {name: column_of(target, name) for name in text.columns}

    def of(self, rows: pa.RecordBatch) -> pa.Array:
        """As bytes, one for each row."""
        return row_texts(
            self._text, lambda name: rows.column(self._columns[name]), rows.num_rows, self._zone
        )


def column_of(target: SinkTarget, name: str) -> str:
    """What a column of the query is called in the rows that a task gets."""
    by_name = {part.name: part.column for part in target.parts if part.fragment is None}
    folded = {part.casefold(): column for part, column in by_name.items()}
    return by_name.get(name) or folded[name.casefold()]
