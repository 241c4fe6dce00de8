"""Small files that tell when they are damaged: a line with a checksum, then the rest."""

from __future__ import annotations

import zlib


def seal(magic: str, body: bytes) -> bytes:
    """The contents of a file; `magic` says what kind of file it is."""
    return _head(magic, body) + b"\n" + body


def unseal(magic: str, data: bytes) -> bytes | None:
    """What was sealed; None when the data is not of this kind, or damaged."""
    head, _, body = data.partition(b"\n")
    return body if head == _head(magic, body) else None


def _head(magic: str, body: bytes) -> bytes:
    return f"{magic} {zlib.crc32(body):08x}".encode("ascii")
