"""Record batches of the columns of a projection."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from narrows.projection.columns import DecodeProjection


def batch_of(
    projection: DecodeProjection, columns: Sequence[pa.Array], rows: int
) -> pa.RecordBatch:
    """The columns, in the projection's order, as a batch.

    A batch without columns still has rows, for they may be all that is asked: `count(*)`. Arrow
    can say that, but only in this roundabout way.
    """
    if not columns:
        empty = pa.StructArray.from_buffers(pa.struct([]), rows, [None])
        return pa.RecordBatch.from_struct_array(empty)
    return pa.RecordBatch.from_arrays(columns, names=[c.text for c in projection.columns])
