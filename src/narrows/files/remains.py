"""How much of a range is still there when its turn comes.

Between listing a file and reading it anything can happen to it. We look once, right before we
read, so that all readers - both kernels, Parquet, compressed files - take the same for lost. (What
happens while they read fails the batch, and is seen here when it is run again.)
"""

from __future__ import annotations

import os
import stat
from dataclasses import replace

from narrows.files.faults import LostFileError, not_a_file, shorter, unreadable
from narrows.files.ranges import FileRange

_CHUNK = 64 << 10


def remains_of(read: FileRange, *, has_lines: bool) -> tuple[FileRange, LostFileError | None]:
    """What there is to read of a range, and what is to be raised behind it, if anything.

    Of a file that became shorter whole lines are read: nobody knows whether the last one, without
    its line end, is all there. A file that cannot be read at all is raised at once.
    """
    size = _size_of(read.path)
    if size >= read.file_size:
        return read, None
    lost = shorter(read.path, was=read.file_size, now=size)
    if not has_lines:
        return read, lost
    end = min(read.end, _end_of_lines(read.path, read.start, size))
    return replace(read, end=max(end, read.start)), lost


def _size_of(path: str) -> int:
    try:
        status = os.stat(path)
    except OSError as error:
        raise unreadable(path, error) from error
    if not stat.S_ISREG(status.st_mode):
        raise not_a_file(path)
    return status.st_size


def _end_of_lines(path: str, start: int, end: int) -> int:
    """Behind the last line end between two offsets; the first of them when there is none."""
    try:
        with open(path, "rb", buffering=0) as file:
            while end > start:
                begin = max(start, end - _CHUNK)
                file.seek(begin)
                at = file.read(end - begin).rfind(b"\n")
                if at >= 0:
                    return begin + at + 1
                end = begin
    except OSError as error:
        raise unreadable(path, error) from error
    return start
