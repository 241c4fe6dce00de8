"""Pipelines whose tasks keep something, and the end of what they keep."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Protocol

from pyspark.sql.streaming.listener import StreamingQueryProgress

from narrows.spark.entries.entry_loop import EntrySteps
from narrows.spark.entries.intake import Taking
from narrows.spark.running.running import Batch, RecentBatches


class KeepingSteps(EntrySteps, Protocol):
    """What becomes of entries, of which something is kept."""

    @property
    def intake(self) -> Taking:
        """Where they come from."""

    @property
    def was_closing(self) -> bool:
        """Did a run end while it closed what was open?"""

    @property
    def has_open(self) -> bool:
        """Is something open that the end of the input would close?"""

    def close(self) -> None:
        """A step by itself: what is open is over."""


_STOPS_WITHIN = 2.0
"""Seconds that it has to end when the pipeline is stopped."""


class ClosingRun:
    """The step that closes what is open, as something that runs."""

    recentProgress: Sequence[StreamingQueryProgress] = ()  # noqa: N815

    def __init__(self, steps: KeepingSteps) -> None:
        self._batches = RecentBatches()
        self._failure: BaseException | None = None
        self._steps = steps
        self._thread = threading.Thread(target=self._close, daemon=True)
        self._thread.start()

    def _close(self) -> None:
        begun = time.monotonic()
        try:
            self._steps.close()
            self._batches.add(0, time.monotonic() - begun)
        except BaseException as error:
            self._failure = error

    @property
    def isActive(self) -> bool:  # noqa: N802
        return self._thread.is_alive()

    @property
    def batches(self) -> Sequence[Batch]:
        return self._batches.all()

    def exception(self) -> BaseException | None:
        return self._failure

    def finish(self, deadline: float) -> None:
        """Waits for its end, or until then."""
        self._thread.join(max(0.0, deadline - time.monotonic()))

    def stop(self) -> None:
        """Ends it. It is given up if it takes longer than a moment - a job may wait for a core that
        never comes -, and done again by the next run, which knows that this one was closing."""
        self.finish(time.monotonic() + _STOPS_WITHIN)
        if self._thread.is_alive():
            self._steps.stop()
            self._thread.join()
