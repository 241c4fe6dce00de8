"""What a stream of files takes: the file connector's admission over the log of entries."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from narrows.connectors.base import SourceDeclaration
from narrows.connectors.entry_log import FANOUT, EntryLog
from narrows.connectors.file.source import FileSource
from narrows.files.listing import FileEntry


class FileLog:
    def __init__(self, folder: Path, *, fanout: int = FANOUT) -> None:
        self._log = EntryLog(folder, fanout=fanout)
        self._sources: dict[tuple[int | None, int | None], FileSource] = {}

    def last(self) -> int:
        return self._log.last()

    def admit(
        self,
        candidates: Iterable[FileEntry],
        max_files: int | None = None,
        max_bytes: int | None = None,
    ) -> int:
        """Takes files that were not taken before as one new entry; the number of the last one."""
        limits = {"max_files_per_trigger": max_files, "max_bytes_per_trigger": max_bytes}
        declared = SourceDeclaration("s", "json", {"path": "/data", **limits})
        source = self._sources.setdefault((max_files, max_bytes), FileSource(declared))
        entry = source.admit(self._log, list(candidates))
        return self._log.last() if entry is None else self._log.append(entry)

    def entries(self, after: int, upto: int) -> list[FileEntry]:
        return [file for number in range(after + 1, upto + 1) for file in self.entry(number)]

    def entry(self, number: int) -> list[FileEntry]:
        return [FileEntry(*file) for file in self._log.entry(number)]
