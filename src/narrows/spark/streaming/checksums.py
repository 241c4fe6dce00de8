"""The checksums that Hadoop keeps beside the files of a checkpoint: `.7.crc` is about `7`.

    crc\\0  512  CRC-32 of the first 512 bytes  CRC-32 of the next ...      all of them big-endian

Hadoop reads a file only if they agree, and says no more than that they do not. It looks no further
where there is no such file, or where it begins in another way.
"""

from __future__ import annotations

import struct
from pathlib import Path
from zlib import crc32

_HEAD = struct.Struct(">4si")
_MAGIC = b"crc\0"


def sums_of(path: Path) -> Path:
    """Where the checksums of a file are kept."""
    return path.with_name(f".{path.name}.crc")


def agrees(path: Path) -> bool:
    """Is a file what its checksums say it is?"""
    try:
        sums = sums_of(path).read_bytes()
    except FileNotFoundError:
        return True
    if len(sums) < _HEAD.size:
        return True
    magic, size = _HEAD.unpack_from(sums)
    if magic != _MAGIC:
        return True
    if size <= 0:
        return False
    data = path.read_bytes()
    found = b"".join(
        crc32(data[start : start + size]).to_bytes(4, "big") for start in range(0, len(data), size)
    )
    return sums[_HEAD.size :].startswith(found)
