"""Files of lines, one behind the other."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import IO


def join_lines(files: Sequence[Path], into: IO[bytes]) -> int:
    for path in files:
        with path.open("rb") as file:
            shutil.copyfileobj(file, into, 1 << 20)
    return len(files)


def join_below_header(files: Sequence[Path], into: IO[bytes]) -> int:
    """The header stands once, above all; files with another one are left."""
    header = b""
    for number, path in enumerate(files):
        with path.open("rb") as file:
            found = _header(file)
            if number and found != header:
                return number
            if not number:
                header = found
                into.write(header)
            shutil.copyfileobj(file, into, 1 << 20)
    return len(files)


def _header(file: IO[bytes]) -> bytes:
    """The first line; a line end between quotes does not end it."""
    header = file.readline()
    while header.count(b'"') % 2 and (more := file.readline()):
        header += more
    return header
