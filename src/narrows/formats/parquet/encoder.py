"""Rows as a Parquet file.

Rows are gathered until they fill a row group, so memory is bounded by one of those.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq

from narrows.formats.base import OptionMap
from narrows.formats.encoder import RowColumns, Values

_GROUP_ROWS = 1 << 17
_GROUP_BYTES = 128 << 20


@dataclass(frozen=True)
class ParquetEncoder:
    compression: str = "zstd"

    def open(self, file: IO[bytes]) -> _ParquetWriter:
        return _ParquetWriter(self.compression, file)


def make(options: OptionMap) -> ParquetEncoder:
    return ParquetEncoder(str(options.get("compression", "zstd")))


class _ParquetWriter:
    def __init__(self, compression: str, file: IO[bytes]) -> None:
        self._compression = compression
        self._file = file
        self._writer: pq.ParquetWriter | None = None
        self._waiting: list[pa.RecordBatch] = []

    def add(self, rows: RowColumns) -> None:
        arrays, names = [], []
        for part in rows:
            assert isinstance(part, Values)
            arrays.append(part.array)
            names.append(part.name)
        self._waiting.append(pa.RecordBatch.from_arrays(arrays, names=names))
        count = sum(int(batch.num_rows) for batch in self._waiting)
        if count >= _GROUP_ROWS or sum(int(b.nbytes) for b in self._waiting) >= _GROUP_BYTES:
            self._write_group()

    def close(self) -> None:
        if self._waiting:
            self._write_group()
        if self._writer is not None:
            self._writer.close()

    def _write_group(self) -> None:
        table = pa.Table.from_batches(self._waiting)
        if self._writer is None:
            self._writer = pq.ParquetWriter(self._file, table.schema, compression=self._compression)
        self._writer.write_table(table, row_group_size=max(1, table.num_rows))
        self._waiting = []
