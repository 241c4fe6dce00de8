"""How long to wait between two looks at a source.

Where what comes must not wait, pauses are as short as can be (`Pauses`):

    something new     none      the next is likely to be there
    nothing           1, 2, 4, 8, 16, 16 ... milliseconds

They are milliseconds, so a look must not be dear: a pause is at least twice as long as the look
before it, for who looks at a folder of a hundred thousand files must not do nothing else.

Where somebody has said how often (`--trigger`), that is when the clock shows a multiple of it
(`Ticks`), as with micro-batches of Spark's; who was not done in time goes on at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

_SHORTEST, _LONGEST = 0.001, 0.016
_LOOKING_SHARE = 2


class Looks(Protocol):
    """Of one thread that looks."""

    def after(self, took: float, *, found: bool) -> float:
        """Seconds to wait after a look that took so many seconds, with what was done about what it
        found, if it did."""


class Pauses:
    """As short as can be."""

    def __init__(self, longest: float = _LONGEST) -> None:
        self._longest = longest
        self._next = _SHORTEST

    def found(self) -> None:
        """There was something new."""
        self._next = _SHORTEST

    def after(self, took: float, *, found: bool = False) -> float:
        if found:
            self.found()
            return 0.0
        pause, self._next = self._next, min(2 * self._next, self._longest)
        return max(pause, _LOOKING_SHARE * took)


class Ticks:
    """Every so many seconds."""

    def __init__(self, every: float, clock: Callable[[], float] = time.time) -> None:
        self._every = every
        self._clock = clock

    def after(self, took: float, *, found: bool) -> float:
        now = self._clock()
        following = ((now - took) // self._every + 1) * self._every
        return max(0.0, following - now)
