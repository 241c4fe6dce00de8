"""Windows that tasks keep give what plain counting gives, whatever dies between two steps.

Rows come in random micro-batches, out of order; some are too late. A process may die while tasks
fold, while they merge, between writing the step and publishing, and after that: then the same batch
comes again, and must publish the same rows under the same number.

What is kept are partial results, or rows: then what windows give is counted of those that come when
they close.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from narrows.connectors.target import WriteSpec
from narrows.demand import ALL
from narrows.projection.columns import DecodeProjection
from narrows.projection.partial_aggregation import Fold, FoldKind, PartialAggregation
from narrows.projection.values import CastValue, ColumnValue
from narrows.schema import BIGINT, DOUBLE, STRING, Field, Struct
from narrows.stateful.windows.hopping import HoppingWindow
from narrows.stateful.windows.session import SessionWindow
from narrows.stateful.windows.window import SparkWindow
from narrows.worker.event_time import EventTime
from narrows.worker.keeping.steps import GroupsFile
from narrows.worker.read_spec import ReadSpec
from narrows.worker.windows import keeper as keeper_module
from narrows.worker.windows.fold import Folded, fold_rows
from narrows.worker.windows.keeper import Closed, WindowKeeper
from narrows.worker.windows.kept import Kept, KeptRows
from narrows.worker.windows.merge import Merge, MergingTask
from narrows.worker.windows.spec import WindowSpec
from narrows.worker.write import Receipts

Row = tuple[str | None, int | None, int]
"""A key, a value, and a time in milliseconds."""
Made = tuple[Any, ...]
"""A key, a start, an end; how many rows, the sum, the most, and the mean of their values, and how
far these are from it."""

_SCHEMA = Struct((Field("k", STRING), Field("v", BIGINT), Field("ts", BIGINT)))
_WHAT = PartialAggregation(
    keys=((ColumnValue(0), STRING),),
    folds=(
        Fold(FoldKind.COUNT, None, BIGINT),
        Fold(FoldKind.SUM, ColumnValue(1), BIGINT),
        Fold(FoldKind.MAX, ColumnValue(1), BIGINT),
        Fold(FoldKind.MAX_BY, ColumnValue(1), BIGINT, None, (2,)),
        Fold(FoldKind.COUNT, ColumnValue(1), BIGINT),
        Fold(FoldKind.MEAN, CastValue(ColumnValue(1), DOUBLE), DOUBLE, None, (4,)),
        Fold(FoldKind.SQUARES, CastValue(ColumnValue(1), DOUBLE), DOUBLE, None, (4, 5)),
    ),
    names=("k", "n", "s", "m", "b", "c", "a", "q"),
)
_ROWS = {True: KeptRows(keys=((ColumnValue(0), STRING),)), False: KeptRows()}
"""By whether keys cut windows apart."""
_TASKS = 3


class DiedError(Exception):
    pass


@dataclass
class Machine:
    """Tasks and the driver, in a process that may die: then all that is left is on the disk."""

    folder: str
    window: SparkWindow
    what: Kept
    delay: int
    newest: int = 0
    published: dict[int, list[Made]] = field(default_factory=dict)

    @property
    def spec(self) -> WindowSpec:
        read = ReadSpec(
            source="ev",
            connector="file",
            format="json",
            projection=DecodeProjection(_SCHEMA, ALL),
            names=("k", "v", "ts"),
            event_time=EventTime("ts", 2, "ms"),
        )
        assert self.window.cut is not None
        return WindowSpec(read, self.what, self.window.cut, self.folder)

    def batch(self, number: int, rows: Sequence[Row], *, ends: bool, dies: str | None) -> None:
        self.newest = max([self.newest, *(time for _, _, time in rows)])
        keeper, jobs = self._process(dies)
        keeper.begin(number)
        before, _ = keeper.log.before(number)
        folded = [self._fold(rows[task::_TASKS], before.watermark) for task in range(_TASKS)]
        if dies == "fold":
            raise DiedError
        keeper.run(number, [each.file for each in folded if each.file is not None], ends=ends)
        self._publish(keeper, jobs, dies)

    def end(self, dies: str | None) -> None:
        """Another run comes, has nothing to read, and closes what is open."""
        keeper, jobs = self._process(dies)
        if keeper.has_open:
            keeper.close()
            self._publish(keeper, jobs, dies)

    def _process(self, dies: str | None) -> tuple[WindowKeeper, Jobs]:
        jobs = Jobs(self.spec, dies == "merge")
        write, newest = WriteSpec(()), lambda: self.newest
        return WindowKeeper(self.spec, self.window, write, self.delay, newest, jobs), jobs

    def _publish(self, keeper: WindowKeeper, jobs: Jobs, dies: str | None) -> None:
        if dies == "publish":
            raise DiedError
        last = keeper.log.last()
        assert last is not None
        made = sorted(jobs.staged, key=str)
        assert self.published.get(last.number, made) == made, "what is published again differs"
        self.published[last.number] = made
        if dies == "commit":
            raise DiedError

    def _fold(self, rows: Sequence[Row], watermark: int) -> Folded:
        def batches() -> Iterator[pa.RecordBatch]:
            for first in range(0, len(rows), 2):
                columns = list(zip(*rows[first : first + 2], strict=True))
                types = (pa.string(), pa.int64(), pa.int64())
                arrays = [pa.array(c, t) for c, t in zip(columns, types, strict=True)]
                yield pa.RecordBatch.from_arrays(arrays, names=["k", "v", "ts"])

        return fold_rows(self.spec, batches(), watermark * 1_000)


@dataclass
class Jobs:
    """What tasks do when windows close; `staged` is what they wrote."""

    spec: WindowSpec
    dies: bool
    staged: list[Made] = field(default_factory=list)

    def close(self, merge: Merge) -> Closed:
        rest = self._merged(merge)
        if self.dies:
            raise DiedError
        return Closed([Receipts(len(self.staged), [])], rest)

    def compact(self, merge: Merge) -> Sequence[GroupsFile]:
        before = list(self.staged)
        rest = self._merged(merge)
        assert self.staged == before, "nothing closes there"
        return rest

    def _merged(self, merge: Merge) -> Sequence[GroupsFile]:
        rest, rows = [], defaultdict(list)
        for number in range(_TASKS):
            task = MergingTask(self.spec, merge, number, _TASKS)
            for batch in task.rows():
                columns = [column.to_pylist() for column in batch.columns]
                if isinstance(self.spec.what, KeptRows):
                    for start, end, key, value, _ in zip(*columns, strict=True):
                        rows[key, _milliseconds(start), _milliseconds(end)].append(value)
                    continue
                for key, start, end, *folds in zip(*columns, strict=True):
                    times = _milliseconds(start), _milliseconds(end)
                    self.staged.append((key, *times, *map(_rounded, folds)))
            rest += [] if task.rest is None else [task.rest]
        self.staged += [_made(*window, values) for window, values in rows.items()]
        return rest


def _milliseconds(time: datetime) -> int:
    return round(time.timestamp() * 1_000)


# --- plain counting -------------------------------------------------------------------------------


class Counting:
    """What is to come out: all rows are kept, and looked at again and again."""

    def __init__(self, window: SparkWindow, delay: int) -> None:
        self._window, self._delay = window, delay
        self._watermark = self._newest = 0
        self._rows: list[Row] = []
        self.made: list[Made] = []

    def batch(self, rows: Sequence[Row], *, ends: bool) -> None:
        since = self._watermark
        self._newest = max([self._newest, *(time for _, _, time in rows)])
        self._watermark = max(since, self._newest - self._delay)
        if ends:
            latest = max(self._newest, since + self._delay)
            self._watermark = max(since, self._window.closing_time(latest))
        if isinstance(self._window, HoppingWindow):
            self._fixed(self._window, rows, since)
        else:
            assert isinstance(self._window, SessionWindow)
            self._sessions(self._window.gap, rows, since)

    def _fixed(self, window: HoppingWindow, rows: Sequence[Row], since: int) -> None:
        kept = []
        for key, value, time in rows:
            last = time // window.hop * window.hop
            starts = range(last, time - window.size, -window.hop)
            kept += [(key, value, start) for start in starts if start + window.size > since]
        self._rows += kept
        groups = defaultdict(list)
        for key, value, start in self._rows:
            if start + window.size <= self._watermark:
                groups[key, start].append(value)
        self._rows = [row for row in self._rows if row[2] + window.size > self._watermark]
        for (key, start), values in groups.items():
            self.made.append(_made(key, start, start + window.size, values))

    def _sessions(self, gap: int, rows: Sequence[Row], since: int) -> None:
        self._rows += [row for row in rows if row[2] + gap > since]
        by_key = defaultdict(list)
        for row in sorted(self._rows, key=lambda row: row[2]):
            by_key[row[0]].append(row)
        self._rows = []
        for key, mine in by_key.items():
            sessions: list[list[Row]] = []
            for row in mine:
                touches = sessions and row[2] <= sessions[-1][-1][2] + gap
                sessions[-1].append(row) if touches else sessions.append([row])
            for session in sessions:
                end = session[-1][2] + gap
                if end <= self._watermark:
                    self.made.append(_made(key, session[0][2], end, [v for _, v, _ in session]))
                else:
                    self._rows += session


def _made(key: str | None, start: int, end: int, values: Sequence[int | None]) -> Made:
    known = [value for value in values if value is not None]
    most = max(known, default=None)
    if not known:
        return key, start, end, len(values), None, None, None, 0, None, None
    mean = sum(known) / len(known)
    moments = (len(known), _rounded(mean), _rounded(sum((v - mean) ** 2 for v in known)))
    return key, start, end, len(values), sum(known), most, most, *moments


def _rounded(value: float | None) -> float | None:
    """Without the last digits, which depend on the order of additions."""
    return round(value, 6) + 0.0 if isinstance(value, float) else value


# --- both -----------------------------------------------------------------------------------------

_WINDOWS = (HoppingWindow(10, 10), HoppingWindow(10, 5), HoppingWindow(10, 4), SessionWindow(5))
_DEATHS = (None, None, "fold", "merge", "publish", "commit")
_ROW = st.tuples(
    st.sampled_from(["a", "b", "c", "", None]),
    st.none() | st.integers(-5, 5),
    st.integers(0, 30),
)


@pytest.mark.parametrize("keeps_rows", [False, True], ids=["folded", "rows"])
@pytest.mark.parametrize("window", _WINDOWS, ids=str)
@settings(max_examples=15, deadline=None)
@given(
    batches=st.lists(st.tuples(st.lists(_ROW, max_size=8), st.sampled_from(_DEATHS)), max_size=8),
    step=st.integers(0, 20),
    delay=st.sampled_from([0, 3]),
    ends=st.booleans(),
    last_death=st.sampled_from((None, "merge")),
)
def test_windows_give_what_counting_gives(
    window: SparkWindow,
    keeps_rows: bool,
    batches: list[tuple[list[Row], str | None]],
    step: int,
    delay: int,
    ends: bool,
    last_death: str | None,
) -> None:
    counting = Counting(window, delay)
    what = _ROWS[isinstance(window, SessionWindow)] if keeps_rows else _WHAT
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(keeper_module, "_MANY_FILES", 3)
        machine = Machine(folder, window, what, delay)
        for number, (rows, dies) in enumerate(batches):
            moved = [(key, value, time + number * step) for key, value, time in rows]
            is_last = ends and number == len(batches) - 1
            counting.batch(moved, ends=is_last)
            with suppress(DiedError):
                machine.batch(number, moved, ends=is_last, dies=dies)
            if dies is not None:
                machine.batch(number, moved, ends=is_last, dies=None)
        counting.batch([], ends=True)
        with suppress(DiedError):
            machine.end(last_death)
        machine.end(None)
    made = [row for rows in machine.published.values() for row in rows]
    assert Counter(made) == Counter(counting.made)
