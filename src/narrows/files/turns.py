"""Which entry of the log of files a query reads next: a folder of tiny files, one for each entry.

    000000000012.turn       "12 0 2 0", "12 1 2 0": entry 12, for tasks 0 and 1 of 2, not the last

Spark watches the folder with its own file source, a file for each micro-batch, and keeps in its
checkpoint which it has taken. So the driver needs no Python process of Spark's to ask what to read,
which would take longer to start than a million payloads take to decode.

Spark goes by the time of change: it takes the oldest first, and forgets what it has taken days
before the newest. So every turn is later than the one before, whatever the clock says, and has its
time before it has its name. The newest turn is never removed: it says what has been given.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence
from pathlib import Path

from narrows.files.atomic import replace_synced, sweep, temporary_for, write_synced
from narrows.files.file_log import EMPTY

_SUFFIX = ".turn"
_MILLISECOND = 1_000_000
_GOES_ON, _IS_LAST = 0, 1


class Turns:
    """The turns in a folder. One process gives them, see the lock of the state folder."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = Path(folder)
        self._folder.mkdir(parents=True, exist_ok=True)
        sweep(self._folder)
        self._given = sorted(
            int(path.stem) for path in self._folder.glob(f"*{_SUFFIX}") if path.stem.isdecimal()
        )
        self._time = self._path(self.last).stat().st_mtime_ns if self._given else 0

    @property
    def last(self) -> int:
        """The entry whose turn was given last; -1 when there is none."""
        return self._given[-1] if self._given else EMPTY

    def give(self, entry: int, tasks: int) -> None:
        """Says that it is an entry's turn, to be read by so many tasks."""
        now = time.time_ns() // _MILLISECOND * _MILLISECOND
        self._time = max(now, self._time + _MILLISECOND)
        self._write(entry, [f"{entry} {task} {tasks} {_GOES_ON}" for task in range(tasks)])
        self._given.append(entry)

    def set_end(self, *, is_last: bool) -> None:
        """Says whether the newest turn is the end of the input; if it has been read, that is all
        the same."""
        if self._given:
            now = self._path(self.last).read_text("ascii").splitlines()
            mark = _IS_LAST if is_last else _GOES_ON
            wanted = [f"{line.rpartition(' ')[0]} {mark}" for line in now]
            if now != wanted:
                self._write(self.last, wanted)

    def _write(self, entry: int, lines: Sequence[str]) -> None:
        temporary = temporary_for(self._path(entry))
        write_synced(temporary, "".join(f"{line}\n" for line in lines).encode("ascii"))
        os.utime(temporary, ns=(self._time, self._time))
        replace_synced(temporary, self._path(entry))

    def forget(self, before: int) -> None:
        """Removes turns that have been read and will never be asked for again."""
        while len(self._given) > 1 and self._given[0] < before:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._path(self._given[0]))
            del self._given[0]

    def _path(self, entry: int) -> Path:
        return self._folder / f"{entry:012d}{_SUFFIX}"
