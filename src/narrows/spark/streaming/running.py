"""What runs: a query that is fed, a member of a shared stream's group, the ingest of such a stream.

To whoever looks they are all alike, and all of them are looked after by one supervisor
(`supervisor.py`), with one policy for what fails (`failures.Attempts`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Protocol

from pyspark.sql.streaming.listener import StreamingQueryProgress


class Running(Protocol):
    """The names are those of Spark's queries."""

    @property
    def isActive(self) -> bool: ...  # noqa: N802

    @property
    def recentProgress(self) -> Sequence[StreamingQueryProgress]:  # noqa: N802
        """What Spark reports; nothing of what is no query of Spark's."""

    def exception(self) -> BaseException | None:
        """Why it ended, if not by itself."""

    def stop(self) -> None:
        """Ends it, and waits until it has."""


Phase = Callable[[Running | None], Running | None]
"""Starts what runs next, after what has ended; None if there is nothing to be done."""


class Failed:
    """In place of something that could not go on, for a reason that it does not know itself."""

    isActive = False  # noqa: N815

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
