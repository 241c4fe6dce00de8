"""Ways in which a file of a state folder may be damaged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path


def truncate(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def flip(path: Path) -> None:
    """Other bits in the middle: what is there becomes no text any more."""
    data = bytearray(path.read_bytes())
    for place in range(len(data) // 2, min(len(data), len(data) // 2 + 4)):
        data[place] ^= 0xFF
    path.write_bytes(bytes(data))


def remove(path: Path) -> None:
    path.unlink()


DAMAGES: dict[str, Callable[[Path], None]] = {
    "truncated": truncate,
    "emptied": empty,
    "flipped": flip,
    "missing": remove,
}
