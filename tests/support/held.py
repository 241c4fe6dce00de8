"""What a run holds and keeps: memory, open files, and what lies in its state folder."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from support.processes import Process


class Kept(NamedTuple):
    files: int
    bytes: int


class Held(NamedTuple):
    memory: int
    """Bytes."""
    descriptors: int


def kept(state: Path, *, stores: bool = True) -> Kept:
    """Without what a stream of files must remember: the names of those that it has taken; and
    without Spark's stores of state, if a run is too short for Spark to tidy them up."""
    files, size = 0, 0
    for folder, _, names in os.walk(state):
        parts = Path(folder).relative_to(state).parts
        if "entries" in parts or (
            not stores and parts[:1] == ("checkpoints",) and "state" in parts
        ):
            continue
        for name in names:
            if name.endswith(".tmp"):
                continue
            try:
                size += os.stat(os.path.join(folder, name)).st_size
            except FileNotFoundError:
                continue
            files += 1
    return Kept(files, size)


def held(processes: Iterable[Process]) -> Held:
    there = list(processes)
    return Held(sum(p.memory for p in there), sum(p.descriptors for p in there))


def held_by_this_process() -> Held:
    gc.collect()
    return held([Process(os.getpid(), "")])
