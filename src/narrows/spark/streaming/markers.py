"""Which entry of the log a query reads next: a folder of markers, one for each entry.

    000000000012.marker     "12 0 2 0", "12 1 2 0": entry 12, for tasks 0 and 1 of 2, not the last

Spark watches the folder with its own file source, a marker for each micro-batch, and keeps in its
checkpoint which it has taken. So the driver needs no Python process of Spark's to ask what to read,
which would take longer to start than a million payloads take to decode.

A marker is there from when its entry was taken into the log until the checkpoint says that what it
names is published (`run/checkpoint.py`): one that is gone cannot be read twice, one that is there
will be read. Spark takes the oldest first, by the time of change. So every marker is later than all
before it, whatever the clock says; and since a restored folder has whatever times its copy got, the
markers that wait get new ones before a query starts.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence
from pathlib import Path

from narrows.connectors.entry_log import EMPTY
from narrows.files.atomic import replace_synced, sweep, temporary_for, write_synced

_SUFFIX = ".marker"
_MILLISECOND = 1_000_000
_GOES_ON, _IS_LAST = 0, 1


def entry_of(name: str) -> int | None:
    """The entry that a marker of this name stands for; None when it is no marker's name."""
    stem, suffix = os.path.splitext(name)
    return int(stem) if suffix == _SUFFIX and stem.isdecimal() else None


def waiting_in(folder: Path) -> list[int]:
    """The entries that have a marker there, in order."""
    found = (entry_of(name) for name in os.listdir(folder)) if folder.is_dir() else ()
    return sorted(entry for entry in found if entry is not None)


class Markers:
    """The markers in a folder. One process gives them, see the lock of the state folder."""

    def __init__(
        self, folder: str | os.PathLike[str], committed: int = EMPTY, newest_ms: int = 0
    ) -> None:
        """Entries up to `committed` have been read: their markers go. `newest_ms` is the time of
        the newest marker that was taken."""
        self._folder = Path(folder)
        self._folder.mkdir(parents=True, exist_ok=True)
        sweep(self._folder)
        self._time = newest_ms * _MILLISECOND
        self._committed = committed
        self._waiting = waiting_in(self._folder)
        self.forget(committed)

    @property
    def last(self) -> int:
        """The newest entry that was given a marker; -1 when there is none."""
        return self._waiting[-1] if self._waiting else self._committed

    @property
    def waiting(self) -> Sequence[int]:
        """The entries that were given their turn and are not known to have been read."""
        return tuple(self._waiting)

    def is_intact(self, entry: int) -> bool:
        """Does a marker say what it was made to say? An empty one would be read as no rows."""
        try:
            lines = self._path(entry).read_text("ascii").splitlines()
        except (OSError, UnicodeDecodeError):
            return False
        marks = (_GOES_ON, _IS_LAST)
        return any(
            lines == _lines(entry, len(lines), is_last=bool(mark)) for mark in marks if lines
        )

    def give(self, entry: int, tasks: int) -> None:
        """Says that it is an entry's turn, to be read by so many tasks."""
        self._next_time()
        self._write(entry, _lines(entry, tasks, is_last=False))
        if entry not in self._waiting:
            self._waiting = sorted([*self._waiting, entry])

    def put_in_order(self) -> None:
        """Gives the markers that wait new times, later than those of all that were taken."""
        for entry in self._waiting:
            at = self._next_time()
            os.utime(self._path(entry), ns=(at, at))

    def set_end(self, *, is_last: bool) -> None:
        """Says whether the newest entry is the end of the input; if it has been read, that is all
        the same."""
        if self._waiting:
            now = self._path(self.last).read_text("ascii").splitlines()
            wanted = _lines(self.last, len(now), is_last=is_last)
            if now != wanted:
                self._write(self.last, wanted)

    def forget(self, committed: int) -> None:
        """Removes the markers of entries that are published, and will never be read again."""
        while self._waiting and self._waiting[0] <= committed:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._path(self._waiting[0]))
            del self._waiting[0]
        self._committed = max(self._committed, committed)

    def _next_time(self) -> int:
        now = time.time_ns() // _MILLISECOND * _MILLISECOND
        self._time = max(now, self._time + _MILLISECOND)
        return self._time

    def _write(self, entry: int, lines: Sequence[str]) -> None:
        temporary = temporary_for(self._path(entry))
        write_synced(temporary, "".join(f"{line}\n" for line in lines).encode("ascii"))
        os.utime(temporary, ns=(self._time, self._time))
        replace_synced(temporary, self._path(entry))

    def _path(self, entry: int) -> Path:
        return self._folder / f"{entry:012d}{_SUFFIX}"


def _lines(entry: int, tasks: int, *, is_last: bool) -> list[str]:
    mark = _IS_LAST if is_last else _GOES_ON
    return [f"{entry} {task} {tasks} {mark}" for task in range(tasks)]
