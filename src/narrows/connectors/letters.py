"""Rows that a sink cannot take: set aside with the reason, published with their batch."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from narrows.connectors.target import SinkTarget
from narrows.files.atomic import sync_folder
from narrows.files.output_names import (
    BatchFiles,
    is_published,
    is_unpublished,
    unpublished_name,
)
from narrows.files.small import disk_errors
from narrows.files.synced_file import SyncedFile

_SUFFIX = ".ndjson"


class RowLetters:
    """The rows of one task that its sink could not take."""

    def __init__(self, target: SinkTarget) -> None:
        self._target = target
        self._file: SyncedFile | None = None
        self.written: list[str] = []

    def add(self, row: pa.RecordBatch, reason: str) -> None:
        """Sets one row aside."""
        values = {part.name or part.column: row.column(part.column) for part in self._target.parts}
        self.add_payload(json.dumps({n: _text(v[0].as_py()) for n, v in values.items()}), reason)

    def add_payload(self, payload: str, reason: str) -> None:
        """Sets a row aside that is encoded already."""
        with disk_errors(Path(self._target.dead_letters)):
            self._write(payload, reason)

    def _write(self, payload: str, reason: str) -> None:
        if self._file is None:
            path = unpublished(self._target.dead_letters, self._target.pipeline)
            self.written.append(str(path))
            self._file = SyncedFile(path)
        letter = {
            "sink": self._target.sink,
            "pipeline": self._target.pipeline,
            "reason": reason,
            "payload": payload,
        }
        self._file.write(f"{json.dumps(letter, ensure_ascii=False)}\n".encode())

    def close(self) -> None:
        if self._file is not None:
            with disk_errors(Path(self._target.dead_letters)):
                self._file.close_synced()
            self._file = None

    def discard(self) -> None:
        if self._file is not None:
            self._file.abandon()
        remove(self.written)


def publish_letters(target: SinkTarget, batch: int, files: Sequence[str]) -> None:
    names = BatchFiles(target.pipeline, batch, _SUFFIX)
    publish_files(Path(target.dead_letters), names, files)


class PublishedLetters:
    """How many rows of a pipeline a sink has set aside, of all runs. What is published does not
    change, so a file is looked at once."""

    def __init__(self, folder: Path, pipeline: str) -> None:
        self._folder = folder
        self._pipeline = pipeline
        self._counted: dict[tuple[str, int, int], int] = {}

    def count(self) -> int:
        counted: dict[tuple[str, int, int], int] = {}
        for path in self._folder.iterdir() if self._folder.is_dir() else ():
            if is_published(path.name, self._pipeline, _SUFFIX):
                with contextlib.suppress(FileNotFoundError):  # a batch that is run again
                    found = path.stat()
                    file = path.name, found.st_mtime_ns, found.st_size
                    known = self._counted.get(file)
                    counted[file] = _lines(path) if known is None else known
        self._counted = counted
        return sum(counted.values())


def _lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(1 for _ in file)


# --- files that a batch publishes -----------------------------------------------------------------


def unpublished(folder: str, pipeline: str) -> Path:
    """A new file for a task, which nobody takes for a published one."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    return Path(folder) / unpublished_name(pipeline)


def publish_files(folder: Path, names: BatchFiles, files: Sequence[str]) -> None:
    """Gives a batch's files their names; what the batch had published before goes."""
    for part, file in enumerate(files):
        os.replace(file, folder / names.name(part))
    # Parts are numbered without gaps, and go from the last to the first, so that this is true
    # whenever it is cut short: nobody has to look through a folder of a million files.
    stale, part = [], len(files)
    while (path := folder / names.name(part)).exists():
        stale.append(path)
        part += 1
    for path in reversed(stale):
        path.unlink()
    if files or stale:
        sync_folder(folder)


def sweep_unpublished(folder: str, pipeline: str) -> None:
    """Removes what tasks of a pipeline wrote that will not be published: none of them is running.

    A task that fails removes its own; but others of its batch had done their part, or all were
    killed.
    """
    for name in os.listdir(folder) if Path(folder).is_dir() else ():
        if is_unpublished(name, pipeline):
            (Path(folder) / name).unlink(missing_ok=True)


def remove(paths: Sequence[str]) -> None:
    """Removes what nobody will publish; what cannot be removed now is swept later."""
    for path in paths:
        with contextlib.suppress(OSError):
            os.unlink(path)


def _text(value: object) -> str | None:
    return None if value is None else str(value)
