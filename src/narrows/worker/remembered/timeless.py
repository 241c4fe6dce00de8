"""What remembers rows, all of them, and does not care what time it is, nor whether more will
come."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa


class Timeless:
    def needed(self, rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return rows

    def in_time(self, table: pa.Table, since: int) -> pa.Table:
        return table

    def advance(self, kept: Sequence[Any], until: int | None) -> None:
        return None

    def due(self, kept: Any) -> int | None:
        return None
