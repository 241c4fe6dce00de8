"""What tasks remember of rows gives what is remembered by somebody who sees all rows at once,
whatever dies between two steps.

Rows come in random micro-batches, to a random number of tasks. A process may die while tasks
remember, between writing the logs of two places, between writing a step and publishing, and after
that: then the same batch comes again, and must publish the same rows under the same number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from narrows.connectors.target import WriteSpec
from narrows.schema import BIGINT, STRING
from narrows.stateful.folds.counts import Count
from narrows.stateful.folds.fold import Folding
from narrows.stateful.functions.accumulations import AccSum
from narrows.stateful.functions.earlier import Lag
from narrows.stateful.functions.evaluate import BoundFunction, RowCalls
from narrows.stateful.windows.count import CountWindow
from narrows.stateful.windows.sliding import SlidingWindow
from narrows.worker.keeping import fewer_files
from narrows.worker.keeping.steps import GroupsFile, Step, StepLog
from narrows.worker.remembered import distinct_rows
from narrows.worker.remembered import keeper as keeper_module
from narrows.worker.remembered.distinct_rows import DistinctRows
from narrows.worker.remembered.functions import Functions, ResultType
from narrows.worker.remembered.groups import ChangedGroups
from narrows.worker.remembered.keeper import MemoryKeeper, Merging, Time, place_of
from narrows.worker.remembered.store import KeptKeys
from narrows.worker.remembered.task import Remembers, RememberSpec
from narrows.worker.remembered.windows import BOUNDS, TIME, RowShape, RowWindows
from narrows.worker.write import Receipts

Row = tuple[str | None, int | None]
_ROW_COLUMNS = ("k", "v")
Made = tuple[Any, ...]

_FUNCTIONS = Functions(
    RowCalls(
        ("k", "v", "place"),
        "place",
        ("v",),
        (BoundFunction(Lag(2), (0,)), BoundFunction(AccSum(), (0,))),
        ("before", "total"),
    ),
    (ResultType(0, BIGINT), ResultType(None, BIGINT)),
)
_GROUPS = ChangedGroups(
    Folding(1, (Count(),)),
    ("k", "one"),
    "place",
    (("made0", STRING), ("made1", BIGINT), ("op", STRING)),
)
_WINDOWS = RowWindows(
    CountWindow(3).folding(Folding(1, (Count(),))),
    RowShape(("k", "one"), "place", (), ("made0", "made1")),
    (pa.string(), pa.int64()),
    goes_by_time=False,
)
_SLIDING = RowWindows(
    SlidingWindow(5, 2).folding(Folding(1, (Count(),))),
    RowShape(("k", "one"), "place", (), ("made0", "made1")),
    (pa.string(), pa.int64()),
    goes_by_time=True,
)
_DISTINCT = DistinctRows()
_APART = 4
"""Milliseconds between the last row of a batch and the first of the next, at least."""


def _time(batch: int, place: int) -> int:
    """When a row came, in milliseconds; later ones have later times."""
    return 1 + batch * (8 + _APART) + place


class DiedError(Exception):
    pass


def _table(batch: int, rows: Sequence[tuple[int, Row]]) -> list[pa.RecordBatch]:
    """Rows with their places, in batches of two, the last ones first: order is not that of rows."""
    batches = []
    for first in range(0, len(rows), 2):
        some = rows[first : first + 2]
        places = [{"batch": batch, "row": place} for place, _ in some]
        columns = {
            "k": pa.array([key for _, (key, _) in some], pa.string()),
            "v": pa.array([value for _, (_, value) in some], pa.int64()),
            "one": pa.array([True] * len(some)),
            TIME: pa.array([1_000 * _time(batch, place) for place, _ in some], pa.int64()),
            "place": pa.array(
                places, pa.struct([pa.field("batch", pa.int64()), pa.field("row", pa.int64())])
            ),
        }
        batches.append(pa.RecordBatch.from_pydict(columns))
    return batches[::-1]


@dataclass
class Machine:
    """Tasks and the driver, in a process that may die: then all that is left is on the disk."""

    folder: Path
    what: Sequence[Remembers]
    """At each of the places, side by side."""
    published: dict[int, list[Made]] = field(default_factory=dict)
    newest: int = 0

    def batch(self, number: int, rows: Sequence[Row], tasks: int, dies: str | None) -> None:
        self.newest = max(self.newest, _time(number, len(rows) - 1) if rows else 0)
        keeper, jobs = self._process(dies, rows)
        keeper.run(number, tasks)
        self._publish(jobs, dies)
        self._died(dies, "commit")

    def end(self, tasks: int, dies: str | None) -> None:
        keeper, jobs = self._process(dies, ())
        if keeper.has_open:
            keeper.close(tasks)
            self._publish(jobs, dies)

    def _process(self, dies: str | None, rows: Sequence[Row]) -> tuple[MemoryKeeper, Jobs]:
        jobs = Jobs(self, rows, dies)
        time = Time(lambda: self.newest, lambda: SlidingWindow(5, 2).closing_time(self.newest))
        places = [KeptKeys(self.spec(place).folder) for place in range(len(self.what))]
        return MemoryKeeper(places, WriteSpec(()), jobs, time), jobs

    def _publish(self, jobs: Jobs, dies: str | None) -> None:
        made = sorted(jobs.staged, key=str)
        assert self.published.get(jobs.step, made) == made, "what is published again differs"
        self.published[jobs.step] = made

    def _died(self, dies: str | None, where: str) -> None:
        if dies == where:
            raise DiedError

    def spec(self, place: int) -> RememberSpec:
        what = self.what[place]
        keys = _ROW_COLUMNS if what is _DISTINCT else _ROW_COLUMNS[:1]
        return RememberSpec(str(place_of(self.folder, place)), keys, what)


@dataclass
class Jobs:
    machine: Machine
    rows: Sequence[Row]
    dies: str | None
    staged: list[Made] = field(default_factory=list)
    step: int = -1

    def read(self, batch: int, tasks: int, step: int, attempt: str) -> Sequence[Receipts]:
        numbered = list(enumerate(self.rows))
        for task in range(tasks):
            mine = [each for each in numbered if hash(each[1][0]) % tasks == task]
            for place in range(len(self.machine.what)):
                given = _table(batch, mine)
                if self.machine.what[place] is _DISTINCT:  # rows are nothing but their keys
                    given = [rows.select(list(_ROW_COLUMNS)) for rows in given]
                made = self.machine.spec(place).remember(iter(given), batch, attempt, task)
                self._stage(place, made)
            if self.dies == "read":
                raise DiedError
        return self._told(step)

    def advance(self, batch: int, tasks: int, step: int, attempt: str) -> Sequence[Receipts]:
        for task in range(tasks):
            for place in range(len(self.machine.what)):
                self._stage(place, self.machine.spec(place).advance(attempt, task, tasks))
        return self._told(step)

    def merge(self, merge: Merging) -> Sequence[GroupsFile]:
        made = [merge.run(task, 2) for task in range(2)]
        return [file for file in made if file is not None]

    def _stage(self, place: int, batches: Iterator[pa.RecordBatch]) -> None:
        for batch in batches:
            names = [n for n in batch.schema.names if n not in ("place", *BOUNDS)]
            columns = [batch.column(name).to_pylist() for name in names]
            self.staged += [(place, *values) for values in zip(*columns, strict=True)]

    def _told(self, step: int) -> list[Receipts]:
        self.step = step
        return [Receipts(len(self.staged), [])]


# --- somebody who sees all rows at once -----------------------------------------------------------


def _functions(batches: Sequence[Sequence[Row]]) -> list[Made]:
    seen: dict[str | None, list[int | None]] = {}
    made: list[Made] = []
    for key, value in (row for rows in batches for row in rows):
        values = seen.setdefault(key, [])
        before = values[-2] if len(values) > 1 else None
        values.append(value)
        known = [each for each in values if each is not None]
        made.append((key, value, before, sum(known) if known else None))
    return made


def _groups(batches: Sequence[Sequence[Row]]) -> list[Made]:
    counts: dict[str | None, int] = {}
    made: list[Made] = []
    for rows in batches:
        for key in dict.fromkeys(key for key, _ in rows):
            if key in counts:
                made.append((key, counts[key], "retract"))
            counts[key] = counts.get(key, 0) + sum(other == key for other, _ in rows)
            made.append((key, counts[key], "insert"))
    return made


def _windows(batches: Sequence[Sequence[Row]]) -> list[Made]:
    counts: dict[str | None, int] = {}
    for key, _ in (row for rows in batches for row in rows):
        counts[key] = counts.get(key, 0) + 1
    made: list[Made] = []
    for key, count in counts.items():
        made += [(key, 3)] * (count // 3) + ([(key, count % 3)] if count % 3 else [])
    return made


def _sliding(batches: Sequence[Sequence[Row]]) -> list[Made]:
    """Of each row those of its key around it; with the time at which it is known."""
    rows = [
        (_time(number, place), key)
        for number, some in enumerate(batches)
        for place, (key, _) in enumerate(some)
    ]
    return [
        (key, sum(other == key and time - 5 <= at <= time + 2 for at, other in rows), time + 2)
        for time, key in rows
    ]


def _distinct(batches: Sequence[Sequence[Row]]) -> list[Made]:
    return list(dict.fromkeys(row for rows in batches for row in rows))


_ALL = (
    (_FUNCTIONS, _functions),
    (_GROUPS, _groups),
    (_WINDOWS, _windows),
    (_SLIDING, _sliding),
    (_DISTINCT, _distinct),
)
_DEATHS = (None, None, "read", "publish", "commit", "logs")
_ROW = st.tuples(st.sampled_from(["a", "b", "c", "", None]), st.none() | st.integers(-5, 5))


def _dies(*_: object) -> int:
    raise DiedError


def _dying_between_logs(patch: pytest.MonkeyPatch) -> None:
    """The log of the first place is written, that of the second is not."""
    write = StepLog.write

    def once(self: StepLog, step: Step) -> None:
        if self.folder.name == "1" and not step.closing:
            raise DiedError
        write(self, step)

    patch.setattr(StepLog, "write", once)


@settings(max_examples=25, deadline=None)
@given(
    batches=st.lists(
        st.tuples(
            st.lists(_ROW, max_size=8), st.sampled_from((1, 1, 2, 3)), st.sampled_from(_DEATHS)
        ),
        max_size=10,
    ),
    end=st.booleans(),
)
def test_what_is_remembered_is_what_was_seen(
    batches: list[tuple[list[Row], int, str | None]], end: bool
) -> None:
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(fewer_files, "_MANY_FILES", 3)
        patch.setattr(distinct_rows, "_LOOKED_AT_TOGETHER", 3)
        machine = Machine(Path(folder), [what for what, _ in _ALL])
        for number, (rows, tasks, dies) in enumerate(batches):
            with suppress(DiedError), pytest.MonkeyPatch.context() as dying:
                if dies == "logs":
                    _dying_between_logs(dying)
                if dies == "publish":
                    dying.setattr(keeper_module, "publish", _dies)
                machine.batch(number, rows, tasks, dies)
            if dies is not None:
                machine.batch(number, rows, tasks, None)
        if end:
            with suppress(DiedError), pytest.MonkeyPatch.context() as dying:
                dying.setattr(keeper_module, "publish", _dies)
                machine.end(2, None)
            machine.end(2, None)
            machine.end(1, None)
    made = [row for rows in machine.published.values() for row in rows]
    for place, (_, reference) in enumerate(_ALL):
        expected = reference([rows for rows, _, _ in batches])
        if reference is _windows and not end:
            expected = [(key, count) for key, count in expected if count == 3]
        if reference is _sliding:
            known = machine.newest if not end else 10**9
            expected = [(key, count) for key, count, time in expected if time <= known]
        found = [values for at, *values in made if at == place]
        assert sorted(map(str, found)) == sorted(str([*values]) for values in expected)
