"""Feeding a streaming query: which files it reads, turn by turn.

A feed takes new files into the log of files, as far as the stream's limits allow, and gives the
query a marker for each entry (`markers.py`). For a bounded run everything that is there is taken
before the query starts. While a query runs on and on, a thread looks for files, and stays one turn
ahead of it: what comes meanwhile is read together.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql.streaming.listener import StreamingQueryProgress
from pyspark.sql.streaming.query import StreamingQuery

from narrows.connectors.file.file_log import FileLog
from narrows.errors import Code, NarrowsError, fail
from narrows.files.listing import FileEntry, list_files
from narrows.spark.read.marker_source import turns_folder
from narrows.spark.read.source import shared_out
from narrows.spark.streaming.checkpoint import MarkerPosition, check_markers, marker_position
from narrows.spark.streaming.markers import Turns
from narrows.worker.read_spec import ReadSpec

_LOOKS_AGAIN = 50
"""Milliseconds between two looks for files, at least."""


class Feed:
    """The files of one source of one pipeline."""

    def __init__(self, spec: ReadSpec, checkpoint: Path) -> None:
        assert spec.file_log is not None
        self._spec = spec
        self._checkpoint = checkpoint
        self._folder = turns_folder(spec)
        self._log = FileLog(spec.file_log)
        position = self._position()
        self._turns = Turns(self._folder, position.committed, position.newest_ms)
        self._recover(position)

    def take_all(self, *, ends: bool = False) -> None:
        """Gives turns to everything that is there; `ends` if that is all there will ever be."""
        candidates = self._files()
        while self._admit(candidates):
            pass
        self._turns.set_end(is_last=ends)

    def keep_ahead(self) -> None:
        """Gives a turn to what is new, unless one is waiting behind the one that is being read."""
        committed = self._position().committed
        self._turns.forget(committed)
        if self._turns.last <= committed + 1:
            self._admit(self._files())

    def check(self, batch: int) -> None:
        """Stops a batch that would pass over files, before it reads anything."""
        check_markers(self._checkpoint, self._folder, batch)

    def _position(self) -> MarkerPosition:
        return marker_position(self._checkpoint, self._folder)

    def _recover(self, position: MarkerPosition) -> None:
        """Sees to it that there is a marker for each entry that has not been read, and no other.

        A crash may have come between taking files and giving them their turn, so the newest may be
        missing. Anything else that does not fit is not what a crash leaves: somebody restored or
        removed a part of the state folder, and going on would lose rows or read them twice.
        """
        last, given = self._log.last(), max(position.taken, self._turns.last)
        if given > last:
            raise self._log.is_behind(given)
        unread = range(position.committed + 1, last + 1)
        missing = sorted(set(unread) - set(self._turns.waiting))
        if missing and missing != [last]:
            raise self._is_incomplete(missing, position)
        for entry in unread:
            if not self._turns.is_intact(entry):
                self._give(entry)
        self._turns.set_end(is_last=False)  # a run that crashed may have seen it so
        self._turns.put_in_order()

    def _is_incomplete(self, missing: Sequence[int], position: MarkerPosition) -> NarrowsError:
        return fail(
            Code.UNREADABLE_FILE,
            f"the state of `{self._spec.source}` in `{self._folder.parent}` is incomplete: files up"
            f" to entry {self._log.last()} were taken, the checkpoint has come to entry"
            f" {position.committed}, and nothing says whether entry {missing[0]} was read",
            hint="the checkpoint and the log of files belong together: restore the whole state"
            " folder, or start the pipeline anew: `narrows reset <pipeline>`",
        )

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
                for feed in self._feeds:
                    feed.keep_ahead()
                if self._stopped.wait(self._every):
                    return
        except BaseException as error:
            if not self._stopped.is_set():
                self._failure = error
                self._query.stop()


Query = StreamingQuery | FedQuery
