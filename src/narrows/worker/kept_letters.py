"""Which dead letters of a source are kept when there may be no more than so many.

The newest are: those that were found last, range by range; of a single range, the first. What goes
is counted, as long as there is a limit. An index says how many letters each file has, and in which
order the files came: their times say that only until somebody copies the folder.

    .kept.json   {"files": [["4f0c...ndjson", 12], ...], "gone": 340}

Several tasks publish at a time, so the index is changed under a lock. One that is lost or damaged
is made anew of the files that are there: no letter is lost by that, only the count of what went.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from narrows.files.atomic import write_atomically

_INDEX, _LOCK = ".kept.json", ".kept.lock"


class KeptLetters:
    def __init__(self, folder: Path, most: int) -> None:
        self._folder = folder
        self._most = most

    def publish(self, temporary: Path, name: str, letters: int, beyond: int) -> None:
        """Gives the letters of a range their name, and removes what is too many then.

        `beyond` are those of the range that were not even written. A range that is read again has
        been counted, if its letters are still there.
        """
        with self._locked():
            files, gone = _index(self._folder)
            gone += 0 if name in files else beyond
            os.replace(temporary, self._folder / name)
            files.pop(name, None)
            files[name] = letters
            total = sum(files.values())
            for oldest in list(files):
                if total <= self._most:
                    break
                with suppress(FileNotFoundError):
                    (self._folder / oldest).unlink()
                count = files.pop(oldest)
                total, gone = total - count, gone + count
            index = {"files": list(files.items()), "gone": gone}
            write_atomically(self._folder / _INDEX, json.dumps(index).encode())

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with (self._folder / _LOCK).open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def letters_gone(folder: Path) -> int:
    """How many dead letters were found and are not kept."""
    found = _read(folder)
    return 0 if found is None else int(found["gone"])


def _index(folder: Path) -> tuple[dict[str, int], int]:
    """The files and how many letters each has, the oldest first; and how many letters are gone."""
    found = _read(folder)
    known = {} if found is None else {str(name): int(count) for name, count in found["files"]}
    there = {path.name: path for path in folder.glob("[!.]*.ndjson")}
    others = sorted((there[name].stat().st_mtime_ns, name) for name in there.keys() - known.keys())
    files = {name: there[name].read_bytes().count(b"\n") for _, name in others}
    files |= {name: count for name, count in known.items() if name in there}
    return files, 0 if found is None else int(found["gone"])


def _read(folder: Path) -> dict[str, Any] | None:
    try:
        found = json.loads((folder / _INDEX).read_bytes())
        usable = isinstance(found["gone"], int) and dict(found["files"]) is not None
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return found if usable else None
