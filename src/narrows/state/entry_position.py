"""How far a pipeline has come with its log of entries, where no checkpoint of Spark's says it.

    entries/<pipeline>/<source>/position    everything up to this entry is published
    entries/<pipeline>/<source>/first       the entry that Spark's marker 0 names

A pipeline of low latency moves its position dozens of times a second. So the file has two places
that are written in turn: one of them is whole, whatever is cut short, and the larger number counts.
It is with the system at once, which survives the death of any process, and on the disk a little
later. After a power cut entries are read again that were published, as after any crash.

**Who has the say.** While there is a position, Spark's checkpoint is out of date; a pipeline that
goes back to micro-batches begins a new one, which counts markers from 0. `first` says which entry
that is, so the log, and the numbers of batches in the sinks, go on as if nothing had happened.
"""

from __future__ import annotations

import os
import zlib
from pathlib import Path

from narrows.errors import NarrowsError
from narrows.files.atomic import write_atomically
from narrows.files.small import damaged, read_small, write_small

POSITION, _FIRST = "position", "first"
_FIRST_MAGIC = "narrows-first-entry-1"
_HINT = (
    "restore the state folder from a backup, or start the pipeline anew: `narrows reset <pipeline>`"
)


class EntryPosition:
    """The position in a folder of entries. One process writes, see the lock of the state folder."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._path = Path(folder) / POSITION
        self._file: int | None = None
        self._place = 0

    @property
    def is_there(self) -> bool:
        return self._path.exists()

    def read(self) -> int | None:
        """Everything up to this entry is published; None where Spark's checkpoint says it."""
        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            return None
        found = [_number(data[at : at + _SIZE]) for at in (0, _SIZE)]
        whole = [number for number in found if number is not None]
        if not whole:
            raise self._damaged("it is not what was written")
        return max(whole)

    def begin(self, number: int) -> None:
        """From now on it is here that one looks."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(self._path, _record(number) * 2)

    def move(self, number: int) -> None:
        if self._file is None:
            self._file = os.open(self._path, os.O_WRONLY)
        os.pwrite(self._file, _record(number), self._place * _SIZE)
        self._place = 1 - self._place

    def sync(self) -> None:
        """What was moved is on the disk."""
        if self._file is not None:
            os.fdatasync(self._file) if hasattr(os, "fdatasync") else os.fsync(self._file)

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def end(self) -> None:
        """From now on it is Spark's checkpoint that one looks at."""
        self._path.unlink(missing_ok=True)

    def _damaged(self, reason: str) -> NarrowsError:
        return damaged(self._path, "the position of a pipeline", reason, _HINT)


def had_position(folder: Path) -> bool:
    """Has the pipeline ever had low latency?"""
    return (folder / POSITION).exists() or (folder / _FIRST).exists()


def first_entry(folder: str | os.PathLike[str]) -> int:
    """The entry that Spark's first marker names."""
    path = Path(folder) / _FIRST
    found = read_small(path, _FIRST_MAGIC, "the number of a first entry", _HINT)
    return 0 if found is None else int(found)


def set_first_entry(folder: str | os.PathLike[str], number: int) -> None:
    write_small(Path(folder) / _FIRST, _FIRST_MAGIC, number)


def _record(number: int) -> bytes:
    text = f"{number:020d}"
    return f"{text} {zlib.crc32(text.encode('ascii')):08x}\n".encode("ascii")


_SIZE = len(_record(0))


def _number(record: bytes) -> int | None:
    try:
        number = int(record[:20])
    except ValueError:
        return None
    return number if _record(number) == record else None
