"""Parquet files, put together: row groups are written anew, and are as large as they can be."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq

from narrows.formats.base import Join

_GROUP_ROWS = 1 << 17
_GROUP_BYTES = 128 << 20


def joining(compression: str) -> Join:
    def join(files: Sequence[Path], into: IO[bytes]) -> int:
        schema = pq.read_schema(files[0])
        waiting: list[pa.Table] = []
        with pq.ParquetWriter(into, schema, compression=compression) as writer:
            for number, path in enumerate(files):
                with pq.ParquetFile(path) as file:
                    if not file.schema_arrow.equals(schema):
                        _write(writer, waiting)
                        return number
                    for group in range(file.num_row_groups):
                        waiting.append(file.read_row_group(group))
                        if _is_enough(waiting):
                            _write(writer, waiting)
            _write(writer, waiting)
        return len(files)

    return join


def _is_enough(tables: Sequence[pa.Table]) -> bool:
    rows = sum(int(table.num_rows) for table in tables)
    return rows >= _GROUP_ROWS or sum(int(table.nbytes) for table in tables) >= _GROUP_BYTES


def _write(writer: pq.ParquetWriter, waiting: list[pa.Table]) -> None:
    if waiting:
        table = pa.concat_tables(waiting)
        writer.write_table(table, row_group_size=max(1, table.num_rows))
        waiting.clear()
