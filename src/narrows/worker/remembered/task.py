"""What a task does with the rows of an entry: finds what is kept of their keys, goes on from there,
and leaves what has come of it. Nobody takes that for what is kept until the step says so
(`worker/keeping/steps.py`), so a task may run twice, and a batch may come again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from narrows.errors import InternalError
from narrows.files.atomic import temporary_for
from narrows.files.small import read_small, write_small
from narrows.stateful.stored import from_bytes, to_bytes
from narrows.worker.keeping.steps import GroupsFile, StepLog
from narrows.worker.remembered.keys import KeyedRows, keyed_rows
from narrows.worker.remembered.store import all_kept, find_kept, write_kept

_TOLD, _ADVANCE = "told", "advance.json"
_MAGIC = "narrows-advance-1"
_SHIPPED_ROWS = 16_384


class Remembers(Protocol):
    """What remembers rows."""

    @property
    def order(self) -> str | None:
        """The column that has each row's place in its source; None where it makes no
        difference."""

    def needed(self, rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows that make a difference. They will be in memory together."""

    def in_time(self, table: pa.Table, since: int) -> pa.Table:
        """The rows that are not too late, where the watermark is there; microseconds."""

    def run(
        self, table: pa.Table, keyed: KeyedRows, kept: Sequence[Any]
    ) -> tuple[pa.Table, Sequence[Any]]:
        """What it gives for the rows of some keys, and what is to be kept of each key then. `kept`
        is what was kept of each; None: nothing."""

    def advance(
        self, kept: Sequence[Any], until: int | None
    ) -> tuple[pa.Table, Sequence[Any]] | None:
        """The same for keys of which something is kept, as time goes by: no row will come with a
        time before `until`, or, where that is None, at all. None if that makes no difference.
        Times are microseconds."""

    def due(self, kept: Any) -> int | None:
        """When something happens to what is kept of a key, though no row comes."""


class Remembering(Protocol):
    """What a task does that keeps something in one place, or in several. Carried to the workers."""

    def remember(
        self, rows: Iterator[pa.RecordBatch], batch: int, attempt: str, task: int
    ) -> Iterator[pa.RecordBatch]:
        """What one task gives for its rows of an entry. What it keeps it tells under the name of
        the attempt."""

    def advance(self, attempt: str, task: int, tasks: int) -> Iterator[pa.RecordBatch]:
        """What one of so many tasks gives as time goes by, of its share of the keys."""


@dataclass(frozen=True)
class Told:
    """What a task has done with its rows."""

    files: tuple[GroupsFile, ...] = ()
    late: int = 0
    """Rows that it has not taken."""


@dataclass(frozen=True)
class RememberSpec:
    folder: str
    keys: tuple[str, ...]
    """The columns that have the keys."""
    what: Remembers

    def remember(
        self, rows: Iterator[pa.RecordBatch], batch: int, attempt: str, task: int
    ) -> Iterator[pa.RecordBatch]:
        before, _ = StepLog(self.folder).before(batch)
        batches = [each for each in self.what.needed(rows) if each.num_rows]
        told = Told()
        if batches:
            table = self.what.in_time(pa.Table.from_batches(batches), before.watermark * 1_000)
            told = Told(late=sum(each.num_rows for each in batches) - table.num_rows)
            if table.num_rows:
                keyed = keyed_rows(table, self.keys, self.what.order)
                found = find_kept(self.folder, before.files, keyed.keys)
                kept = [None if held is None else from_bytes(held) for held in found]
                made, remembered = self.what.run(table, keyed, kept)
                told = replace(told, files=self._written(keyed.keys, remembered))
                yield from made.combine_chunks().to_batches(max_chunksize=_SHIPPED_ROWS)
        tell(self.folder, attempt, task, told)

    def advance(self, attempt: str, task: int, tasks: int) -> Iterator[pa.RecordBatch]:
        now = read_advance(self.folder)
        left: list[GroupsFile] = []
        for keys, held in all_kept(self.folder, now.files, task, tasks, now.until):
            advanced = self.what.advance([*map(from_bytes, held)], now.until)
            if advanced is None:
                break
            made, remembered = advanced
            left += self._written(keys, remembered)
            yield from made.combine_chunks().to_batches(max_chunksize=_SHIPPED_ROWS)
        tell(self.folder, attempt, task, Told(tuple(left)))

    def _written(
        self, keys: Sequence[pa.Array], remembered: Sequence[Any]
    ) -> tuple[GroupsFile, ...]:
        kept = [None if each is None else to_bytes(each) for each in remembered]
        due = [None if each is None else self.what.due(each) for each in remembered]
        file = write_kept(self.folder, keys, kept, due)
        return () if file is None else (file,)


# --- between the driver and its tasks -------------------------------------------------------------


@dataclass(frozen=True)
class Advance:
    """What tasks have to do as time goes by: with which files, and from when until when
    (microseconds); None: the input has ended."""

    files: tuple[GroupsFile, ...]
    since: int
    until: int | None


def write_advance(folder: str | Path, now: Advance) -> None:
    """Says what the tasks of the next job have to do: in a file, for the job may be an old one."""
    files = [list(file) for file in now.files]
    fields = {"files": files, "since": now.since, "until": now.until}
    write_small(Path(folder) / _ADVANCE, _MAGIC, fields)


def read_advance(folder: str | Path) -> Advance:
    found = read_small(Path(folder) / _ADVANCE, _MAGIC, "what is to be done", "start again")
    files = tuple(GroupsFile(*file) for file in found["files"])
    return Advance(files, found["since"], found["until"])


def tell(folder: str, attempt: str, task: int, told: Told) -> None:
    path = Path(folder) / _TOLD / f"{attempt}.{task}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = temporary_for(path)
    temporary.write_text(json.dumps([told.files, told.late]), "utf-8")
    temporary.replace(path)


def told(folder: str | Path, attempt: str, tasks: int) -> Told:
    """What the tasks of a job have told. It is an error if one of them has not."""
    files: list[GroupsFile] = []
    late = 0
    for task in range(tasks):
        try:
            text = (Path(folder) / _TOLD / f"{attempt}.{task}.json").read_text("utf-8")
        except FileNotFoundError:
            what = f"task {task} of {tasks} has not told what it keeps: {folder}"
            raise InternalError(what) from None
        of_task, late_there = json.loads(text)
        files += [GroupsFile(*file) for file in of_task]
        late += late_there
    return Told(tuple(files), late)


def sweep_told(folder: str | Path) -> None:
    """Removes what tasks have told: it has been read, or will be told again."""
    told = Path(folder) / _TOLD
    for path in told.iterdir() if told.is_dir() else ():
        path.unlink(missing_ok=True)
