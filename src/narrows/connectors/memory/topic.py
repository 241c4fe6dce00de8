"""What a topic has: a log of batches, each with the files that its tasks wrote.

    log/              {"writers": {"p": 41, "q": 7}, "files": [["p-5f3c...09.arrow", rows, bytes]]}
    rows/             the files
    consumers.json    who reads the topic, and the first batch that each has not read
    kept.json         the first batch whose files are still there

**Exactly once.** A batch is part of the topic when its entry is in the log, which says for every
writer the last of its batches. One that is run again finds that it is there, and what its tasks
wrote the second time is removed: who has read it must not see it change. A reader's own entries
name batches of this log, so it reads each of them once.

**What is kept.** Files go when everybody who has begun to read the topic has read them. As long as
nobody has begun, the newest are kept, so many bytes of them as the sink says.
"""

from __future__ import annotations

import re
import threading
import uuid
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from narrows.connectors.entry_log import EMPTY, Entry, EntryLog
from narrows.connectors.received.consumers import Consumers
from narrows.files.atomic import sync_folder
from narrows.files.names import file_name
from narrows.files.small import read_small, write_small

_SUFFIX = ".arrow"
_MAGIC = "narrows-topic-1"
_WHAT = "the file that says what a topic has kept"
_HINT = "restore the state folder from a backup"
_LOCK = threading.Lock()
"""For all topics of this process: several pipelines of it write one. Other processes keep out, see
the lock of the state folder."""


class TopicFile(NamedTuple):
    name: str
    rows: int
    size: int


class Topic:
    """A topic by its name, among others of a folder."""

    def __init__(self, folder: str, topic: str) -> None:
        # No name of a stream becomes a file name with a dot: they have logs beside topics.
        self.folder = Path(folder) / f"{file_name(topic)}.topic"
        self.rows = self.folder / "rows"
        self.consumers = Consumers(self.folder)

    def new_file(self, writer: str) -> Path:
        """For a task of this pipeline."""
        self.rows.mkdir(parents=True, exist_ok=True)
        return self.rows / f"{file_name(writer)}-{uuid.uuid4().hex}{_SUFFIX}"

    # --- reading ----------------------------------------------------------------------------------

    def kept(self) -> range:
        """The batches whose files are there."""
        found: int | None = read_small(self.folder / "kept.json", _MAGIC, _WHAT, _HINT)
        return range(found or 0, self._log().last() + 1)

    def files(self, batches: Sequence[int]) -> Iterator[tuple[int, list[TopicFile]]]:
        """The files of some batches, batch by batch."""
        log = self._log()
        for batch in batches:
            yield batch, [TopicFile(*found) for found in log.entry(batch)["files"]]

    # --- writing ----------------------------------------------------------------------------------

    def publish(self, writer: str, batch: int, files: Sequence[TopicFile], most: int) -> None:
        """Adds a batch of a pipeline, unless it is there; at most so many bytes are kept of what
        nobody reads."""
        with _LOCK:
            log = self._log()
            last = log.last()
            writers = {} if last == EMPTY else log.entry(last)["writers"]
            if batch <= writers.get(writer, EMPTY):
                self.remove(file.name for file in files)
            elif files:
                sync_folder(self.rows)
                log.append({"writers": {**writers, writer: batch}, "files": files})
            if self.consumers.passed() is None:
                self._keep(most)

    def sweep(self, writer: str) -> None:
        """Removes what tasks of a pipeline wrote and nobody published."""
        mine = re.compile(rf"{re.escape(file_name(writer))}-[0-9a-f]{{32}}{re.escape(_SUFFIX)}")
        with _LOCK:
            published = {file.name for _, files in self.files(self.kept()) for file in files}
            there = [path.name for path in self.rows.glob(f"*{_SUFFIX}")]
            self.remove(n for n in there if mine.fullmatch(n) and n not in published)

    def retain(self) -> None:
        """Removes what everybody has read."""
        with _LOCK:
            passed = self.consumers.passed()
            if passed is not None:
                self._forget(passed)

    def remove(self, names: Iterator[str]) -> None:
        for name in names:
            (self.rows / name).unlink(missing_ok=True)

    def _keep(self, most: int) -> None:
        """Keeps the newest batches, so many bytes of them."""
        kept = self.kept()
        for batch, files in self.files(kept[::-1]):
            most -= sum(file.size for file in files)
            if most < 0:
                self._forget(batch + 1)
                return

    def _forget(self, first: int) -> None:
        """Removes the files of all batches before this one."""
        forgotten = range(self.kept().start, min(first, self.kept().stop))
        if not forgotten:
            return
        names = [file.name for _, files in self.files(forgotten) for file in files]
        # First: files that are left over belong to no batch then, and are swept.
        write_small(self.folder / "kept.json", _MAGIC, forgotten.stop)
        self.remove(iter(names))
        self._log().fold(forgotten.stop - 1, _folded)

    def _log(self) -> EntryLog:
        return EntryLog(self.folder / "log")


def _folded(entries: Iterable[Entry]) -> Entry:
    """What batches whose files are gone still say: how far their writers had come."""
    *_, last = entries
    return {**last, "files": []}
