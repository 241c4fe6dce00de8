"""The log of steps: after each, which files of groups there are, and where the watermark is; of
groups that no window ends (`worker/endless/`) it says the files alone.

    steps/7.json      {"batch": 6, "closing": false, "ends": false, "watermark": ..., "files": ...}

A step belongs to a micro-batch, or closes what is open after the last one: then it has none of its
own. It is written before the sink publishes what it closed. If the process dies in between, the
same batch comes again, finds its step, and begins once more from the one before: so the last two
steps are kept, with all files that either of them names. A closing step is done again by the next
run, for which it says that it is not yet done.

What is published under a step's number is the same each time: what the batch read, where the
watermark was before, and whether the input has ended (`ends`), which is why the step says so.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import NamedTuple

from narrows.errors import Code, fail
from narrows.files.atomic import sweep
from narrows.files.small import read_small, write_small

SUFFIX = ".arrow"
_MAGIC = "narrows-window-step-1"
_STEPS, _GROUPS = "steps", "groups"
_HINT = "restore the state folder from a backup, or start the pipeline anew: `narrows reset`"


class GroupsFile(NamedTuple):
    """A file of groups (`groups_file.py`)."""

    name: str
    rows: int
    bytes: int
    crc: int
    first_end: int
    """When the first window of its groups is over; microseconds."""
    last_end: int
    """When all of them are."""
    level: int = 0
    """How often its groups have been merged with those of other files."""
    searched: bool = False
    """Can few keys be found in it?"""
    made: int = 0
    """The step in which its groups were merged: files of one such step have no key in common."""


@dataclass(frozen=True)
class Step:
    number: int = -1
    batch: int = -1
    """The micro-batch; of a closing step the last one before it."""
    closing: bool = False
    ends: bool = False
    """Has the input ended, so that all windows are over?"""
    watermark: int = 0
    """Milliseconds."""
    done: bool = True
    """Of a closing step: is it published?"""
    files: tuple[GroupsFile, ...] = field(default=())


class StepLog:
    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.groups = str(self.folder / _GROUPS)

    def last(self) -> Step | None:
        numbers = self._numbers()
        return self.step(max(numbers)) if numbers else None

    def before(self, batch: int) -> tuple[Step, Step | None]:
        """What the step of a micro-batch begins from; and the step itself, if it was begun."""
        last = self.last() or Step()
        if not last.closing and last.batch == batch and last.number >= 0:
            return self.step(last.number - 1), last
        if last.batch != batch - 1:
            raise fail(
                Code.UNREADABLE_FILE,
                f"what tasks keep in `{self.folder / _STEPS}` is of batch {last.batch},"
                f" and the checkpoint has come to {batch}",
                hint="the checkpoint and what tasks keep belong together: restore the whole"
                " state folder, or start the pipeline anew: `narrows reset <pipeline>`",
            )
        return last, None

    def before_closing(self) -> Step:
        """What a closing step begins from, also if it was begun and is not done."""
        last = self.last() or Step()
        return last if last.done else self.step(last.number - 1)

    def write(self, step: Step) -> None:
        fields = {**asdict(step), "files": [list(file) for file in step.files]}
        write_small(self._path(step.number), _MAGIC, fields)

    def forget(self, kept: Step) -> None:
        """Removes what nobody needs who begins from this step, or from later ones."""
        numbers = [number for number in self._numbers() if number >= kept.number]
        named = {file.name for number in numbers for file in self.step(number).files}
        for number in self._numbers():
            if number < kept.number:
                self._path(number).unlink(missing_ok=True)
        with contextlib.suppress(FileNotFoundError):
            sweep(self.folder / _STEPS)
            for name in os.listdir(self.groups):
                if name.endswith(SUFFIX) and name not in named:
                    (Path(self.groups) / name).unlink(missing_ok=True)

    def _path(self, number: int) -> Path:
        return self.folder / _STEPS / f"{number}.json"

    def _numbers(self) -> list[int]:
        try:
            names = os.listdir(self.folder / _STEPS)
        except FileNotFoundError:
            return []
        stems = [name.removesuffix(".json") for name in names if name.endswith(".json")]
        return [int(stem) for stem in stems if stem.isdecimal()]

    def step(self, number: int) -> Step:
        """What the log says of a step; before the first one there is nothing."""
        if number < 0:
            return Step()
        found = read_small(self._path(number), _MAGIC, "the step of what tasks keep", _HINT)
        if found is None:
            raise fail(
                Code.UNREADABLE_FILE,
                f"the step of what tasks keep `{self._path(number)}` is missing",
                hint=_HINT,
            )
        return Step(**{**found, "files": tuple(GroupsFile(*file) for file in found["files"])})
