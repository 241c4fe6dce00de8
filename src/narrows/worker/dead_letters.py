"""Payloads that could not be read: kept with their reason, file and offset.

For every file range there is at most one NDJSON file, named after the range and published when the
range has been read to its end. Reading the range again - a retry, a restart, another pipeline -
writes the same file with the same contents, because what is bad does not depend on the projection.
A file that is lost has one more such file, for all of it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import pyarrow as pa

from narrows.files.atomic import write_atomically
from narrows.files.faults import shown
from narrows.files.lines import FileLines
from narrows.files.ranges import FileRange
from narrows.formats.decoder import BadPayload
from narrows.worker.read_spec import ReadSpec


class BadPayloadError(Exception):
    """A payload could not be read, and the source says `on_error = 'fail'`."""


class DeadLetters:
    """The dead letters of one file range."""

    def __init__(self, spec: ReadSpec, read: FileRange) -> None:
        self._spec = spec
        self._path = shown(read.path)
        self._folder = Path(spec.dead_letters) if spec.dead_letters else None
        self._name = f"{range_name(read)}.ndjson"
        self._file: IO[str] | None = None

    def __enter__(self) -> Self:
        return self

    def add(self, block: FileLines | None, bad: Sequence[BadPayload]) -> None:
        """`block` holds the payloads; there is none where the source has rows and no payloads."""
        if bad and self._spec.on_error == "fail":
            place = "" if block is None else f", byte {block.offset(bad[0].position)}"
            raise BadPayloadError(f"{self._path}{place}: {bad[0].reason}")
        if not bad or self._spec.on_error == "drop" or self._folder is None:
            return
        if self._file is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._file = self._temporary.open("w", encoding="utf-8")
        for problem in bad:
            letter = self._letter(block, problem)
            self._file.write(json.dumps(letter, ensure_ascii=False) + "\n")

    def _letter(self, block: FileLines | None, problem: BadPayload) -> dict[str, Any]:
        letter: dict[str, Any] = {"source": self._spec.source, "reason": problem.reason}
        if block is None:
            return {**letter, "file": self._path, "offset": problem.position}
        letter |= _payload(block.payload(problem.position))
        return {**letter, "file": self._path, "offset": block.offset(problem.position)}

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._file is None:
            return
        assert self._folder is not None
        self._file.close()
        if kind is None:
            os.replace(self._temporary, self._folder / self._name)
        else:
            self._temporary.unlink(missing_ok=True)

    @property
    def _temporary(self) -> Path:
        assert self._folder is not None
        return self._folder / f".{self._name}.{os.getpid()}"


def keep_payloads(spec: ReadSpec, payloads: pa.Array, bad: Sequence[BadPayload]) -> None:
    """Dead letters of payloads that came in a data frame, and so from no file that we know.

    The file is named after what is in it, so a batch that is read again writes it again.
    """
    if bad and spec.on_error == "fail":
        raise BadPayloadError(f"{spec.source}: {bad[0].reason}")
    if not bad or spec.on_error == "drop" or spec.dead_letters is None:
        return
    lines = []
    for problem in bad:
        letter = {"source": spec.source, "reason": problem.reason}
        letter |= _payload(payloads[problem.position].as_py())
        lines.append(json.dumps({**letter, "file": "", "offset": problem.position}) + "\n")
    text = "".join(lines)
    name = hashlib.sha256(text.encode("utf-8")).hexdigest()[:24]
    Path(spec.dead_letters).mkdir(parents=True, exist_ok=True)
    write_atomically(Path(spec.dead_letters) / f"{name}.ndjson", text.encode("utf-8"))


def _payload(payload: bytes) -> dict[str, str]:
    """The payload as text, or in Base64 where it is none."""
    try:
        return {"payload": payload.decode("utf-8")}
    except UnicodeDecodeError:
        return {"payload_base64": base64.b64encode(payload).decode("ascii")}


def range_name(read: FileRange) -> str:
    """The same name for the same range, whoever reads it."""
    text = f"{read.path}:{read.start}:{read.end}"
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:24]


def read_dead_letters(folder: Path) -> Iterator[dict[str, Any]]:
    """All published dead letters of a source, in the order of file and offset."""
    letters: list[dict[str, Any]] = []
    for path in sorted(folder.glob("[!.]*.ndjson")) if folder.is_dir() else ():
        with path.open(encoding="utf-8") as lines:
            letters.extend(json.loads(line) for line in lines)
    yield from sorted(letters, key=lambda letter: (letter["file"], letter["offset"]))
