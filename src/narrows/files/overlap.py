"""Would a source read what a sink writes? Then a pipeline from the one to the other never ends."""

from __future__ import annotations

import fnmatch
import glob
import os
from collections.abc import Sequence

from narrows.errors import NarrowsError
from narrows.files.listing import is_hidden, local_path, split_pattern


def overlap(source: str, sink: str) -> bool:
    """Does a source look for files in a sink's folder, or in a folder below that?

    Both are compared as they really are, behind links. What files are called does not matter, only
    where they are: `data/*.csv` and a sink of JSON in `data` do overlap. A folder means the files
    in it, so `data` and a sink in `data/out` do not; `data/**` and that sink do.
    """
    try:
        path, folder = local_path(source), os.path.realpath(local_path(sink))
    except NarrowsError:
        return False  # on another file system, which is refused when somebody reads
    parts: list[str] = []
    if glob.has_magic(path) and not os.path.exists(path):
        path, parts = split_pattern(path)
    path = os.path.realpath(path)
    if _is_within(path, folder):
        return True
    if not parts or not _is_within(folder, path):
        return False
    below = os.path.relpath(folder, path).split(os.sep)
    if any(is_hidden(name) for name in below):
        return False  # wildcards do not meet it
    return _match(parts, below) or _match(parts[:-1], below)


def _is_within(path: str, folder: str) -> bool:
    return os.path.commonpath((path, folder)) == folder


def _match(parts: Sequence[str], names: Sequence[str]) -> bool:
    """Does a pattern match a path? Both are given name by name."""
    if not parts:
        return not names
    if parts[0] == "**":
        return _match(parts[1:], names) or (bool(names) and _match(parts, names[1:]))
    if not names or not fnmatch.fnmatchcase(names[0], parts[0]):
        return False
    return _match(parts[1:], names[1:])
