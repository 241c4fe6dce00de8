"""Files that are there as a whole or not at all, whatever dies in between.

The order of system calls is the point: the bytes reach the disk before the name does, and the name
before we say that it is done. Without the first sync a power cut may leave the final name on an
empty file; without the second the file may be gone again.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

_PREFIX, _SUFFIX = ".", ".tmp"


def write_atomically(path: str | os.PathLike[str], data: bytes) -> None:
    """Writes a file under its final name, in place of one that has that name already."""
    target = Path(path)
    temporary = temporary_for(target)
    try:
        write_synced(temporary, data)
        replace_synced(temporary, target)
    except OSError as error:
        # A full disk, most likely: do not keep what takes up room. A crash keeps it; see `sweep`.
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        if error.filename is None and error.errno is not None:
            raise OSError(error.errno, error.strerror, str(target)) from error
        raise


def temporary_for(path: Path) -> Path:
    """A name beside the final one (a rename does not cross file systems) that nobody else has."""
    return path.with_name(f"{_PREFIX}{path.name}.{secrets.token_hex(6)}{_SUFFIX}")


def is_temporary(name: str) -> bool:
    """May this file in a folder of ours be left over from a crash?"""
    return name.startswith(_PREFIX) and name.endswith(_SUFFIX)


def write_synced(path: Path, data: bytes) -> None:
    """Writes a new file through to the disk."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_synced(source: Path, target: Path) -> None:
    """Renames a file that is on the disk, and sees to it that the new name is too."""
    os.replace(source, target)
    sync_folder(target.parent)


def sync_folder(folder: Path) -> None:
    """Makes the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_private(folder: Path) -> None:
    """Makes a folder for its owner only; one that is there stays as it is."""
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)


def sweep(folder: Path) -> None:
    """Removes what crashes left half written. Only for the one who alone writes in the folder."""
    with os.scandir(folder) as found:
        for entry in found:
            if is_temporary(entry.name):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(entry.path)
