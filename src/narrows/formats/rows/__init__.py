"""Rows as they are: Arrow files that a pipeline wrote for another one. Nothing is decoded.

No statement names it: it is what streams of topics in memory are read as.
"""

from __future__ import annotations

from collections.abc import Mapping

from narrows.formats.base import Format
from narrows.formats.decoder import ContainerReader
from narrows.plugins.declared import Container


def _reader(options: Mapping[str, object]) -> ContainerReader:
    from narrows.formats.rows.reader import RowsReader

    return RowsReader()


FORMAT = Format(
    name="rows",
    by_statement=False,
    source_options=(),
    framing=Container(range_bytes=1 << 62, columnar=True),
    reader=_reader,
)
