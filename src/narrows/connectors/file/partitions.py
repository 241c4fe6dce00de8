"""Rows by partition: `partition_by = 'site, day'`.

    {"site": "a", "day": "2026-11-15", "v": 1}   ->   site=a/day=2026-11-15/: {"v": 1}

Folders are named as Hive names them, so whoever reads partitioned files (Spark, DuckDB, pyarrow,
...) finds the columns again, and skips what it does not want. What Hive escapes is escaped: a value
never leaves the sink's folder. NULL and the empty string are `__HIVE_DEFAULT_PARTITION__`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from narrows.arrow.value_text import scalar_text
from narrows.connectors.row_texts import column_of
from narrows.connectors.target import SinkTarget
from narrows.plugins.row_text import columns_of_list

PARTITION_BY = "partition_by"
NOTHING = "__HIVE_DEFAULT_PARTITION__"
_ESCAPED = re.compile(r"""[\x00-\x1f\x7f"#%'*/:=?\\{}\[\]^]""")
_LONGEST = 255
"""Bytes of a name, on the usual file systems."""


class Partitions:
    """The partitions of one sink; one without `partition_by` has one, its folder."""

    def __init__(self, target: SinkTarget) -> None:
        options = dict(target.options)
        self._zone = str(options.get("timezone", "UTC"))
        names = columns_of_list(str(options.get(PARTITION_BY) or ""))
        self._columns = {name: column_of(target, name) for name in names}

    @property
    def columns(self) -> frozenset[str]:
        """What the columns are called in the rows of a task."""
        return frozenset(self._columns.values())

    def split(self, rows: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Rows by the folder that they go to, in the order they have. Raises ValueError if a row
        has no folder."""
        if not self._columns or not rows.num_rows:
            yield "", rows
            return
        folders = self._folders(rows).dictionary_encode()
        names = folders.dictionary.to_pylist()
        if len(names) == 1:
            yield names[0], rows
            return
        order = pc.sort_indices(folders.indices)  # which keeps the order of equal ones
        sorted_rows = rows.take(order)
        start = 0
        for count in pc.value_counts(folders.indices.take(order)):
            length = count["counts"].as_py()
            yield names[count["values"].as_py()], sorted_rows.slice(start, length)
            start += length

    def _folders(self, rows: pa.RecordBatch) -> pa.Array:
        levels = [self._level(name, rows.column(column)) for name, column in self._columns.items()]
        return levels[0] if len(levels) == 1 else pc.binary_join_element_wise(*levels, "/")

    def _level(self, name: str, column: pa.Array) -> pa.Array:
        text = scalar_text(column, self._zone)
        texts = (column.cast(pa.string()) if text is None else text).dictionary_encode()
        folders = [_folder(name, value) for value in texts.dictionary.to_pylist()]
        found = pa.array(folders, pa.string()).take(texts.indices)
        return found.fill_null(_folder(name, None))


def _folder(column: str, value: str | None) -> str:
    """
    >>> _folder("site", "a/../b"), _folder("site", None)
    ('site=a%2F..%2Fb', 'site=__HIVE_DEFAULT_PARTITION__')
    """
    folder = f"{_escaped(column)}={_escaped(value) if value else NOTHING}"
    if len(folder.encode("utf-8")) > _LONGEST:
        raise ValueError(f"the value of `{column}` is too long for the name of a folder")
    return folder


def _escaped(text: str) -> str:
    return _ESCAPED.sub(lambda found: f"%{ord(found[0]):02X}", text)
