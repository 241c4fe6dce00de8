"""Patience with a source: what is away for a minute ends no run.

Whoever feeds a query, and the ingest of a shared stream, ask a source what is new and tell it what
is published, over and over. One that is unavailable (`SourceUnavailableError`) is asked again, for
ever, with pauses that grow; every other error is for whoever restarts what fails. What it makes of
being told what is published is its own business, and stops nobody.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from narrows.connectors.base import SourceUnavailableError
from narrows.spark.running.failures import Attempts, Verdict, reason_of

_LOG = logging.getLogger("narrows.sources")
_LONGEST_PAUSE = 30.0
T = TypeVar("T")


class Patience:
    """With one source."""

    def __init__(self, source: str, attempts: Attempts | None = None) -> None:
        self._source = source
        self._attempts = attempts or Attempts("always", None, longest_pause=_LONGEST_PAUSE)
        self._failure: SourceUnavailableError | None = None
        self._warned = False

    @property
    def problem(self) -> str | None:
        """Why the source cannot be asked at the moment; None if it can."""
        failure = self._failure
        return None if failure is None else reason_of(failure)

    def ask(self, question: Callable[[], T]) -> T | None:
        """Its answer; None while it is unavailable, or has been a moment ago."""
        if self._failure is not None and self._attempts.after(self._failure) is Verdict.WAIT:
            return None
        try:
            answer = question()
        except SourceUnavailableError as failure:
            if self._failure is None:
                _LOG.warning("source `%s`: %s; it is asked again", self._source, reason_of(failure))
            self._failure = failure
            self._attempts.after(failure)  # the pause begins now
            return None
        if self._failure is not None:
            self._failure = None
            self._attempts.succeeded()
        return answer

    def tell(self, committed: Callable[[], None]) -> None:
        """Tells it what is published."""
        try:
            committed()
        except Exception as error:
            if not self._warned:
                _LOG.warning(
                    "source `%s` could not be told what is published: %s; it is told with the next"
                    " micro-batch, and no more is said about it",
                    self._source,
                    reason_of(error),
                )
            self._warned = True
        else:
            self._warned = False
