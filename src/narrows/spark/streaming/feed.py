"""Feeding a streaming query: what it reads, micro-batch by micro-batch.

A feed takes what is new into the log of entries, as far as the stream's limits allow, and gives the
query a marker for each entry (`markers.py`). For a bounded run everything that is there is taken
before the query starts. While a query runs on and on, a thread looks for more, and stays one marker
ahead of it: what comes meanwhile is read together.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from pyspark.errors import StreamingQueryException
from pyspark.sql.streaming.listener import StreamingQueryProgress
from pyspark.sql.streaming.query import StreamingQuery

from narrows.connectors.base import Available
from narrows.spark.entries.intake import Intake
from narrows.spark.read.marker_source import markers_folder
from narrows.spark.running.running import Batch, batches_of
from narrows.spark.streaming.checkpoint import (
    MarkerPosition,
    check_markers,
    check_unread,
    forget_taken,
    marker_position,
    relocate,
)
from narrows.spark.streaming.markers import Markers
from narrows.state.entry_position import first_entry
from narrows.worker.count_files import forget_entry, sweep_counts
from narrows.worker.read_spec import ReadSpec

LOOKS_AGAIN = 50
"""Milliseconds between two looks for something new, at least."""

_KNOWS_ITS_LAG_FOR = 5.0
"""Seconds after which a source is asked again that need not be, for the query is busy."""

_FORGETS_EVERY = 50
"""Entries after which Spark's log of markers is shortened."""


class Feed:
    """One source of one pipeline."""

    def __init__(self, spec: ReadSpec, checkpoint: Path) -> None:
        self.intake = Intake(spec)
        self._spec = spec
        self._checkpoint = checkpoint
        self._folder = markers_folder(spec)
        self._first = first_entry(self._folder.parent)
        sweep_counts(spec.statistics)
        relocate(checkpoint, self._folder)
        position = self._position()
        self._markers = Markers(self._folder, position.committed, position.newest_ms)
        self._recover(position)
        self._forget_taken(position.committed)
        self._owed: int | None = None
        """An entry that was taken, and whose marker is still to be given."""

    def take_all(self, *, ends: bool = False) -> None:
        """Gives markers to everything that is there; `ends` if that is all there will ever be."""
        available = self.intake.look()
        while self._admit(available):
            pass
        self._markers.set_end(is_last=ends)

    def keep_ahead(self) -> None:
        """Gives a marker to what is new, unless one waits behind the one that is being read."""
        committed = self.settle()
        if self._markers.last <= committed + 1:
            self.intake.ask(lambda: self._admit(self.intake.look()))
        elif self.intake.seconds_since_look > _KNOWS_ITS_LAG_FOR:
            self.intake.ask(self.intake.look)

    def settle(self) -> int:
        """Forgets what is published, and tells the source; the entry up to which that is."""
        if self.is_gone:
            raise self.intake.gone()
        committed = self._position().committed
        self._markers.forget(committed)
        self.intake.tell(committed)
        if committed - self._forgotten >= _FORGETS_EVERY:
            self._forget_taken(committed)
        return committed

    def _forget_taken(self, committed: int) -> None:
        forget_taken(self._checkpoint, self._folder, committed - self._first)
        self._forgotten = committed

    def check(self, batch: int) -> None:
        """Stops a batch that would pass over entries, before it reads anything."""
        check_markers(self._checkpoint, self._folder, batch, self._first)

    def _position(self) -> MarkerPosition:
        return marker_position(self._checkpoint, self._folder, self._first)

    def _recover(self, position: MarkerPosition) -> None:
        """Sees to it that there is a marker for each entry that has not been read, and no other."""
        check_unread(self.intake.log, position, self._markers.waiting)
        unread = range(position.committed + 1, self.intake.log.last() + 1)
        for entry in unread:
            if not self._markers.is_intact(entry):
                self._give(entry)
        self._markers.set_end(is_last=False)  # a run that crashed may have seen it so
        self._markers.put_in_order()

    @property
    def is_gone(self) -> bool:
        return not self._folder.exists()

    def _admit(self, available: Available) -> bool:
        """Takes as much as one micro-batch may have; false when nothing is new."""
        if self._owed is None:
            entry = self.intake.new(available)
            if entry is None:
                return False
            self._owed = self.intake.take(entry)
        self._give(self._owed)
        self._owed = None
        return True

    def _give(self, number: int) -> None:
        forget_entry(self._spec.statistics, number)  # it may be for other tasks than before
        self._markers.give(number, self.intake.shares(self.intake.log.entry(number)))


class FedQuery:
    """A streaming query and the thread that feeds it, until either of them ends."""

    def __init__(
        self,
        query: StreamingQuery,
        feeds: Sequence[Feed],
        trigger: int,
        *,
        bounded: bool,
        raised: Sequence[BaseException] = (),
    ) -> None:
        """`trigger` is how often the query looks for a marker, in milliseconds; a bounded run has
        all its markers when it starts. In `raised` is what our part of a batch has raised, of which
        Spark tells no more than that it did."""
        self._query = query
        self.feeds = feeds
        self.intakes = [feed.intake for feed in feeds]
        self._bounded = bounded
        self._raised = raised
        # Who waits for the end of a bounded run must not wait for the next look.
        self._every = (LOOKS_AGAIN if bounded else max(trigger / 2, LOOKS_AGAIN)) / 1_000
        self._failure: BaseException | None = None
        self._stopped = threading.Event()
        self._thread = threading.Thread(
            target=self._feed, name=f"feed of {query.name}", daemon=True
        )
        self._thread.start()

    # --- like a streaming query -------------------------------------------------------------------

    @property
    def isActive(self) -> bool:  # noqa: N802
        return self._query.isActive or self._thread.is_alive()  # until the sources know of the end

    @property
    def problem(self) -> str | None:
        """What it has to wait for at the moment, if there is something."""
        return next(filter(None, (intake.problem for intake in self.intakes)), None)

    @property
    def recentProgress(self) -> Sequence[StreamingQueryProgress]:  # noqa: N802
        return self._query.recentProgress

    @property
    def batches(self) -> Sequence[Batch]:
        return batches_of(self._query.recentProgress)

    def exception(self) -> BaseException | None:
        failure: BaseException | None = self._query.exception()
        if failure is not None and self._raised:
            failure = self._raised[-1]
        return self._failure or failure

    def finish(self, deadline: float) -> None:
        """Waits until the micro-batch that runs has ended, or until then: to stop it in the middle
        loses nothing, but what it has done is done again."""
        while self._query.isActive and time.monotonic() < deadline:
            if not self._query.status["isTriggerActive"]:
                return
            time.sleep(0.02)

    def stop(self) -> None:
        self._stopped.set()
        self._query.stop()
        self._thread.join()

    # --- feeding ----------------------------------------------------------------------------------

    def _feed(self) -> None:
        try:
            for feed in () if self._bounded else self.feeds:
                feed.intake.start()
            while self._query.isActive and not self._stopped.is_set():
                for feed in self.feeds:
                    feed.settle() if self._bounded else feed.keep_ahead()
                self._await_end(self._every)
            for feed in self.feeds:
                feed.settle()
        except BaseException as error:
            if not self._stopped.is_set():
                gone = (feed.intake.gone() for feed in self.feeds if feed.is_gone)
                self._failure = next(gone, error)
                with contextlib.suppress(Exception):  # the first reason is the one to tell
                    self._query.stop()
        finally:
            for feed in () if self._bounded else self.feeds:
                feed.intake.stop()

    def _await_end(self, seconds: float) -> None:
        """Waits so long, but not when the query has ended."""
        with contextlib.suppress(StreamingQueryException):  # `exception` tells of it
            self._query.awaitTermination(seconds)  # type: ignore[arg-type]
