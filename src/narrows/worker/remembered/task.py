"""What a task does with the rows of an entry: finds what is kept of their keys, goes on from there,
and leaves what has come of it. Nobody takes that for what is kept until the step says so
(`worker/windows/steps.py`), so a task may run twice, and a batch may come again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from narrows.files.atomic import temporary_for
from narrows.stateful.stored import from_bytes, to_bytes
from narrows.worker.remembered.keys import KeyedRows, keyed_rows
from narrows.worker.remembered.store import all_kept, find_kept, write_kept
from narrows.worker.windows.steps import GroupsFile, StepLog

_TOLD = "told"
_SHIPPED_ROWS = 16_384


class Remembers(Protocol):
    """What remembers rows."""

    @property
    def order(self) -> str:
        """The column that has each row's place in its source."""

    def run(
        self, table: pa.Table, keyed: KeyedRows, kept: Sequence[Any]
    ) -> tuple[pa.Table, Sequence[Any]]:
        """What it gives for the rows of some keys, and what is to be kept of each key then. `kept`
        is what was kept of each; None: nothing."""

    def close(self, kept: Sequence[Any]) -> tuple[pa.Table, Sequence[Any]] | None:
        """The same at the end of the input, for keys of which something is kept; None if that makes
        no difference."""


@dataclass(frozen=True)
class RememberSpec:
    folder: str
    keys: tuple[str, ...]
    """The columns that have the keys."""
    what: Remembers


def remember(
    spec: RememberSpec, rows: Iterator[pa.RecordBatch], batch: int, attempt: str, task: int
) -> Iterator[pa.RecordBatch]:
    """What one task gives for its rows of an entry. What it keeps it tells under the name of the
    attempt."""
    before, _ = StepLog(spec.folder).before(batch)
    batches = [each for each in rows if each.num_rows]
    left: list[GroupsFile] = []
    if batches:
        table = pa.Table.from_batches(batches)
        keyed = keyed_rows(table, spec.keys, spec.what.order)
        found = find_kept(spec.folder, before.files, keyed.keys)
        kept = [None if held is None else from_bytes(held) for held in found]
        made, remembered = spec.what.run(table, keyed, kept)
        held = [None if each is None else to_bytes(each) for each in remembered]
        file = write_kept(spec.folder, keyed.keys, held)
        left += [] if file is None else [file]
        yield from made.combine_chunks().to_batches(max_chunksize=_SHIPPED_ROWS)
    _tell(spec.folder, attempt, task, left)


def close(spec: RememberSpec, attempt: str, task: int, tasks: int) -> Iterator[pa.RecordBatch]:
    """What one of so many tasks gives at the end of the input, of its share of the keys."""
    before = StepLog(spec.folder).before_closing()
    left: list[GroupsFile] = []
    for keys, held in all_kept(spec.folder, before.files, task, tasks):
        closed = spec.what.close([*map(from_bytes, held)])
        if closed is None:
            break
        made, remembered = closed
        kept = [None if each is None else to_bytes(each) for each in remembered]
        file = write_kept(spec.folder, keys, kept)
        left += [] if file is None else [file]
        yield from made.combine_chunks().to_batches(max_chunksize=_SHIPPED_ROWS)
    _tell(spec.folder, attempt, task, left)


def _tell(folder: str, attempt: str, task: int, left: list[GroupsFile]) -> None:
    path = Path(folder) / _TOLD / f"{attempt}.{task}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = temporary_for(path)
    temporary.write_text(json.dumps(left), "utf-8")
    temporary.replace(path)


def told(folder: str | Path, attempt: str, task: int) -> list[GroupsFile] | None:
    """The files that a task has left; None if it has not told."""
    try:
        text = (Path(folder) / _TOLD / f"{attempt}.{task}.json").read_text("utf-8")
    except FileNotFoundError:
        return None
    return [GroupsFile(*file) for file in json.loads(text)]


def sweep_told(folder: str | Path) -> None:
    """Removes what tasks have told: it has been read, or will be told again."""
    told = Path(folder) / _TOLD
    for path in told.iterdir() if told.is_dir() else ():
        path.unlink(missing_ok=True)
