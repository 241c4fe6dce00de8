"""Ranges of files read as a task reads them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from narrows.connectors.base import Share
from narrows.files.ranges import FileRange
from narrows.worker.counts import ReadCounts
from narrows.worker.read import read_share
from narrows.worker.read_spec import ReadSpec


def read_ranges(
    spec: ReadSpec, ranges: Sequence[FileRange], total: ReadCounts | None = None, batch: int = 0
) -> Iterator[pa.RecordBatch]:
    return read_share(spec, Share(ranges, range(len(ranges))), batch, total)
