"""The newest event time that tasks have read of a stream, for those who close windows in the end.

A watermark follows the stream that is behind all others. Where windows stand above several streams
nobody can tell from it how far the others have come, so the tasks that read them leave it here:

    newest/<pipeline>/<source>/0.json      by task 0, of all that it has read so far

A file that is damaged, or gone, says nothing: then only the watermark counts.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from narrows.errors import NarrowsError
from narrows.files.small import read_small, write_small
from narrows.worker.event_time import EventTime, newest_of

_MAGIC = "narrows-newest-1"


class NewestTime:
    """What one task has seen; without a folder nobody wants to know."""

    def __init__(self, folder: str | None, task: int, event_time: EventTime | None) -> None:
        self._path = None if folder is None else Path(folder) / f"{task}.json"
        self._event_time = event_time
        self._newest = 0

    def see(self, rows: pa.RecordBatch) -> None:
        if self._path is not None and self._event_time is not None:
            times = rows.column(self._event_time.place)
            self._newest = max(self._newest, newest_of(times, self._event_time.unit))

    def save(self) -> None:
        """A batch that is run again leaves the same."""
        if self._path is not None and self._newest > _left(self._path):
            write_small(self._path, _MAGIC, self._newest)


def newest_time(folder: Path) -> int:
    """What the tasks of all of a pipeline's sources have left, in milliseconds; 0 for nothing."""
    return max((_left(path) for path in folder.glob("*/*.json")), default=0)


def newest_of_stream(folder: Path) -> int:
    """The same of one source."""
    return max((_left(path) for path in folder.glob("*.json")), default=0)


def _left(path: Path) -> int:
    try:
        left = read_small(path, _MAGIC, "the newest event time", "remove it")
    except NarrowsError:
        return 0
    return 0 if left is None else int(left)
