"""Payloads that could not be read: kept with their reason and where they were found.

For every range there is at most one NDJSON file, named after the range and published when the range
has been read to its end. Reading the range again - a retry, a restart, another pipeline -
writes the same file with the same contents, because what is bad does not depend on the projection.
What is lost as a whole, like a file that is gone, has one more such file.

A source's `max_dead_letters` bounds how many are kept: see `kept_letters.py`.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from narrows.connectors.base import LostRangeError, Payloads, Position
from narrows.errors import Code, NarrowsError, Problem
from narrows.files.small import damaged, disk_errors
from narrows.files.synced_file import SyncedFile
from narrows.formats.decoder import BadPayload
from narrows.worker.kept_letters import KeptLetters
from narrows.worker.read_spec import ReadSpec


class BadPayloadError(NarrowsError):
    """A payload could not be read, and the source says `on_error = 'fail'`."""


class DeadLetters:
    """The dead letters of one range."""

    def __init__(self, spec: ReadSpec, key: str) -> None:
        self._spec = spec
        self._folder = Path(spec.dead_letters) if spec.dead_letters else None
        self._name = f"{key_name(key)}.ndjson"
        self._file: SyncedFile | None = None
        self._most = spec.max_dead_letters
        self._written = 0
        self._beyond = 0

    def __enter__(self) -> Self:
        return self

    def add(self, payloads: Payloads | None, bad: Sequence[BadPayload]) -> None:
        """`payloads` has the bad ones; there are none where a source has rows and no payloads."""
        for problem in bad:
            if payloads is None:
                self._add(problem.reason, {})
            else:
                found = payloads.payload(problem.position)
                self._add(problem.reason, payloads.position(problem.position), found)

    def add_lost(self, lost: LostRangeError) -> None:
        """One letter for all that is lost."""
        self._add(lost.reason, lost.position)

    def _add(self, reason: str, position: Position, payload: bytes | None = None) -> None:
        if self._spec.on_error == "fail":
            place = "".join(f"{name} {value}, " for name, value in position.items())
            message = f"a payload of `{self._spec.source}`, {place.rstrip(', ')}: {reason}"
            raise BadPayloadError(Problem(Code.BAD_PAYLOAD, message))
        if self._spec.on_error == "drop" or self._folder is None:
            return
        if self._most is not None and self._written >= self._most:
            self._beyond += 1
            return
        letter = {"source": self._spec.source, "reason": reason}
        if payload is not None:
            letter |= _payload(payload)
        line = json.dumps({**letter, **position}, ensure_ascii=False) + "\n"
        with disk_errors(self._folder):
            if self._file is None:
                self._folder.mkdir(parents=True, exist_ok=True)
                self._file = SyncedFile(self._temporary)
            self._file.write(line.encode("utf-8"))
        self._written += 1

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is None:
            self.publish()
        else:
            self.discard()

    def publish(self) -> None:
        """The range has been read to its end: its letters are there, or there are none."""
        if self._file is not None:
            assert self._folder is not None
            with disk_errors(self._folder):
                self._publish(self._file, self._folder)

    def _publish(self, file: SyncedFile, folder: Path) -> None:
        try:
            file.close_synced()
        except OSError:
            self.discard()
            raise
        if self._most is None:
            os.replace(self._temporary, folder / self._name)
        else:
            kept = KeptLetters(folder, self._most)
            kept.publish(self._temporary, self._name, self._written, self._beyond)

    def discard(self) -> None:
        if self._file is not None:
            self._file.abandon()
            self._temporary.unlink(missing_ok=True)

    @property
    def _temporary(self) -> Path:
        assert self._folder is not None
        return self._folder / f".{self._name}.{os.getpid()}"


def _payload(payload: bytes) -> dict[str, str]:
    """The payload as text, or in Base64 where it is none."""
    try:
        return {"payload": payload.decode("utf-8")}
    except UnicodeDecodeError:
        return {"payload_base64": base64.b64encode(payload).decode("ascii")}


def key_name(key: str) -> str:
    """A file name for the key of a range; the same for the same range, whoever reads it."""
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()[:24]


def read_dead_letters(folder: Path) -> Iterator[dict[str, Any]]:
    """All published dead letters of a source or sink, in the order of where they were found.

    Pipelines that took the same payloads in other portions read other ranges of them, and each left
    letters under the keys of its own: what was found in the same place is the same.
    """
    letters: dict[object, dict[str, Any]] = {}
    for path in letter_files(folder):
        for number, line in enumerate(letter_lines(path)):
            letter = letter_of(line, path)
            letters[json.dumps(letter) if has_position(letter) else (path, number)] = letter
    yield from sorted(letters.values(), key=place_of)


def letter_files(folder: Path) -> list[Path]:
    """The files of published dead letters."""
    return sorted(folder.glob("[!.]*.ndjson")) if folder.is_dir() else []


def letter_lines(path: Path) -> list[bytes]:
    """The lines of such a file, each a letter, with their ends; none if it has just gone."""
    try:
        return path.read_bytes().splitlines(keepends=True)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise _damaged(path, error) from error


def letter_of(line: bytes, path: Path) -> dict[str, Any]:
    try:
        letter = json.loads(line)
    except ValueError as error:
        raise _damaged(path, error) from error
    if not isinstance(letter, dict) or "reason" not in letter:
        raise _damaged(path, "it holds something else")
    return letter


def _damaged(path: Path, reason: object) -> NarrowsError:
    hint = "restore it from a backup, or remove it: what was read stays read"
    return damaged(path, "the file of dead letters", reason, hint)


def has_position(letter: Mapping[str, Any]) -> bool:
    """Does it say where it was found? A row that a sink refused does not."""
    return not _NO_POSITION.issuperset(letter)


def position_of(letter: Mapping[str, Any]) -> Position:
    """Where a letter's payload was found; of a row that a sink refused, the pipeline it is of."""
    found = {name: value for name, value in letter.items() if name not in _NO_POSITION}
    return found or {"pipeline": letter.get("pipeline", "")}


def place_of(letter: Mapping[str, Any]) -> list[tuple[str, float, str]]:
    """By position, whatever that is made of: numbers as numbers, everything else as text."""
    position = [value for name, value in letter.items() if name not in _NO_POSITION]
    return [
        ("", value, "") if isinstance(value, int) else (str(value), 0.0, "") for value in position
    ]


_NO_POSITION = frozenset({"source", "sink", "pipeline", "reason", "payload", "payload_base64"})
