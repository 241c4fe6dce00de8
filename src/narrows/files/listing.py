"""Which files a source has.

A folder means the files in it and not those in folders below, as in Spark; `data/**` means all of
them. A file counts as soon as it has a name that does not begin with `_` or `.`, so whoever writes
a file must write it under such a name (or elsewhere) and rename it when it is complete.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from narrows.errors import Code, fail

_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file as it was when it was listed."""

    path: str
    size: int
    mtime_ms: int


def list_files(where: str, *, missing_ok: bool = False) -> list[FileEntry]:
    """The files of a folder, a file or a glob, oldest first, those of one age by name.

    Where there is nothing, a table cannot be read: that is an error. A stream's files may be yet to
    come: it says `missing_ok`. A folder that is there but empty is no files for both.
    """
    path = local_path(where)
    found: Iterable[str] = ()
    if os.path.exists(path):  # also a name with brackets in it that is no glob
        found = _files_at(path)
    elif glob.has_magic(path):
        found = _matching(path)
    files = {entry.path: entry for entry in _stated(found)}
    if not files and not missing_ok and not os.path.exists(path):
        kind = "no file matches" if glob.has_magic(path) else "there is no file or folder"
        raise fail(Code.UNREADABLE_FILE, f"{kind} `{where}`", None, f"looked for {path}")
    return sorted(files.values(), key=lambda entry: (entry.mtime_ms, entry.path))


def local_path(where: str) -> str:
    """An absolute path, for workers have other working directories than the driver."""
    uri = _URI.match(where)
    if uri is None:
        return os.path.abspath(where)
    if uri[1].lower() != "file":
        hint = "read it with Spark and hand the DataFrame to `session.register`"
        raise fail(Code.NOT_SUPPORTED, f"files at `{uri[1]}://` are not supported", None, hint)
    return os.path.abspath(re.sub(r"^/+", "/", where[uri.end() - 1 :]))


def is_hidden(name: str) -> bool:
    """Is this name that of a file that is not for readers: `_SUCCESS`, `.part-0.crc`?"""
    return name.startswith(("_", "."))


def _files_at(path: str) -> Iterator[str]:
    """A file itself, even one with a hidden name, for it was asked for; of a folder its files."""
    if not os.path.isdir(path):
        yield path
        return
    with os.scandir(path) as found:
        for entry in found:
            if not is_hidden(entry.name) and not entry.is_dir():
                yield entry.path


def _matching(pattern: str) -> Iterator[str]:
    """Files that match, and files of folders that match.

    What the pattern spells out may be hidden, what a wildcard meets may not: `_old/*.json` is fine,
    and `**` does not descend into `_temporary`.
    """
    spelt = len(_fixed_part(pattern))
    for match in glob.iglob(pattern, recursive=True):
        if not any(is_hidden(name) for name in match[spelt:].split(os.sep) if name):
            yield from _files_at(os.path.normpath(match))


def _fixed_part(pattern: str) -> str:
    """The folder up to the first wildcard."""
    fixed = pattern
    while glob.has_magic(fixed):
        fixed = os.path.dirname(fixed)
    return fixed


def _stated(paths: Iterable[str]) -> Iterator[FileEntry]:
    for path in paths:
        try:
            status = os.stat(path)
        except FileNotFoundError:
            continue  # renamed or removed while we looked
        yield FileEntry(path, status.st_size, status.st_mtime_ns // 1_000_000)
