"""What readers of a source have counted, in a folder that does not grow.

    00000000000000000012-0.json     what task 0 counted of entry 12
    total.json                      the sum of all entries up to one of them

A task that reads an entry has a file for it, which it writes anew as it goes on; one that is tried
again, or whose batch is run again, begins the same file again. So everything counts once. What is
lost as a whole (`LostRangeError`) has a file by its key, for several tasks may find it so.

An entry is read when all before it are published. So what is there of an older entry than the
newest is final: the driver adds it to the total and removes it (`fold`). The total says up to which
entry it goes, so that files which a crash has left, or a task that nobody waits for, do not count
again.

Counts are for people to look at. A file that is damaged is passed over, with a warning; no pipeline
stops for it.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

from narrows.files.atomic import is_temporary, temporary_for, write_atomically
from narrows.files.checked import seal, unseal
from narrows.worker.counts import ReadCounts

_MAGIC = "narrows-counts-1"
_TOTAL = "total.json"
_SUFFIX = ".json"
_NONE = -1
_MANY = 64
"""So many files are left alone: adding them up when somebody asks costs less than folding."""
_SAVE_SECONDS = 0.5
_ATTEMPTS = 10
_WARNED: set[Path] = set()
_LOG = logging.getLogger("narrows.state")


class CountsPart:
    """What one task counts of one entry; without a folder it is counted for nobody."""

    def __init__(self, folder: str | None, entry: int, name: str) -> None:
        self._path = None if folder is None else Path(folder) / f"{entry:020d}-{name}{_SUFFIX}"
        self._counts = ReadCounts()
        self._saved = 0.0

    def add(self, counts: ReadCounts) -> None:
        """Adds what was counted of a range; it is saved now and then, for those who watch."""
        self._counts.merge(counts)
        if time.monotonic() - self._saved > _SAVE_SECONDS:
            self.save()

    def save(self) -> None:
        if self._path is None:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        temporary = temporary_for(self._path)
        # It need not be on the disk: after a power cut the entry is read again, or seen as damaged.
        temporary.write_bytes(_sealed(_NONE, self._counts))
        os.replace(temporary, self._path)
        self._saved = time.monotonic()


def counts_since(folder: Path, begun: int) -> ReadCounts:
    """The sum of what tasks left there after a time, in nanoseconds; nothing is ever folded."""
    parts = [part for part in _parts_in(folder) if _changed(folder / part.name) >= begun]
    return _sum(folder, parts)[0]


def _changed(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def total_counts(folder: Path) -> ReadCounts:
    """The sum of what all tasks left there."""
    for _ in range(_ATTEMPTS):
        before = _read_total(folder)
        counts, complete = _sum(folder, _parts_after(folder, before.upto))
        if complete and _read_total(folder) == before:
            break  # else somebody has folded meanwhile
    counts.merge(before.counts)
    return counts


def fold_counts(folder: Path) -> None:
    """Adds what is final to the total, if there is much of it. For the one who alone does so."""
    parts = _parts_in(folder)
    if len(parts) < _MANY:
        return
    total, newest = _read_total(folder), max(part.entry for part in parts)
    final = [part for part in parts if part.entry < newest]
    if not final:
        return
    counts, _ = _sum(folder, [part for part in final if part.entry > total.upto])
    counts.merge(total.counts)
    upto = max(total.upto, newest - 1)
    write_atomically(folder / _TOTAL, _sealed(upto, counts))
    _remove(folder, [part.name for part in final])


def forget_entry(folder: str | None, entry: int) -> None:
    """Removes what was counted of an entry that other tasks are going to read."""
    if folder is not None:
        parts = _parts_in(Path(folder))
        _remove(Path(folder), [part.name for part in parts if part.entry == entry])


def forget_parts(folder: str | None) -> None:
    """Removes all that tasks left, and what those left that were killed. None may be running."""
    if folder is not None:
        names = [name for name in _names(Path(folder)) if is_temporary(name)]
        _remove(Path(folder), [*names, *(part.name for part in _parts_in(Path(folder)))])


def sweep_counts(folder: str | None) -> None:
    """Removes what tasks left that were killed. None may be running."""
    if folder is not None:
        _remove(Path(folder), [name for name in _names(Path(folder)) if is_temporary(name)])


# --- the files ------------------------------------------------------------------------------------


class _Part(NamedTuple):
    entry: int
    name: str


class _Total(NamedTuple):
    upto: int
    counts: ReadCounts


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []


def _parts_in(folder: Path) -> list[_Part]:
    found = []
    for name in _names(folder):
        entry, dash, _ = name.removesuffix(_SUFFIX).partition("-")
        if name.endswith(_SUFFIX) and dash and entry.isdecimal():
            found.append(_Part(int(entry), name))
    return found


def _parts_after(folder: Path, upto: int) -> list[_Part]:
    return [part for part in _parts_in(folder) if part.entry > upto]


def _sum(folder: Path, parts: Sequence[_Part]) -> tuple[ReadCounts, bool]:
    """What is in these files, and whether all of them were there."""
    counts, complete = ReadCounts(), True
    for part in parts:
        try:
            counts.merge(_read(folder / part.name).counts)
        except FileNotFoundError:
            complete = False
    return counts, complete


def _read_total(folder: Path) -> _Total:
    try:
        return _read(folder / _TOTAL)
    except FileNotFoundError:
        return _Total(_NONE, ReadCounts())


def _read(path: Path) -> _Total:
    body = unseal(_MAGIC, path.read_bytes())
    if body is None:
        if path not in _WARNED:  # those who watch look at it every second
            _WARNED.add(path)
            _LOG.warning("`%s` is damaged: what was counted there is not in the sums", path)
        return _Total(_NONE, ReadCounts())
    value = json.loads(body)
    return _Total(value["upto"], ReadCounts(**value["counts"]))


def _sealed(upto: int, counts: ReadCounts) -> bytes:
    return seal(_MAGIC, json.dumps({"upto": upto, "counts": asdict(counts)}).encode("ascii"))


def _remove(folder: Path, names: Sequence[str]) -> None:
    for name in names:
        (folder / name).unlink(missing_ok=True)
