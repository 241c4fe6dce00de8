"""What tasks must know that fold rows into windows, and merge what was folded."""

from __future__ import annotations

from dataclasses import dataclass

from narrows.errors import InternalError
from narrows.projection.predicate import Predicate
from narrows.projection.window_cut import FixedWindows, Sessions, WindowCut
from narrows.worker.event_time import EventTime
from narrows.worker.read_spec import ComputedColumn, ReadSpec
from narrows.worker.windows.cut import Cut
from narrows.worker.windows.fixed import FixedCut
from narrows.worker.windows.kept import Kept, KeptRows
from narrows.worker.windows.sessions import SessionCut


@dataclass(frozen=True)
class WindowSpec:
    read: ReadSpec
    what: Kept
    """Keys and folds, or rows; without windows."""
    window: WindowCut
    folder: str
    """Where the log of steps is, and the groups."""

    @property
    def cut(self) -> Cut:
        match self.window:
            case FixedWindows(size, hop):
                return FixedCut(size, hop)
            case Sessions(gap):
                return SessionCut(gap)

    @property
    def merges(self) -> bool:
        """Must a task have all groups of a key? Not where they are rows which their time alone puts
        into windows."""
        return self.cut.grows or not isinstance(self.what, KeptRows)

    @property
    def event_time(self) -> EventTime:
        if self.read.event_time is None:
            raise InternalError(f"`{self.read.source}` has no event time")
        return self.read.event_time


@dataclass(frozen=True)
class Finish:
    """What tasks make of a group of a window that closed, whose columns are keys, start, end, and
    folds."""

    columns: tuple[ComputedColumn, ...]
    tests: tuple[Predicate, ...] = ()
