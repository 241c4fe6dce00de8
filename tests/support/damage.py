"""Ways in which a file of a state folder may be damaged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random


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


def random_damage(chance: Random) -> tuple[str, Callable[[Path], None]]:
    """Some damage that a disk, a crash or a person may do, and what it is."""
    where, length = chance.random(), chance.choice((1, 1, 4, 64))
    way = chance.choice(("cut", "bit", "zeros", "junk", "more", "twice", *DAMAGES))

    def damage(path: Path) -> None:
        data = path.read_bytes()
        place = int(where * len(data))
        junk = Random(where).randbytes(length)
        match way:
            case "cut":
                path.write_bytes(data[:place])
            case "bit" if data:
                flipped = bytes([data[place] ^ 1 << length % 8])
                path.write_bytes(data[:place] + flipped + data[place + 1 :])
            case "zeros":  # what some file systems leave after a crash
                path.write_bytes(data[:place] + bytes(len(data) - place))
            case "junk":
                path.write_bytes(data[:place] + junk + data[place + length :])
            case "more":
                path.write_bytes(data + junk)
            case "twice":
                path.write_bytes(data + data)
            case _ if way in DAMAGES:
                DAMAGES[way](path)

    return f"{way} at {where:.2f}", damage
