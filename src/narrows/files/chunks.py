"""The bytes of a file, uncompressed, as they come."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pyarrow as pa

from narrows.files.faults import damaged_or_unreadable, shrunk
from narrows.files.ranges import FileRange, compression_of

CHUNK = 1 << 20
"""More than that does not stay in the cache until it has been looked through."""

BOM = b"\xef\xbb\xbf"

Read = Callable[[int], bytes]


def whole_file(read: FileRange) -> Iterator[bytes]:
    """All of a file that is not cut into ranges; if it grew since it was listed, as far as it went
    then."""
    with opened(read.path) as read_next:
        if compression_of(read.path) is None:
            yield from up_to(read.path, read_next, read.start, read.end)
        else:
            yield from iter(lambda: read_next(CHUNK), b"")


def up_to(path: str, read: Read, position: int, end: int, chunk: int = CHUNK) -> Iterator[bytes]:
    while position < end:
        data = read(min(chunk, end - position))
        if not data:
            raise shrunk(path)
        position += len(data)
        yield data


@contextmanager
def opened(path: str, position: int = 0) -> Iterator[Read]:
    """A function that reads the next bytes, at most so many; no bytes mean the end."""
    codec = compression_of(path)
    try:
        if codec is None:
            with open(path, "rb", buffering=0) as file:
                file.seek(position)
                yield file.read
        else:
            with pa.CompressedInputStream(pa.OSFile(os.fsencode(path), "rb"), codec) as stream:
                yield stream.read
    except (OSError, pa.ArrowException) as error:
        raise damaged_or_unreadable(path, error) from error
