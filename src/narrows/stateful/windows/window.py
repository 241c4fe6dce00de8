"""What a kind of stream window is: the base of all of them.

There are two ways to cut a stream. Where Spark has such windows itself, a kind only says which of
its functions it is (`SparkWindow`). All others are cut by the rows, here (`RowWindow`): in a stream
batch by batch, in a query all at once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, NamedTuple

from narrows.errors import InternalError
from narrows.projection.window_cut import WindowCut
from narrows.stateful.arguments import Declared
from narrows.stateful.folds.fold import Folding
from narrows.stateful.rows import WindowRow


class StreamWindow(Declared, ABC):
    """Lengths, and the times asked for here, are milliseconds."""

    cut_by_rows: ClassVar[bool]
    """Do rows cut it, in their order, or does Spark?"""
    goes_by_time: ClassVar[bool]
    """Does it close as time goes by? Otherwise it closes with a row, or at the end of the input."""
    row_time_decides: ClassVar[bool] = False
    """Does a row's own time alone put it into its windows? Then rows that a later filter drops can
    be dropped before they reach the window."""
    keys_cut: ClassVar[bool] = True
    """Has each key of GROUP BY windows of its own? Otherwise only `OVER (PARTITION BY ...)` does
    that, and keys group the rows of a window."""

    @property
    def period(self) -> int:
        """How often, in quiet times, somebody has to look whether a window is over."""
        return 1_000

    def closing_time(self, newest: int) -> int:
        """The time at which all windows are over, when no row is newer than `newest`.

        Rows may be newer by less than a millisecond, so windows that end with a row get one more.
        """
        return newest + 1


class SparkWindow(StreamWindow):
    """Cut by one of Spark's own functions, so that it can keep sums and counts instead of rows."""

    cut_by_rows = False
    goes_by_time = True
    needs_key: ClassVar[bool] = False
    """Whether Spark, in a stream, has it only beside a key."""

    @abstractmethod
    def spark_call(self, time: str) -> str:
        """Spark's function as SQL; `time` is the text of the column that rows have their time in.
        It gives a struct of `start` and `end`."""

    @property
    def cut(self) -> WindowCut | None:
        """How tasks can cut it as well, into the same windows; None: only Spark can."""
        return None


class Closed(NamedTuple):
    """A window that closed. Its number is unique among the windows of its key; times are
    microseconds. Where a window folds, its rows are those that it has made of its groups."""

    number: int
    start: int
    end: int
    rows: Sequence[WindowRow]


Open = Any
"""What a key's open windows hold: rows and plain data, for it goes into a checkpoint
(`stored.py`)."""


class Cutter(ABC):
    """Takes what is open and the new rows of a key, in the order of the source, to what is open
    afterwards and the windows that closed. Times are microseconds."""

    @abstractmethod
    def start(self) -> Open: ...

    @abstractmethod
    def step(self, state: Open, rows: Sequence[WindowRow]) -> tuple[Open, list[Closed]]:
        """New rows, in the order of the source."""

    @abstractmethod
    def advance(self, state: Open, until: int | None) -> tuple[Open, list[Closed]]:
        """The time moves on: no row before `until` will come. None: no row will come at all."""

    @abstractmethod
    def due(self, state: Open) -> int | None:
        """The next time at which something closes without another row; None for never."""

    @abstractmethod
    def is_empty(self, state: Open) -> bool:
        """Is nothing open that another row, or the end of the input, could close?"""


class RowWindow(StreamWindow, Cutter):
    """Cut by rows: keeps them until it closes, or folds them (`folding`)."""

    cut_by_rows = True
    takes_every_row: ClassVar[bool] = False
    """Is every row in some window? Otherwise nothing may be computed of a row that could fail
    before it is known whether the row is in one."""
    folds_to: ClassVar[str | None] = None
    """What it keeps where it folds: `aggregates`, or the `arguments` of aggregates for each row.
    None: it can only keep its rows."""

    def folding(self, folding: Folding) -> Cutter:
        """The same window, of which only the results of folds are wanted."""
        raise InternalError(f"a {self.name} keeps its rows")


def run_to_end(window: Cutter, rows: Iterable[WindowRow]) -> list[Closed]:
    """All windows of a key whose rows are all there."""
    state, closed = window.step(window.start(), list(rows))
    _, rest = window.advance(state, None)
    return [*closed, *rest]
