"""Feeding a streaming query: which files it reads, turn by turn.

A feed takes new files into the log of files, as far as the stream's limits allow, and gives the
query a turn for each entry (`files/turns.py`). For a bounded run everything that is there is taken
before the query starts. While a query runs on and on, a thread looks for files, and stays one turn
ahead of it: what comes meanwhile is read together.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql.streaming.listener import StreamingQueryProgress
from pyspark.sql.streaming.query import StreamingQuery

from narrows.files.file_log import EMPTY, FileLog
from narrows.files.listing import FileEntry, list_files
from narrows.files.turns import Turns
from narrows.spark.read_spec import ReadSpec
from narrows.spark.source import shared_out
from narrows.spark.turn_source import turns_folder

_KEPT = 100
"""Turns that have been read are kept so long: more than Spark can ever go back."""

_LOOKS_AGAIN = 50
"""Milliseconds between two looks for files, at least."""


class Feed:
    """The files of one source of one pipeline."""

    def __init__(self, spec: ReadSpec) -> None:
        assert spec.file_log is not None
        self._spec = spec
        self.folder = turns_folder(spec)
        self._log = FileLog(spec.file_log)
        self._turns = Turns(self.folder)
        self._turns.set_end(is_last=False)  # a run that crashed may have seen it so
        # A crash may have come between taking files and giving them their turn.
        for entry in range(self._turns.last + 1, self._log.last() + 1):
            self._give(entry)

    def take_all(self, *, ends: bool = False) -> None:
        """Gives turns to everything that is there; `ends` if that is all there will ever be."""
        candidates = self._files()
        while self._admit(candidates):
            pass
        self._turns.set_end(is_last=ends)

    def keep_ahead(self, reached: int | None) -> None:
        """Gives a turn to what is new, unless one is waiting; `reached` has been read."""
        if reached is None:
            reached = self._turns.last
        self._turns.forget(reached - _KEPT)
        if self._turns.last <= reached + 1:
            self._admit(self._files())

    def _files(self) -> list[FileEntry]:
        return list_files(self._spec.path, missing_ok=True)

    def _admit(self, candidates: Sequence[FileEntry]) -> bool:
        """Takes as much as one micro-batch may have; false when nothing is new."""
        files = self._spec.limit("max_files_per_trigger")
        size = self._spec.limit("max_bytes_per_trigger")
        entry = self._log.admit(candidates, max_files=files, max_bytes=size)
        if entry == self._turns.last:
            return False
        self._give(entry)
        return True

    def _give(self, entry: int) -> None:
        files = self._log.entries(after=entry - 1, upto=entry)
        self._turns.give(entry, max(1, len(shared_out(self._spec, files))))


class FedQuery:
    """A streaming query and the thread that feeds it, until either of them ends."""

    def __init__(self, query: StreamingQuery, feeds: Sequence[Feed], trigger: int) -> None:
        """`trigger` is how often the query looks for a turn, in milliseconds."""
        self._query = query
        self._feeds = feeds
        self._every = max(trigger / 2, _LOOKS_AGAIN) / 1_000
        self._failure: BaseException | None = None
        self._stopped = threading.Event()
        self._thread = threading.Thread(
            target=self._feed, name=f"feed of {query.name}", daemon=True
        )
        self._thread.start()

    # --- like a streaming query -------------------------------------------------------------------

    @property
    def isActive(self) -> bool:  # noqa: N802
        return self._query.isActive

    @property
    def lastProgress(self) -> StreamingQueryProgress | None:  # noqa: N802
        return self._query.lastProgress

    @property
    def recentProgress(self) -> Sequence[StreamingQueryProgress]:  # noqa: N802
        return self._query.recentProgress

    def exception(self) -> BaseException | None:
        return self._failure or self._query.exception()

    def awaitTermination(self, timeout: int | None = None) -> bool | None:  # noqa: N802
        return self._query.awaitTermination(timeout)

    def stop(self) -> None:
        self._stopped.set()
        self._query.stop()
        self._thread.join()

    # --- feeding ----------------------------------------------------------------------------------

    def _feed(self) -> None:
        try:
            while self._query.isActive:
                progress = self._query.lastProgress
                for feed in self._feeds:
                    feed.keep_ahead(_reached(progress, feed.folder))
                if self._stopped.wait(self._every):
                    return
        except BaseException as error:
            if not self._stopped.is_set():
                self._failure = error
                self._query.stop()


Query = StreamingQuery | FedQuery


def _reached(progress: StreamingQueryProgress | None, folder: Path) -> int | None:
    """How far a query has come with the turns of a folder; None before it has said so.

    Spark counts what it has taken from a folder, one file for each micro-batch: the number of the
    entry, for entries are counted in the same way.
    """
    for source in progress.sources if progress is not None else ():
        if str(folder) in source.description:
            offset = json.loads(source.endOffset) if source.endOffset else None
            return int(offset["logOffset"]) if isinstance(offset, dict) else EMPTY
    return None
