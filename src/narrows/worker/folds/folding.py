"""What a family of folds has to say: what it is of one row, and what it makes of many.

Folding is done by one call of Arrow's for all columns; so a family says what it *asks* of that, and
makes its column of the answer. A row is a partial result of itself, and what was folded before is
folded again in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import pyarrow as pa
import pyarrow.compute as pc

LIST = "list"
"""The one of Arrow's calls that needs keys."""


class Asked(NamedTuple):
    """What Arrow is to compute for each group."""

    call: str
    of: pa.ChunkedArray | None = None
    """None: of the numbers of rows, from 0."""


class Folding(Protocol):
    def alone(
        self, values: pa.Array, taken: pa.Array | None, beside: Sequence[pa.Array]
    ) -> pa.Array:
        """What it is of each row by itself; `taken` are the rows that count, None: all."""

    def asked(self, values: pa.ChunkedArray, beside: Sequence[pa.ChunkedArray]) -> Asked: ...

    def folded(
        self,
        answer: pa.ChunkedArray,
        values: pa.ChunkedArray,
        beside: Sequence[pa.ChunkedArray],
        made: Sequence[pa.ChunkedArray],
    ) -> pa.ChunkedArray:
        """A value for each group, of the type of values; `made` is what those beside it have come
        to."""


def only(taken: pa.Array | None, values: pa.Array) -> pa.Array:
    """NULL in place of values that do not count."""
    return values if taken is None else pc.if_else(taken, values, pa.scalar(None, values.type))
