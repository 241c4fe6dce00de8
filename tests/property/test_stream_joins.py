"""Two streams that tasks join give what somebody gives who sees all rows of both at once, whatever
dies between two steps.

Rows of both come in random micro-batches, to a random number of tasks, in any order; some come too
late. A process may die while tasks join, between writing the logs of both sides, between writing a
step and publishing, and after that: then the same batch comes again, and must publish the same rows
under the same number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, TypeAlias

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from narrows.connectors.target import WriteSpec
from narrows.worker.joining.side import TIME, two_sides
from narrows.worker.joining.task import LEFT, JoinSpec
from narrows.worker.keeping import fewer_files
from narrows.worker.keeping.steps import GroupsFile, Step, StepLog
from narrows.worker.remembered import keeper as keeper_module
from narrows.worker.remembered.keeper import MemoryKeeper, Merging, Time, place_of
from narrows.worker.write import Receipts

_SCHEMAS = tuple(pa.schema([(f"{side}k", pa.float64()), (f"{side}n", pa.int64())]) for side in "lr")


class Row(NamedTuple):
    is_left: bool
    key: float | None
    second: int
    """When it happened."""


Made: TypeAlias = tuple[object, ...]


class How(NamedTuple):
    waits: tuple[bool, bool]
    once: bool
    first: int | None
    last: int | None
    """Seconds."""

    def matches(self, left: Row, right: Row) -> bool:
        later = right.second - left.second
        return (
            left.key is not None
            and left.key == right.key
            and (self.first is None or self.first <= later)
            and (self.last is None or later <= self.last)
        )

    @property
    def goes_by_time(self) -> bool:
        return self.first is not None or self.last is not None


class DiedError(Exception):
    pass


@dataclass
class Machine:
    """Tasks and the driver, in a process that may die: then all that is left is on the disk."""

    folder: Path
    how: How
    newest: list[int] = field(default_factory=lambda: [0, 0])
    published: dict[int, list[Made]] = field(default_factory=dict)

    def batch(self, number: int, rows: Sequence[tuple[int, Row]], tasks: int, dies: str) -> None:
        for place in range(2):
            mine = [row.second for _, row in rows if row.is_left == (place == 0)]
            self.newest[place] = max([self.newest[place], *mine])
        jobs = Jobs(self, rows, dies)
        time = Time(lambda: 1_000 * min(self.newest), lambda: 0)
        keeper = MemoryKeeper(
            [self.spec.left, self.spec.right],
            WriteSpec(()),
            jobs,
            time if self.how.goes_by_time else None,
        )
        keeper.run(number, tasks)
        made = sorted(jobs.staged, key=str)
        assert self.published.get(jobs.step, made) == made, "what is published again differs"
        self.published[jobs.step] = made
        if dies == "commit":
            raise DiedError

    @property
    def spec(self) -> JoinSpec:
        folders = str(place_of(self.folder, 0)), str(place_of(self.folder, 1))
        second = 1_000_000
        within = tuple(None if n is None else n * second for n in (self.how.first, self.how.last))
        sides = two_sides(folders, 1, (within[0], within[1]), self.how.waits, once=self.how.once)
        left, right = (
            replace(side, schema=schema) for side, schema in zip(sides, _SCHEMAS, strict=True)
        )
        return JoinSpec(left, right, self.how.once)


@dataclass
class Jobs:
    machine: Machine
    rows: Sequence[tuple[int, Row]]
    dies: str
    staged: list[Made] = field(default_factory=list)
    step: int = -1

    def read(self, batch: int, tasks: int, step: int, attempt: str) -> Sequence[Receipts]:
        for task in range(tasks):
            mine = [each for each in self.rows if hash(each[1].key or 0.0) % tasks == task]
            self._stage(self.machine.spec.remember(_batches(mine), batch, attempt, task))
            if self.dies == "read":
                raise DiedError
        return self._told(step)

    def advance(self, batch: int, tasks: int, step: int, attempt: str) -> Sequence[Receipts]:
        for task in range(tasks):
            self._stage(self.machine.spec.advance(attempt, task, tasks))
        return self._told(step)

    def merge(self, merge: Merging) -> Sequence[GroupsFile]:
        made = [merge.run(task, 2) for task in range(2)]
        return [file for file in made if file is not None]

    def _stage(self, batches: Iterator[pa.RecordBatch]) -> None:
        for batch in batches:
            self.staged += zip(*(column.to_pylist() for column in batch.columns), strict=True)

    def _told(self, step: int) -> list[Receipts]:
        self.step = step
        return [Receipts(len(self.staged), [])]


def _batches(rows: Sequence[tuple[int, Row]]) -> Iterator[pa.RecordBatch]:
    """Rows beside NULLs for the columns of the other side, three at a time."""
    for first in range(0, len(rows), 3):
        some = rows[first : first + 3]
        columns = {
            "key0": pa.array([row.key for _, row in some], pa.float64()),
            TIME: pa.array([row.second * 1_000_000 for _, row in some], pa.int64()),
            LEFT: pa.array([row.is_left for _, row in some]),
        }
        for schema, is_left in zip(_SCHEMAS, (True, False), strict=True):
            keys = [row.key if row.is_left == is_left else None for _, row in some]
            numbers = [number if row.is_left == is_left else None for number, row in some]
            columns[schema.names[0]] = pa.array(keys, pa.float64())
            columns[schema.names[1]] = pa.array(numbers, pa.int64())
        yield pa.RecordBatch.from_pydict(columns)


# --- somebody who sees all rows at once -----------------------------------------------------------


def _expected(how: How, batches: Sequence[Sequence[tuple[int, Row]]]) -> list[Made]:
    taken: list[tuple[int, Row]] = []
    newest, watermark = [0, 0], 0
    for rows in batches:
        taken += [each for each in rows if not how.goes_by_time or each[1].second > watermark]
        for _, row in rows:
            newest[0 if row.is_left else 1] = max(newest[0 if row.is_left else 1], row.second)
        watermark = max(watermark, min(newest))
    lefts = [each for each in taken if each[1].is_left]
    rights = [each for each in taken if not each[1].is_left]
    pairs = [(left, right) for left in lefts for right in rights if how.matches(left[1], right[1])]
    if how.once:
        given = {left for left, _ in pairs}
        return [(row.key, number) for number, row in given]
    made: list[Made] = [(a[1].key, a[0], b[1].key, b[0]) for a, b in pairs]
    for waits, rows, place in zip(how.waits, (lefts, rights), range(2), strict=True):
        if not waits:
            continue
        last = how.last if place == 0 else -(how.first or 0)
        assert last is not None
        matched = {pair[place] for pair in pairs}
        for number, row in rows:
            over = row.key is None or row.second + max(last, 0) <= watermark
            if over and (number, row) not in matched:
                mine: Made = (row.key, number)
                made.append((*mine, None, None) if place == 0 else (None, None, *mine))
    return made


_EVERY = 3
"""Seconds from one micro-batch to the next; rows may come in one that is later than theirs."""
_ROW = st.builds(
    Row, st.booleans(), st.sampled_from([0.0, -0.0, 1.0, None]), st.integers(1, 1 + 2 * _EVERY)
)
_WITHIN = st.tuples(st.integers(-4, 2), st.integers(0, 8)).map(lambda each: (each[0], sum(each)))
_ONE_BOUND = st.sampled_from([(None, None), (None, 3), (-2, None), (1, None)])
_HOWS = st.one_of(
    st.builds(lambda within: How((False, False), False, *within), _WITHIN | _ONE_BOUND),
    st.builds(
        lambda waits, within: How(waits, False, *within),
        st.sampled_from([(True, False), (False, True), (True, True)]),
        _WITHIN,
    ),
    st.builds(lambda within: How((False, False), True, *within), _WITHIN | st.just((None, 3))),
)
_DEATHS = ("", "", "read", "publish", "commit", "logs")


def _dies(*_: object) -> int:
    raise DiedError


def _dying_between_logs(patch: pytest.MonkeyPatch) -> None:
    """The log of the left side is written, that of the right one is not."""
    write = StepLog.write

    def once(self: StepLog, step: Step) -> None:
        if self.folder.name == "1":
            raise DiedError
        write(self, step)

    patch.setattr(StepLog, "write", once)


@settings(max_examples=120, deadline=None)
@given(
    _HOWS,
    st.lists(
        st.tuples(
            st.lists(_ROW, min_size=2, max_size=8),
            st.integers(1, 3),
            st.lists(st.sampled_from(_DEATHS)),
        ),
        min_size=4,
        max_size=10,
    ),
    st.booleans(),
)
def test_joined_as_all_rows_at_once(
    how: How, runs: list[tuple[list[Row], int, list[str]]], merges_often: bool
) -> None:
    numbers = iter(range(1_000))
    batches = [
        [(next(numbers), row._replace(second=row.second + _EVERY * place)) for row in rows]
        for place, (rows, *_) in enumerate(runs)
    ]
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(fewer_files, "_MANY_FILES", 2 if merges_often else 24)
        machine = Machine(Path(folder), how)
        for number, ((_, tasks, deaths), rows) in enumerate(zip(runs, batches, strict=True)):
            for dies in (*deaths[:3], ""):
                with suppress(DiedError), pytest.MonkeyPatch.context() as dying:
                    if dies == "publish":
                        dying.setattr(keeper_module, "publish", _dies)
                    if dies == "logs":
                        _dying_between_logs(dying)
                    machine.batch(number, rows, tasks, dies)
        made = [row for rows in machine.published.values() for row in rows]
        assert sorted(made, key=str) == sorted(_expected(how, batches), key=str)
