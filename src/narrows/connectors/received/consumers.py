"""Who reads a log of received payloads, and how far each has come.

A segment goes when everybody has read it. Everybody is whoever has begun to read, whether it runs
now or not: a pipeline that stands still for a week finds what came meanwhile. `narrows reset` ends
that.
"""

from __future__ import annotations

import threading
from pathlib import Path

from narrows.files.small import read_small, write_small

_MAGIC = "narrows-consumers-1"
_FILE = "consumers.json"
_WHAT = "the file that says how far pipelines have read what was received"
_HINT = "restore the state folder from a backup"
_LOCK = threading.Lock()
"""For all logs of this process: several pipelines of it read one log, and what they change is
small. Other processes keep out, see the lock of the state folder."""


class Consumers:
    def __init__(self, folder: Path) -> None:
        self._path = folder / _FILE

    def positions(self) -> dict[str, int]:
        """For each consumer, the number of the first payload that it has not read."""
        found: dict[str, int] | None = read_small(self._path, _MAGIC, _WHAT, _HINT)
        return found or {}

    def begin(self, consumer: str, position: int) -> int:
        """Where a consumer begins: at this payload, unless it has begun before."""
        with _LOCK:
            known = self.positions()
            if consumer not in known:
                write_small(self._path, _MAGIC, {**known, consumer: position})
            return known.get(consumer, position)

    def advance(self, consumer: str, position: int) -> None:
        """A consumer has read everything before this payload."""
        with _LOCK:
            known = self.positions()
            if known.get(consumer, -1) < position:
                write_small(self._path, _MAGIC, {**known, consumer: position})

    def forget(self, prefix: str) -> None:
        """Ends consumers whose names begin so: nobody keeps anything for them."""
        with _LOCK:
            known = self.positions()
            kept = {name: at for name, at in known.items() if not name.startswith(prefix)}
            if kept != known:
                write_small(self._path, _MAGIC, kept)

    def passed(self) -> int | None:
        """Everybody has read what stands before this payload; None if there is nobody."""
        return min(self.positions().values(), default=None)
