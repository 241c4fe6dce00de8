"""How readers cut a stream into windows, where they do it themselves.

Plain data: a kind of window says it of itself (`stateful/windows/`), and `worker/windows/` does it.
Lengths are microseconds.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FixedWindows:
    """Tumbling and hopping windows: all of one size, a new one with every hop."""

    size: int
    hop: int


@dataclass(frozen=True)
class Sessions:
    """Windows that end when no row has come for so long."""

    gap: int


WindowCut = FixedWindows | Sessions
