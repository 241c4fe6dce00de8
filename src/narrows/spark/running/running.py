"""What runs: a query that is fed, a member of a shared stream's group, the ingest of such a stream.

To whoever looks they are all alike, and all of them are looked after by one supervisor
(`supervisor.py`), with one policy for what fails (`failures.Attempts`).
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol
from uuid import uuid4

from pyspark.sql.streaming.listener import StreamingQueryProgress


class Batch(NamedTuple):
    """A micro-batch, or an entry, that is done."""

    life: str
    """Numbers count within one."""
    number: int
    seconds: float


class RecentBatches:
    """The last of them, for whoever looks every few seconds."""

    def __init__(self) -> None:
        self._life = uuid4().hex
        self._batches: deque[Batch] = deque(maxlen=1000)

    def add(self, number: int, seconds: float) -> None:
        self._batches.append(Batch(self._life, number, seconds))

    def all(self) -> list[Batch]:
        return list(self._batches)


def batches_of(reports: Sequence[StreamingQueryProgress]) -> list[Batch]:
    """The micro-batches of which Spark reports."""
    return [Batch(str(each.runId), each.batchId, each.batchDuration / 1000) for each in reports]


class Running(Protocol):
    """The names are those of Spark's queries."""

    @property
    def isActive(self) -> bool: ...  # noqa: N802

    @property
    def recentProgress(self) -> Sequence[StreamingQueryProgress]:  # noqa: N802
        """What Spark reports; nothing of what is no query of Spark's."""

    @property
    def batches(self) -> Sequence[Batch]:
        """The last ones, in their order."""

    def exception(self) -> BaseException | None:
        """Why it ended, if not by itself."""

    def stop(self) -> None:
        """Ends it, and waits until it has."""


Phase = Callable[[Running | None], Running | None]
"""Starts what runs next, after what has ended; None if there is nothing to be done."""


class Failed:
    """In place of something that could not go on, for a reason that it does not know itself."""

    isActive = False  # noqa: N815
    batches: Sequence[Batch] = ()

    def __init__(self, query: Running | None, error: BaseException) -> None:
        self.recentProgress: Sequence[StreamingQueryProgress] = ()
        if query is not None:
            with contextlib.suppress(Exception):  # it may have failed because there is no Spark
                self.recentProgress = query.recentProgress
        self._error = error

    def exception(self) -> BaseException:
        return self._error

    def stop(self) -> None:
        pass
