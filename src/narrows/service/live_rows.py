"""The rows that a pipeline publishes, for whoever watches: read off the files of its sinks.

What is published under the same name again - a batch that was run again after a crash - is the
same rows, and is not shown twice.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from narrows.catalog.objects import Pipeline, Sink
from narrows.connectors.base import find_connector
from narrows.errors import Code, fail
from narrows.files.names import file_name
from narrows.formats.base import find_format
from narrows.planner.catalog import Catalog
from narrows.plugins.declared import Lines
from narrows.state.folder import StateFolder

_MOST = 1000
"""Rows that one look gives, at most: whoever watches wants the newest."""


class LiveRows:
    def __init__(self, catalog: Catalog, state: StateFolder, pipeline: Pipeline, last: int) -> None:
        sinks = [catalog.sink(name) for name in pipeline.sinks]
        watched = [sink for sink in sinks if _can_be_watched(sink)]
        if not watched:
            raise fail(
                Code.NOT_SUPPORTED,
                f"the rows of pipeline `{pipeline.name}` cannot be watched: its sinks write no"
                " lines into files",
                hint="let it write to a second sink, too: `CREATE SINK watched WITH (connector ="
                " 'memory')`",
            )
        self._folders = {
            sink.name: Path(
                find_connector(sink.connector).place(sink.options, str(state.rows(sink.name)))
            )
            for sink in watched
        }
        self._mine = re.compile(rf"{re.escape(file_name(pipeline.name))}-[0-9]{{10}}-[0-9]+\..+")
        self._seen: set[Path] = set()
        self._limit = last

    def new(self) -> Iterator[dict[str, Any]]:
        """What has been published since the last look: `{"sink": ..., "row": ...}`."""
        rows: deque[dict[str, Any]] = deque(maxlen=self._limit)
        for sink, folder in self._folders.items():
            for path in self._unseen(folder):
                self._seen.add(path)
                rows.extend({"sink": sink, "row": row} for row in _rows_in(path))
        self._limit = _MOST
        yield from rows

    def _unseen(self, folder: Path) -> list[Path]:
        if not folder.is_dir():
            return []
        found = (path for path in folder.rglob("*") if self._mine.fullmatch(path.name))
        return sorted((path for path in found if path not in self._seen), key=lambda p: p.name)


def _can_be_watched(sink: Sink) -> bool:
    lines = sink.takes_rows or isinstance(find_format(sink.format).framing, Lines)
    return lines and find_connector(sink.connector).can_be_watched(sink.options)


def _rows_in(path: Path) -> Iterator[Any]:
    try:
        lines = path.read_text("utf-8", "replace").splitlines()
    except OSError:
        return  # it is just being replaced, or somebody has taken it away
    for line in lines:
        try:
            yield json.loads(line)
        except ValueError:
            yield line
