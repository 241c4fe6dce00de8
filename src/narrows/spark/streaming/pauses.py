"""Pauses between two looks at a source, where what comes must not wait.

    something new     1 ms      the next is likely to come soon
    nothing           2, 4, 8, 16, 16 ...

They are milliseconds, so a look must not be dear: a pause is at least twice as long as the look
before it, for who looks at a folder of a hundred thousand files must not do nothing else.
"""

from __future__ import annotations

_SHORTEST, _LONGEST = 0.001, 0.016
_LOOKING_SHARE = 2


class Pauses:
    """Of one thread that looks."""

    def __init__(self) -> None:
        self._next = _SHORTEST

    def found(self) -> None:
        """There was something new."""
        self._next = _SHORTEST

    def after(self, looked: float) -> float:
        """Seconds to wait after a look that took so many seconds and found nothing."""
        pause, self._next = self._next, min(2 * self._next, _LONGEST)
        return max(pause, _LOOKING_SHARE * looked)
