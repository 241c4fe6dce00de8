"""Which files a source has.

A folder means the files in it and not those in folders below, as in Spark; `data/**` means all of
them. A file counts as soon as it has a name that does not begin with `_` or `.`, so whoever writes
a file must write it under such a name (or elsewhere) and rename it when it is complete.

Links are followed, but not into a folder that they stand in. What cannot be read - a link to
itself, a folder that is closed to us - and what is no file, like a pipe, on which a reader would
wait for ever, is skipped. The logger `narrows.files` says so, and also when nothing is there at
all: once, for nobody wants to be told every second.
"""

from __future__ import annotations

import fnmatch
import glob
import logging
import os
import re
import stat
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from narrows.errors import Code, fail, listed
from narrows.files.faults import lasts, shown, unreadable

_LOG = logging.getLogger("narrows.files")
_TOLD: dict[str, str] = {}
"""What was said last of each place: a stream is listed several times a second."""

_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")


Skipped = dict[str, str]
"""Paths that were skipped, each with the reason."""


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file as it was when it was listed."""

    path: str
    size: int
    mtime_ms: int


def list_files(
    where: str,
    *,
    missing_ok: bool = False,
    skipped: Skipped | None = None,
    known: Collection[str] = (),
) -> list[FileEntry]:
    """The files of a folder, a file or a glob, oldest first, those of one age by name.

    Where there is nothing, a table cannot be read: that is an error. A stream's files may be yet to
    come: it says `missing_ok`. A folder that is there but empty is no files for both. `skipped` is
    for whoever wants to know what was there and is no file to read. Files that are `known` are left
    out, and not looked at.
    """
    path = local_path(where)
    passed: Skipped = {}
    found: Iterable[str] = ()
    is_there = os.path.exists(path)  # also a name with brackets in it that is no glob
    if is_there:
        found = _files_at(path, None)
    elif glob.has_magic(path):
        found = _matching(path, passed)
    there = list(found)
    new = [file for file in there if file not in known] if known else there
    files = {entry.path: entry for entry in _stated(new, passed)}
    if not files and not is_there and len(new) == len(there):
        kind = "no file matches" if glob.has_magic(path) else "there is no file or folder"
        if not missing_ok:
            raise fail(Code.UNREADABLE_FILE, f"{kind} `{where}`", None, f"looked for {path}")
        _tell(path, f"{kind} `{shown(where)}` yet (looked for {shown(path)})")
    else:
        _tell(path, _skipping(where, passed))
    if skipped is not None:
        skipped.update(passed)
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


def _files_at(path: str, skipped: Skipped | None) -> Iterator[str]:
    """A file itself, even one with a hidden name, for it was asked for; of a folder its files."""
    if not os.path.isdir(path):
        yield path
        return
    for entry in _entries(path, skipped):
        if not _is_folder(entry):
            yield entry.path


def _matching(pattern: str, skipped: Skipped) -> Iterator[str]:
    """Files that match, and files of folders that match.

    What the pattern spells out may be hidden, what stands behind the first wildcard may not:
    `_old/*.json` is fine, and `**` does not descend into `_temporary`.
    """
    fixed, parts = split_pattern(pattern)
    for match in _below(fixed, parts, skipped):
        yield from _files_at(match, skipped)


def split_pattern(pattern: str) -> tuple[str, list[str]]:
    """The folder up to the first wildcard, and the names and wildcards that follow."""
    fixed = pattern
    while glob.has_magic(fixed):
        fixed = os.path.dirname(fixed)
    return fixed, [part for part in pattern[len(fixed) :].split(os.sep) if part]


def _below(folder: str, parts: Sequence[str], skipped: Skipped) -> Iterator[str]:
    """What matches below a folder. Not by `glob`, which goes round in circles where links do."""
    first, rest = parts[0], parts[1:]
    if first == "**":
        for found in _folders(folder, skipped):
            yield from _below(found, rest, skipped) if rest else (found,)
        return
    for entry in _entries(folder, skipped):
        if fnmatch.fnmatchcase(entry.name, first):
            if not rest:
                yield entry.path
            elif _is_folder(entry):
                yield from _below(entry.path, rest, skipped)


def _folders(top: str, skipped: Skipped) -> Iterator[str]:
    """A folder and all folders below it, each once, but for those that have several names."""
    waiting: list[tuple[str, frozenset[tuple[int, int]]]] = [(top, frozenset())]
    while waiting:
        folder, above = waiting.pop()
        try:
            status = os.stat(folder)
        except FileNotFoundError:
            continue
        except OSError as error:
            _skip(folder, error, skipped)
            continue
        itself = (status.st_dev, status.st_ino)
        if itself in above:
            skipped[folder] = "it is a link to a folder that it is in"
            continue
        yield folder
        below = [entry.path for entry in _entries(folder, skipped) if _is_folder(entry)]
        waiting.extend((path, above | {itself}) for path in below)


def _entries(folder: str, skipped: Skipped | None) -> list[os.DirEntry[str]]:
    """What is in a folder, but for hidden names. A closed folder is skipped, or else an error."""
    try:
        with os.scandir(folder) as found:
            return [entry for entry in found if not is_hidden(entry.name)]
    except (FileNotFoundError, NotADirectoryError):
        return []  # renamed or removed while we looked
    except OSError as error:
        _skip(folder, error, skipped)
        return []


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError as error:
        if lasts(error):
            return False  # whoever wants to read it will see why
        raise unreadable(entry.path, error) from error


def _stated(paths: Iterable[str], skipped: Skipped) -> Iterator[FileEntry]:
    for path in paths:
        try:
            status = os.stat(path)
        except FileNotFoundError:  # renamed or removed while we looked
            if os.path.islink(path):
                skipped[path] = "it is a link to nothing"
            continue
        except OSError as error:
            _skip(path, error, skipped)
            continue
        if stat.S_ISREG(status.st_mode):
            yield FileEntry(path, status.st_size, status.st_mtime_ns // 1_000_000)
        elif not stat.S_ISDIR(status.st_mode):
            skipped[path] = "it is not a regular file"


def _skip(path: str, error: OSError, skipped: Skipped | None) -> None:
    """Skips what will not be better the next time; anything else must not go unnoticed."""
    if skipped is None or not lasts(error):
        raise unreadable(path, error) from error
    skipped[path] = os.strerror(error.errno) if error.errno else str(error)


def _skipping(where: str, skipped: Skipped) -> str:
    if not skipped:
        return ""
    reasons = [f"`{shown(path)}` ({why})" for path, why in sorted(skipped.items())]
    return f"skipped {len(reasons)} of what is at `{shown(where)}`: {listed(reasons, limit=3)}"


def _tell(path: str, message: str) -> None:
    """Says what there is to say of a place, unless it was said the last time."""
    if message != _TOLD.get(path, ""):
        _TOLD[path] = message
        if message:
            _LOG.warning("%s", message)
