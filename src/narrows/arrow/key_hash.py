"""A number for each row that depends on the values of some columns, and on nothing else
(`key_hashes`); or that is the same in rows with the same values, among those that are there.

Rows with the same values have the same number, in whichever task, batch or run: so it says where
their groups are kept. The sum over the bytes of a text, each times a power of an odd number by its
place, is what can be had for all texts of a column at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_Hashes: TypeAlias = npt.NDArray[np.uint64]

_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_NULL = np.uint64(0x5851F42D4C957F2D)
_SHIFT = np.uint64(29)


def key_hashes(columns: Sequence[pa.Array], rows: int) -> _Hashes:
    """For each row the number of its values."""
    made = np.zeros(rows, np.uint64)
    for column in columns:
        hashes = _hashes(column)
        if column.null_count:
            hashes = np.where(np.asarray(column.is_valid()), hashes, _NULL)
        made = _mixed(made * _FACTOR + hashes)
    return made


def key_numbers(columns: Sequence[pa.Array], rows: int) -> npt.NDArray[np.int64]:
    """For each row a small number: the same where the values are the same, here and now."""
    made = np.zeros(rows, np.int64)
    for column in columns:
        encoded = column.dictionary_encode(null_encoding="encode")
        places = np.asarray(encoded.indices, dtype=np.int64)
        made = made * max(len(encoded.dictionary), 1) + places
        if len(columns) > 1:  # or numbers might get too large
            made = np.unique(made, return_inverse=True)[1]
    return made


def _mixed(hashes: _Hashes) -> _Hashes:
    """The same numbers, with all their bits depending on all others."""
    hashes = (hashes ^ (hashes >> _SHIFT)) * _FACTOR
    return hashes ^ (hashes >> _SHIFT)


def _hashes(column: pa.Array) -> _Hashes:
    if pa.types.is_string(column.type) or pa.types.is_binary(column.type):
        return _of_texts(column)
    if pa.types.is_decimal128(column.type):
        halves = np.frombuffer(column.buffers()[1], np.uint64).reshape(-1, 2)
        halves = halves[column.offset : column.offset + len(column)]
        return np.asarray(halves[:, 0] * _FACTOR + halves[:, 1])
    if pa.types.is_date32(column.type):
        column = column.cast(pa.int32())
    numbers = column.cast(pa.int64())
    return np.asarray(numbers.fill_null(0) if column.null_count else numbers).view(np.uint64)


def _of_texts(column: pa.Array) -> _Hashes:
    made = np.zeros(len(column), np.uint64)
    _, offsets, data = column.buffers()
    if not len(column) or data is None:
        return made
    bounds = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1]
    first = bounds[0]
    lengths = np.diff(bounds)
    filled = lengths > 0
    if not filled.any():
        return made
    starts = (bounds[:-1] - first)[filled]
    letters = np.frombuffer(data, np.uint8)[first : bounds[-1]].astype(np.uint64)
    places = np.arange(len(letters)) - np.repeat(starts, lengths[filled])
    powers = np.full(int(lengths.max()), _FACTOR)
    powers[0] = 1
    powers = np.multiply.accumulate(powers)
    made[filled] = np.add.reduceat((letters + np.uint64(1)) * powers[places], starts)
    return made
