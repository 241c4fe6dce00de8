"""How readers cut a stream into windows, where they do it themselves.

Plain data, made by the planner from a window's own constants (`physical/window_groups.py`) and run
by `worker/windows/`. Lengths are microseconds.
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
