"""Strings many columns of few rows together, row by row.

A kernel of Arrow's costs some microseconds a call, whatever the size of the column. With 15 000
columns of a hundred rows that would be all of the time. So columns of one type are laid on top of
each other and encoded as one column; then the texts are brought into the order of the rows:

    a: 1 2    b: 3 4      ->   ,"a":1  ,"a":2  ,"b":3  ,"b":4   ->   ,"a":1,"b":3   ,"a":2,"b":4
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_MANY_COLUMNS = 32
_FEW_ROWS = 1_024
_SLICE_ROWS = 256

EncodeFields = Callable[[pa.Array, pa.Array], pa.Array]
"""From what each field starts with, and its values, to its text; never NULL."""


def worth_stacking(columns: int, rows: int) -> bool:
    return columns >= _MANY_COLUMNS and rows <= _FEW_ROWS


def stacked_fields(
    starts: Sequence[str], columns: Sequence[pa.Array], encode: EncodeFields
) -> pa.Array:
    """For every row the texts of its fields, one after the other."""
    rows = len(columns[0])
    parts = [
        _stacked(starts, [column.slice(first, _SLICE_ROWS) for column in columns], encode)
        for first in range(0, rows, _SLICE_ROWS)
    ]
    return pa.concat_arrays(parts) if parts else pa.array([], pa.string())


def _stacked(starts: Sequence[str], columns: Sequence[pa.Array], encode: EncodeFields) -> pa.Array:
    rows, count = len(columns[0]), len(columns)
    by_type: dict[pa.DataType, list[int]] = {}
    for place, column in enumerate(columns):
        by_type.setdefault(column.type, []).append(place)
    order = [place for places in by_type.values() for place in places]
    texts = []
    for places in by_type.values():
        values = pa.concat_arrays([columns[place] for place in places])
        names = pa.array([starts[place] for place in places], pa.string())
        texts.append(encode(names.take(pa.array(np.repeat(np.arange(len(places)), rows))), values))
    lies_at = np.empty(count, np.int64)
    lies_at[np.array(order)] = np.arange(count)
    by_rows = (lies_at[None, :] * rows + np.arange(rows)[:, None]).ravel()
    fields = pa.concat_arrays(texts).take(pa.array(by_rows))
    ends = pa.array(np.arange(rows + 1) * count, pa.int32())
    return pc.binary_join(pa.ListArray.from_arrays(ends, fields), "")
