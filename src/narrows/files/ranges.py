"""Who reads which part of which file.

Cuts are made by size alone, without a look into the file: where a line begins is found by whoever
reads the range (`lines.py`), where a row group begins too (`formats/parquet/reader.py`). So
planning costs nothing, however many files there are.
"""

from __future__ import annotations

import heapq
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from narrows.files.listing import FileEntry

TARGET = 32 << 20
"""Bytes of a range: long enough for starting it to be cheap, short enough to share out evenly."""

_EXPANSION = {".gz": 5, ".zst": 5}
"""How many bytes to read a compressed byte stands for, roughly, when work is shared out."""

_OPENING = 64 << 10
"""What opening a file costs, in bytes that could have been read instead."""

_WORTH_A_TASK = 4 << 20
"""Bytes that are read in the time that it takes to start another task."""


@dataclass(frozen=True, slots=True)
class FileRange:
    """Bytes of a file; `end` is exclusive.

    A range of a compressed file is the whole file: nobody can begin to read in its middle.
    """

    path: str
    start: int
    end: int
    listed_size: int = field(default=0, compare=False)
    """How long the whole file was when it was listed, if that is known."""

    @property
    def key(self) -> str:
        return f"{self.path}:{self.start}:{self.end}"

    @property
    def file_size(self) -> int:
        """How long the file was, at least."""
        return max(self.listed_size, self.end)


def compression_of(path: str) -> str | None:
    """The codec by its name in Arrow, as the file's extension says."""
    return {".gz": "gzip", ".zst": "zstd"}.get(_extension(path))


def split(files: Sequence[FileEntry], target: int = TARGET) -> list[FileRange]:
    """Ranges of about the target size, in the order of the files; an empty file has none.

    The parts of a file are of one size, so that there is no small rest that costs a task its
    start-up and does no work.
    """
    return [
        part
        for file in files
        for part in cut(FileRange(file.path, 0, file.size, file.size), target)
    ]


def cut(read: FileRange, target: int = TARGET) -> list[FileRange]:
    """A range in parts of about the target size."""
    size = read.end - read.start
    parts = 1 if compression_of(read.path) else -(-size // target)
    cuts = [read.start + size * part // parts for part in range(parts + 1)] if parts else []
    return [
        FileRange(read.path, start, end, read.listed_size)
        for start, end in pairwise(cuts)
        if start < end
    ]


def tasks_for(ranges: Sequence[FileRange], partitions: int) -> int:
    """How many of so many partitions are worth their start for these ranges."""
    return min(partitions, 1 + sum(map(_work, ranges)) // _WORTH_A_TASK)


def pack(ranges: Sequence[FileRange], partitions: int) -> list[list[FileRange]]:
    """Shares out ranges to at most so many partitions, none of them empty, evenly by work.

    The largest first, each to whoever has the least so far: the busiest then has at most a third
    more than in the best of all ways. Inside a partition ranges stand in the order in which they
    were given. The same ranges are always shared out in the same way, for a replayed batch must
    be made of the same tasks.
    """
    loads = [(0, place) for place in range(min(partitions, len(ranges)))]
    packed: list[list[int]] = [[] for _ in loads]
    for number in sorted(range(len(ranges)), key=lambda number: (-_work(ranges[number]), number)):
        load, place = loads[0]
        heapq.heapreplace(loads, (load + _work(ranges[number]), place))
        packed[place].append(number)
    return [[ranges[number] for number in sorted(numbers)] for numbers in packed]


def expanded(path: str, size: int) -> int:
    """How many bytes there are to read in so many bytes of a file, roughly."""
    return size * _EXPANSION.get(_extension(path), 1)


def _work(part: FileRange) -> int:
    return expanded(part.path, part.end - part.start) + _OPENING


def _extension(path: str) -> str:
    return os.path.splitext(path)[1].lower()
