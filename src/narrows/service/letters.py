"""Dead letters by name: the same letter has the same id, whoever looks and whenever."""

from __future__ import annotations

import base64
import contextlib
import json
import threading
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from narrows.planner.catalog import Catalog
from narrows.sql.parser.statements import ObjectKind
from narrows.state.folder import StateFolder
from narrows.worker.dead_letters import (
    has_position,
    key_name,
    letter_files,
    letter_lines,
    letter_of,
    place_of,
    position_of,
)


@dataclass(frozen=True)
class Letter:
    found: dict[str, Any]

    @property
    def id(self) -> str:
        return key_name(json.dumps(self.found, sort_keys=True))

    @property
    def position(self) -> dict[str, Any]:
        return dict(position_of(self.found))


def names_with_letters(catalog: Catalog, state: StateFolder) -> list[str]:
    """What is declared and has dead letters."""
    kinds = (ObjectKind.STREAM, ObjectKind.TABLE, ObjectKind.SINK)
    names = (each.name for kind in kinds for each in catalog.of_kind(kind).values())
    return sorted({name for name in names if state.dead_letters(name).is_dir()})


class Letters:
    """All dead letters of a state folder, by the names of what they are of.

    A file of letters does not change once it is there, and letters hold payloads, which may be
    large. So each file is read once, for where its letters stand, and from then on only those
    letters are read that somebody wants to see.
    """

    def __init__(self, state: StateFolder) -> None:
        self._state = state
        self._indexes: dict[str, _Index] = {}
        self._lock = threading.Lock()

    def count(self, name: str) -> int:
        return len(self._places(name))

    def page(self, name: str, offset: int, limit: int) -> list[Letter]:
        """Some of them, in the order of where they were found."""
        return _read(self._places(name)[offset : offset + limit])

    def find(self, name: str, ids: Collection[str]) -> list[Letter]:
        """Those with these ids, as far as there are any."""
        return _read([place for place in self._places(name) if place.id in ids])

    def every(self, name: str) -> list[Letter]:
        return _read(self._places(name))

    def _places(self, name: str) -> list[_Place]:
        folder = self._state.dead_letters(name)
        with self._lock:
            if not folder.is_dir():
                self._indexes.pop(folder.name, None)
                return []
            return self._indexes.setdefault(folder.name, _Index(folder)).places()


@dataclass(frozen=True)
class _Place:
    """Where a letter stands."""

    id: str
    same: object
    """Letters of which this is the same are the same letter."""
    order: list[tuple[str, float, str]]
    file: Path
    start: int
    size: int


class _Index:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[tuple[str, int, int], list[_Place]] = {}

    def places(self) -> list[_Place]:
        files: dict[tuple[str, int, int], list[_Place]] = {}
        for path in letter_files(self._folder):
            with contextlib.suppress(FileNotFoundError):
                found = path.stat()
                file = path.name, found.st_mtime_ns, found.st_size
                known = self._files.get(file)
                files[file] = list(_places_in(path)) if known is None else known
        self._files = files
        unique = {place.same: place for each in files.values() for place in each}
        return sorted(unique.values(), key=lambda place: place.order)


def _places_in(path: Path) -> Iterator[_Place]:
    start = 0
    for number, line in enumerate(letter_lines(path)):
        letter = Letter(letter_of(line, path))
        same = letter.id if has_position(letter.found) else (path, number)
        yield _Place(letter.id, same, place_of(letter.found), path, start, len(line))
        start += len(line)


def _read(places: Iterable[_Place]) -> list[Letter]:
    letters = []
    for place in places:
        with contextlib.suppress(FileNotFoundError), place.file.open("rb") as file:
            file.seek(place.start)
            letters.append(Letter(letter_of(file.read(place.size), place.file)))
    return letters


def payload_of(letter: Letter) -> bytes | None:
    if "payload_base64" in letter.found:
        return base64.b64decode(letter.found["payload_base64"])
    text = letter.found.get("payload")
    return None if text is None else str(text).encode("utf-8")
