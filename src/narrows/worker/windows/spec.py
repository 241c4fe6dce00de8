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
    def sorted_by(self) -> int | None:
        """How many columns of groups say which task merges them; None: any may, for nobody has to
        have those of a key together."""
        if isinstance(self.what, KeptRows) and not self.cut.grows:
            return None
        return len(self.what.keys)

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
