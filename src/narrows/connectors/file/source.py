"""Files as a source. An entry is a list of files: `[[path, size, time of change], ...]`.

A file is known by its path: one that is written anew is not taken again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from narrows.connectors.base import Lag, Share, SourceConnector, SourceDeclaration
from narrows.connectors.entry_log import EMPTY, Entry, TakenEntries
from narrows.files.listing import FileEntry, list_files
from narrows.files.ranges import TARGET, FileRange, cut, expanded, pack, tasks_for
from narrows.formats.base import find_format

Files = Sequence[FileEntry]


class FileSource(SourceConnector):
    def __init__(self, declared: SourceDeclaration) -> None:
        self._path = str(declared.options["path"])
        self._missing_ok = not declared.bounded
        self._max_files = declared.limit("max_files_per_trigger")
        self._max_bytes = declared.limit("max_bytes_per_trigger")
        framing = find_format(declared.format).framing_with(declared.options)
        self._range_bytes = TARGET if framing is None else framing.range_bytes
        self._taken: set[str] = set()
        self._upto = EMPTY
        """The entry up to which `_taken` has the paths of the log."""

    def available(self) -> Files:
        """What was taken is left out: a stream is asked many times a second."""
        return list_files(self._path, missing_ok=self._missing_ok, known=self._taken)

    def admit(self, log: TakenEntries, available: Files) -> Entry | None:
        """The limits hold but for the first file, for a file larger than `max_bytes_per_trigger`
        must be taken some day."""
        chosen: dict[str, FileEntry] = {}
        size = 0
        for file in self._new(log, available):
            if file.path in chosen:
                continue
            size += file.size
            if chosen and self._is_full(len(chosen), size):
                break
            chosen[file.path] = file
        return _entry(chosen.values()) if chosen else None

    def whole(self, available: Files) -> Entry:
        return _entry(available)

    def split(self, entry: Entry, tasks: int) -> list[Share]:
        ranges = [part for whole in self._ranges(entry) for part in cut(whole, self._range_bytes)]
        place = {read: number for number, read in enumerate(ranges)}
        packed = pack(ranges, tasks_for(ranges, tasks))
        return [Share(part, [place[read] for read in part]) for part in packed]

    def size(self, entry: Entry) -> int:
        return sum(expanded(read.path, read.end - read.start) for read in self._ranges(entry))

    def version(self, available: Files) -> str:
        text = "\n".join(sorted(repr(file) for file in available))
        return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()

    def lag(self, log: TakenEntries, available: Files) -> Lag:
        new = list(self._new(log, available))
        return Lag(bytes=sum(file.size for file in new), units=len(new))

    def _is_full(self, files: int, size: int) -> bool:
        """Is there no room for another in an entry that has so many files, if it has so many bytes
        then?"""
        return (self._max_files is not None and files >= self._max_files) or (
            self._max_bytes is not None and size > self._max_bytes
        )

    def _ranges(self, entry: Entry) -> list[FileRange]:
        """What an entry has of each file."""
        return [FileRange(path, 0, size, size) for path, size, _ in entry]

    def _new(self, log: TakenEntries, available: Files) -> Iterable[FileEntry]:
        last = log.last()
        if last < self._upto:  # another log, or one that was given a new start
            self._taken, self._upto = set(), EMPTY
        for entry in log.entries(after=self._upto):
            self._taken.update(path for path, _, _ in entry)
        self._upto = last
        return (file for file in available if file.path not in self._taken)


def _entry(files: Iterable[FileEntry]) -> Entry:
    return [[file.path, file.size, file.mtime_ms] for file in files]
