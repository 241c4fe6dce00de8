"""How received payloads stand in files.

A *segment* is a file, named after the number of its first payload; a *group* is what was written
and synced together:

    000000000000000000.received
        head     magic, length and checksum of the schema, the schema; zeros up to a multiple of 64
        group    magic, checksum, number of the first payload, bytes, payloads, bytes of payload
                 a record batch of Arrow: payloads are contiguous, what comes with them is columns
        group    ...
    000000000000001234.received

So a reader takes a block of payloads without an object for each. A group is whole or it is nothing:
what stands behind the last whole one is what a crash has left, and nobody was told of it.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

import pyarrow as pa

PAYLOAD = "payload"
"""The column that all logs have."""

_SUFFIX = ".received"
_FILE = struct.Struct("<8sII")
_FILE_MAGIC = b"NRWRCV01"
_GROUP = struct.Struct("<4sIQQQQ")
_GROUP_MAGIC = b"GRP1"
_CHECKED = 8
"""What stands before this in a group's head, the checksum does not cover."""
_ALIGNED = 64
_HEAD = 64 << 10
"""Bytes in which the head of a segment ends, surely."""
HEAD_BYTES = _GROUP.size


class Group(NamedTuple):
    """Payloads that were written together, and where."""

    segment: int
    start: int
    """Where in the segment its head begins."""
    stop: int
    first: int
    """The number of its first payload."""
    rows: int
    size: int
    """Bytes of payload."""

    @property
    def end(self) -> int:
        """The number after that of its last payload."""
        return self.first + self.rows


class DamagedSegmentError(Exception):
    """A segment does not hold what was written: why, and from which payload on."""

    def __init__(self, reason: str, first: int) -> None:
        super().__init__(reason)
        self.first = first


def segment_path(folder: Path, first: int) -> Path:
    return folder / f"{first:018d}{_SUFFIX}"


def segments_in(folder: Path) -> list[int]:
    """The segments of a log, by the numbers of their first payloads."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    numbers = [name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX)]
    return sorted(int(number) for number in numbers if number.isdecimal())


def file_head(schema: pa.Schema) -> bytes:
    """How a segment begins."""
    body: bytes = schema.serialize().to_pybytes()
    head = _FILE.pack(_FILE_MAGIC, len(body), zlib.crc32(body)) + body
    return head + bytes(-len(head) % _ALIGNED)


def group_bytes(batch: pa.RecordBatch, first: int, size: int) -> bytes:
    """A group, as it is written."""
    body = batch.serialize()
    fields = (first, len(body), batch.num_rows, size)
    checksum = zlib.crc32(body, zlib.crc32(_GROUP.pack(b"", 0, *fields)[_CHECKED:]))
    return b"".join((_GROUP.pack(_GROUP_MAGIC, checksum, *fields), body))


def read_schema(segment: memoryview, first: int) -> tuple[pa.Schema, int]:
    """The columns of a segment, and where its groups begin."""
    if len(segment) < _FILE.size:
        raise DamagedSegmentError("it is too short", first)
    magic, length, checksum = _FILE.unpack_from(segment)
    body = segment[_FILE.size : _FILE.size + length]
    if magic != _FILE_MAGIC or len(body) != length or zlib.crc32(body) != checksum:
        raise DamagedSegmentError("it does not begin as it should", first)
    end = _FILE.size + length
    return pa.ipc.read_schema(pa.py_buffer(body)), end + -end % _ALIGNED


def read_group(
    data: memoryview, at: int, first: int | None, about: int = 0
) -> tuple[Group, memoryview]:
    """The group whose head stands at a place, without its segment; and its record batch.

    Raises where there is none, or not what was written. `first` is the number of the payload that
    it must begin with, if that is known; if not, `about` is one to name when something is wrong.
    """
    expected = about if first is None else first
    if len(data) - at < HEAD_BYTES:
        raise DamagedSegmentError("it ends too early", expected)
    magic, checksum, number, length, rows, size = _GROUP.unpack_from(data, at)
    body = data[at + HEAD_BYTES : at + HEAD_BYTES + length]
    if magic != _GROUP_MAGIC or len(body) != length or (first is not None and number != first):
        raise DamagedSegmentError("it ends too early, or was changed", expected)
    if zlib.crc32(body, zlib.crc32(data[at + _CHECKED : at + HEAD_BYTES])) != checksum:
        raise DamagedSegmentError("the checksum is not right", expected)
    return Group(0, at, at + HEAD_BYTES + length, number, rows, size), body


def schema_in(segment: IO[bytes], first: int) -> pa.Schema:
    """The columns of a segment that is open at its beginning."""
    return read_schema(memoryview(segment.read(_HEAD)), first)[0]


def read_batch(folder: Path, group: Group) -> pa.RecordBatch:
    """The payloads of a group, and what stands beside them."""
    with segment_path(folder, group.segment).open("rb") as file:
        schema = schema_in(file, group.first)
        data = memoryview(os.pread(file.fileno(), group.stop - group.start, group.start))
    _, body = read_group(data, 0, group.first)
    return pa.ipc.read_record_batch(pa.py_buffer(body), schema)


def checked_groups(folder: Path, segment: int) -> tuple[list[Group], int]:
    """All whole groups of a segment, each looked at from its first byte to its last; and where
    they end, 0 if the segment does not even begin as it should."""
    data = memoryview(segment_path(folder, segment).read_bytes())
    groups: list[Group] = []
    first, at = segment, 0
    try:
        _, at = read_schema(data, first)
        while at < len(data):
            group, _ = read_group(data, at, first)
            groups.append(group._replace(segment=segment))
            first, at = group.end, group.stop
    except DamagedSegmentError:
        pass
    return groups, at


def listed_groups(folder: Path, segment: int) -> Iterator[Group]:
    """The groups of a segment that was written to its end, as their heads say. Whoever reads one
    looks at it closely."""
    first = segment
    with segment_path(folder, segment).open("rb") as file:
        length = os.fstat(file.fileno()).st_size
        try:
            _, at = read_schema(memoryview(file.read(1 << 20)), first)
        except DamagedSegmentError:
            return
        while at + HEAD_BYTES <= length:
            file.seek(at)
            magic, _, number, size, rows, payload = _GROUP.unpack(file.read(HEAD_BYTES))
            stop = at + HEAD_BYTES + size
            if magic != _GROUP_MAGIC or number != first or stop > length:
                return
            yield Group(segment, at, stop, first, rows, payload)
            first, at = first + rows, stop
