"""The log of a shared stream: entries, each with the segments of one micro-batch of the ingest.

    log/000000000007.entry      files, rows, projection, version, counts
    segments/<random>.arrow     what the entries name

An entry is published by one rename, after its segments are on the disk, and is never changed: a
batch that is run again after a crash finds its entry and leaves it as it is, so that nobody ever
sees two versions of the same rows. Segments that no entry names are left over from a crash and are
swept before the next ingest begins.

Entries go when every consumer has passed them; the newest always stays, because its number says
how far the log has come and its totals what was counted since the beginning.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path

from narrows.demand import Demand
from narrows.demand_json import demand_from_json, demand_to_json
from narrows.errors import Code, InternalError, NarrowsError, fail
from narrows.files.atomic import sweep, sync_folder, write_atomically
from narrows.files.checked import seal, unseal
from narrows.projection.columns import DecodeProjection
from narrows.schema import Struct
from narrows.shared.segments import SUFFIX as SEGMENT_SUFFIX
from narrows.shared.segments import Segment, segment_from_json

EMPTY = -1
"""The number of the last entry when there is none."""

_MAGIC = "narrows-shared-1"
_REMEMBERED = 256
_SUFFIX = ".entry"


@dataclass(frozen=True)
class SharedEntry:
    """What one micro-batch of the ingest decoded."""

    number: int
    version: int
    demand: Demand
    """What was decoded: of everything else the segments have nothing."""
    segments: tuple[Segment, ...]
    counts: Mapping[str, int] = field(default_factory=dict)
    totals: Mapping[str, int] = field(default_factory=dict)
    """The sum of the counts of this entry and all before it."""

    @cached_property
    def rows(self) -> int:
        return sum(segment.rows for segment in self.segments)

    @cached_property
    def size(self) -> int:
        return sum(segment.size for segment in self.segments)

    def projection(self, schema: Struct) -> DecodeProjection:
        return DecodeProjection(schema, self.demand, version=self.version)


class SharedLog:
    """The log in a folder, which need not exist yet. One ingest writes, any number may read."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self.segments = self.folder / "segments"
        self._entries = self.folder / "log"
        self._read: dict[int, SharedEntry] = {}

    # --- reading ----------------------------------------------------------------------------------

    def numbers(self) -> list[int]:
        """The numbers of the entries that are there, ascending."""
        try:
            names = os.listdir(self._entries)
        except FileNotFoundError:
            return []
        stems = [name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX)]
        return sorted(int(stem) for stem in stems if stem.isdecimal())

    def last(self) -> int:
        return max(self.numbers(), default=EMPTY)

    def newest(self) -> SharedEntry | None:
        """The last entry; for whoever only looks, for it may be gone when it is no longer that."""
        while (last := self.last()) != EMPTY:
            try:
                return self.entry(last)
            except NarrowsError:
                if self.has(last):
                    raise
        return None

    def has(self, number: int) -> bool:
        return self._path(number).exists()

    def entry(self, number: int) -> SharedEntry:
        """An entry; a clear error when it is damaged, or gone although somebody needs it."""
        known = self._read.get(number)
        if known is not None:
            return known
        path = self._path(number)
        try:
            body = unseal(_MAGIC, path.read_bytes())
        except OSError as error:
            raise _damaged(path, error.strerror or error) from None
        if body is None:
            raise _damaged(path, "it is not what was written")
        entry = _from_json(body)
        if entry.number != number:
            raise _damaged(path, f"it holds entry {entry.number}")
        if len(self._read) >= _REMEMBERED:
            self._read.clear()
        self._read[number] = entry
        return entry

    def entries(self, after: int, upto: int) -> list[SharedEntry]:
        return [self.entry(number) for number in range(after + 1, upto + 1)]

    # --- writing ----------------------------------------------------------------------------------

    def publish(self, entry: SharedEntry) -> None:
        """Makes an entry public, unless it is so already."""
        if self.has(entry.number):
            return
        newest = self.newest()
        if newest is not None and entry.number <= newest.number:
            raise InternalError(f"entry {entry.number} comes after entry {newest.number}")
        totals = {} if newest is None else dict(newest.totals)
        counts = {**entry.counts, "entries": 1, "segment_bytes": entry.size}
        for name, count in counts.items():
            totals[name] = totals.get(name, 0) + count
        complete = SharedEntry(
            entry.number, entry.version, entry.demand, entry.segments, counts, totals
        )
        self._entries.mkdir(parents=True, exist_ok=True)
        if self.segments.is_dir():
            sync_folder(self.segments)
        body = json.dumps(_to_json(complete)).encode("utf-8")
        write_atomically(self._path(entry.number), seal(_MAGIC, body))

    def retain(self, after: int) -> None:
        """Removes the entries up to this one, but for the newest."""
        numbers = self.numbers()
        for number in numbers[:-1]:
            if number > after:
                break
            segments = self.entry(number).segments
            # First the entry: a segment that nobody names is swept, a name without one is an error.
            self._path(number).unlink(missing_ok=True)
            self.remove_segments([segment.name for segment in segments])
            self._read.pop(number, None)

    def remove_segments(self, names: Sequence[str]) -> None:
        for name in names:
            (self.segments / name).unlink(missing_ok=True)

    def sweep(self) -> None:
        """Removes what crashes left behind. Only while no ingest runs."""
        if self._entries.is_dir():
            sweep(self._entries)
        if not self.segments.is_dir():
            return
        named = {s.name for number in self.numbers() for s in self.entry(number).segments}
        found = [name for name in os.listdir(self.segments) if name.endswith(SEGMENT_SUFFIX)]
        self.remove_segments([name for name in found if name not in named])

    def _path(self, number: int) -> Path:
        return self._entries / f"{number:012d}{_SUFFIX}"


def _to_json(entry: SharedEntry) -> dict[str, object]:
    return {
        "number": entry.number,
        "version": entry.version,
        "demand": demand_to_json(entry.demand),
        "segments": [asdict(segment) for segment in entry.segments],
        "counts": dict(entry.counts),
        "totals": dict(entry.totals),
    }


def _from_json(body: bytes) -> SharedEntry:
    value = json.loads(body)
    return SharedEntry(
        number=value["number"],
        version=value["version"],
        demand=demand_from_json(value["demand"]),
        segments=tuple(segment_from_json(segment) for segment in value["segments"]),
        counts=value["counts"],
        totals=value["totals"],
    )


def _damaged(path: Path, reason: object) -> NarrowsError:
    return fail(
        Code.UNREADABLE_FILE,
        f"the log of a shared stream is damaged: `{path}`: {reason}",
        None,
        "restore the state folder, or give the stream a new start with `narrows reset`",
    )
