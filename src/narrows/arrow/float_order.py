"""Floating numbers as whole numbers that are ordered as Spark orders floating ones: NaN is the
largest of them.

The bits of a positive number are in order already, those of a negative one in the opposite.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

_WHOLE = {pa.float32(): pa.int32(), pa.float64(): pa.int64()}


def in_order(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """-0.0 is right before 0.0, to which Spark says that it is equal."""
    numbers = pc.if_else(pc.is_nan(values), pa.scalar(float("nan"), values.type), values)
    return _turned(_viewed(numbers, _WHOLE[values.type]))


def as_floats(values: pa.ChunkedArray, dtype: pa.DataType) -> pa.ChunkedArray:
    """The numbers again."""
    return _viewed(_turned(values), dtype)


def _turned(bits: pa.ChunkedArray) -> pa.ChunkedArray:
    largest = pa.scalar(2 ** (bits.type.bit_width - 1) - 1, bits.type)
    turned = pc.bit_wise_xor(bits, largest)
    return pc.if_else(pc.less(bits, pa.scalar(0, bits.type)), turned, bits)


def _viewed(values: pa.ChunkedArray, dtype: pa.DataType) -> pa.ChunkedArray:
    return pa.chunked_array([chunk.view(dtype) for chunk in values.chunks], dtype)
