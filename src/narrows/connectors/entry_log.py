"""What each micro-batch of a stream reads: journaled before it is read.

Spark keeps an offset for every micro-batch. If it were a list of files it would grow with the
folder; here it is one number, that of an entry of this log. What an entry says is its connector's
business: files, ranges of offsets, segments. The log keeps it as JSON.

The log is a folder of files, each with the entries from one number to another:

    000000000000-000000000099.entries     entries 0 to 99, merged
    000000000100-000000000100.entries     entry 100
    000000000101-000000000101.entries     entry 101

Every 100 entries are merged into one file, every 100 of these into one, and so on: 100 000 entries
are some hundred files, and an entry is rewritten as many times as its number has pairs of digits.
(One snapshot of everything would rewrite a million files over and over.)

Nobody reads an entry again that was published long ago; what is asked of it is what was taken. A
pipeline of low latency takes millions a day, so where a connector can say of many what it says of
one (`SourceConnector.folded`), that is kept in place of them:

    000000000000-000000009999.folded      one entry that stands for all from 0 to 9999

A file appears by a rename and is never changed, so a crash leaves the log as it was before or
after. Merging writes the merged file first and removes its parts then: parts that are still there
are known by their numbers. Each file begins with a checksum of the rest. One process writes, see
the lock of the state folder; any number may read.
"""

from __future__ import annotations

import contextlib
import json
import os
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from narrows.errors import Code, NarrowsError, fail
from narrows.files.atomic import sweep, sync_folder, write_atomically

FANOUT = 100
EMPTY = -1
"""The number of the last entry when there is none."""

_MAGIC = "narrows-entries-1"
_SUFFIX, _FOLDED = ".entries", ".folded"
_KEPT = 1_000
"""Entries that are not folded, however long ago they were published: a position may be put back by
a power cut, and people look at the last ones."""
_WORTH_FOLDING = 5_000
_ATTEMPTS = 10

Entry = Any
"""What one micro-batch reads, as JSON: made by a connector, and understood by it alone."""


class _Segment(NamedTuple):
    """A file of the log: entries `first` to `last`. Ordered so that a whole precedes its parts."""

    first: int
    minus_last: int
    is_folded: bool = False
    """Does one entry stand for all of them?"""

    @property
    def last(self) -> int:
        return -self.minus_last

    @property
    def name(self) -> str:
        suffix = _FOLDED if self.is_folded else _SUFFIX
        return f"{self.first:012d}-{self.last:012d}{suffix}"


class TakenEntries(ABC):
    """What was taken of a source so far, as the source may look at it."""

    @abstractmethod
    def last(self) -> int:
        """The number of the last entry; -1 when there is none."""

    @abstractmethod
    def entry(self, number: int) -> Entry:
        """An entry that is kept."""

    @abstractmethod
    def numbered(self, after: int = EMPTY) -> Iterator[tuple[int, Entry]]:
        """The entries after this one with their numbers, all that there are. What stands for many
        that are folded has the number of the last of them."""

    def entries(self, after: int = EMPTY) -> Iterator[Entry]:
        """The same without their numbers."""
        return (entry for _, entry in self.numbered(after))


class EntryLog(TakenEntries):
    """The log in a folder, which need not exist yet."""

    def __init__(self, folder: str | os.PathLike[str], *, fanout: int = FANOUT) -> None:
        self._folder = Path(folder)
        self._fanout = fanout
        self._segments: list[_Segment] = []
        self._newest: tuple[int, Entry] = (EMPTY, None)
        self._read: tuple[_Segment, list[bytes]] | None = None
        self._known = False
        """Is what is in memory what is on the disk? Not after a failed write: one looks again."""
        self._swept = False

    @property
    def folder(self) -> Path:
        return self._folder

    def last(self) -> int:
        self._load()
        return self._last

    def entry(self, number: int) -> Entry:
        """An entry; somebody else may have written, or merged, since we last looked."""
        if number == self._newest[0]:
            return self._newest[1]
        for _ in range(_ATTEMPTS):
            self._load()
            if number > self._last:
                self._known = False
                self._load()
            if number > self._last:
                raise self.is_behind(number)
            try:
                return self._entry(number)
            except FileNotFoundError:  # merged between our looking and reading
                self._known = False
        raise _corrupt(self._folder, f"entry {number} is never there when it is read")

    def numbered(self, after: int = EMPTY) -> Iterator[tuple[int, Entry]]:
        last, number = self.last(), after + 1
        oldest = self._segments[0] if self._segments else None
        if oldest is not None and oldest.is_folded and number <= oldest.last:
            yield oldest.last, self._parsed(oldest, oldest.last, self._lines(oldest)[0])
            number = oldest.last + 1
        for each in range(number, last + 1):
            yield each, self.entry(each)

    def is_behind(self, entry: int) -> NarrowsError:
        """What is wrong when somebody has read an entry that the log does not know."""
        return fail(
            Code.UNREADABLE_FILE,
            f"the log of what was taken in `{self._folder}` ends at entry {self._last},"
            f" but the checkpoint has come to entry {entry}",
            None,
            "the checkpoint and the log belong together: restore the whole state folder, or start"
            " the pipeline anew: `narrows reset <pipeline>`",
        )

    def append(self, entry: Entry) -> int:
        """Adds an entry; it is on the disk when its number is returned."""
        self._load()
        number = self._last + 1
        segment = _Segment(number, -number)
        self._prepare()
        line = json.dumps([number, entry]) + "\n"
        self._known = False
        self._write(segment, line.encode("ascii"))
        self._segments.append(segment)
        # As it is for all others, who read it from the disk: JSON has no tuples.
        self._newest = (number, json.loads(line)[1])
        self._merge(number)
        self._known = True
        return number

    def fold(self, published: int, folded: Callable[[Iterable[Entry]], Entry | None]) -> None:
        """Keeps one entry in place of those that were published long ago, if that is worth while
        and `folded` can make one of them. Everything up to `published` is."""
        self._load()
        old = [segment for segment in self._segments if segment.last <= published - _KEPT]
        count = sum(each.last - each.first + 1 for each in old if not each.is_folded)
        if count < _WORTH_FOLDING:
            return
        upto = old[-1].last
        entry = folded(entry for number, entry in self.numbered() if number <= upto)
        if entry is None:
            return
        self._prepare()
        segment = _Segment(0, -upto, is_folded=True)
        line = json.dumps([upto, entry]) + "\n"
        self._known = False
        self._write(segment, line.encode("ascii"))
        self._segments = [segment, *self._segments[len(old) :]]
        self._remove(old)
        self._known = True

    @property
    def _last(self) -> int:
        return self._segments[-1].last if self._segments else EMPTY

    # --- reading ----------------------------------------------------------------------------------

    def _load(self) -> None:
        if not self._known:
            self._segments = _cover(_segments_in(self._folder), self._folder)
            self._known = True

    def _entry(self, number: int) -> Entry:
        if not self._read or not self._read[0].first <= number <= self._read[0].last:
            # Entries are asked for one after the other: keep what was read for the next.
            self._read = self._segment_of(number)
        segment, lines = self._read
        return self._parsed(segment, number, lines[number - segment.first])

    def _segment_of(self, number: int) -> tuple[_Segment, list[bytes]]:
        segment = next(s for s in self._segments if s.first <= number <= s.last)
        if segment.is_folded:
            raise _corrupt(self._folder, f"entry {number} was published, and is not kept")
        return segment, self._lines(segment)

    def _lines(self, segment: _Segment) -> list[bytes]:
        """The lines of a segment, one for each of its entries."""
        path = self._folder / segment.name
        try:
            head, _, body = path.read_bytes().partition(b"\n")
        except FileNotFoundError:
            raise
        except OSError as error:
            raise _corrupt(path, error) from error
        lines = body.splitlines(keepends=True)
        count = 1 if segment.is_folded else segment.last - segment.first + 1
        if head != _head(body) or len(lines) != count:
            raise _corrupt(path, "it is not what was written")
        return lines

    def _parsed(self, segment: _Segment, number: int, line: bytes) -> Entry:
        try:
            found, entry = json.loads(line)
        except (ValueError, TypeError) as error:
            raise _corrupt(self._folder / segment.name, error) from error
        if found != number:
            raise _corrupt(self._folder / segment.name, f"entry {found} where {number} should be")
        return entry

    # --- writing ----------------------------------------------------------------------------------

    def _prepare(self) -> None:
        """Makes sure that we write alone, and removes what crashes left."""
        self._folder.mkdir(parents=True, exist_ok=True)
        found = _segments_in(self._folder)
        cover = _cover(found, self._folder)
        if cover != self._segments:
            message = f"somebody else writes to the log of what was taken in `{self._folder}`"
            raise fail(Code.STATE_IN_USE, message, None, "run one process on a state folder")
        if not self._swept:
            sweep(self._folder)
            self._remove(set(found) - set(cover))
            self._swept = True

    def _write(self, segment: _Segment, body: bytes) -> None:
        write_atomically(self._folder / segment.name, _head(body) + b"\n" + body)

    def _merge(self, number: int) -> None:
        """Merges the last entries when their number is round: as many as it has round digits."""
        count = 1
        while (number + 1) % (count * self._fanout) == 0:
            count *= self._fanout
        parts = [s for s in self._segments if s.first > number - count and not s.is_folded]
        if len(parts) < 2:
            return
        merged = _Segment(parts[0].first, -number)
        self._write(merged, b"".join(line for part in parts for line in self._lines(part)))
        self._segments = [*self._segments[: -len(parts)], merged]
        self._remove(parts)

    def _remove(self, segments: Iterable[_Segment]) -> None:
        for segment in segments:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._folder / segment.name)
        sync_folder(self._folder)


def newest_entry(folder: Path) -> int:
    """The largest number that an entry of a log has, be the log damaged or not."""
    return max((segment.last for segment in _segments_in(folder)), default=EMPTY)


def _segments_in(folder: Path) -> list[_Segment]:
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    segments = []
    for name in names:
        stem, suffix = os.path.splitext(name)
        first, _, last = stem.partition("-")
        if suffix in (_SUFFIX, _FOLDED) and first.isdecimal() and last.isdecimal():
            segments.append(_Segment(int(first), -int(last), is_folded=suffix == _FOLDED))
    return sorted(segments)


def _cover(segments: Sequence[_Segment], folder: Path) -> list[_Segment]:
    """The segments that make up the log, without those that have been merged into another."""
    cover: list[_Segment] = []
    last = EMPTY
    for segment in segments:
        if segment.last <= last:
            continue
        if segment.first != last + 1:
            raise _corrupt(folder, f"the entries {last + 1} to {segment.first - 1} are missing")
        cover.append(segment)
        last = segment.last
    return cover


def _head(body: bytes) -> bytes:
    return f"{_MAGIC} {zlib.crc32(body):08x}".encode("ascii")


def _corrupt(path: Path, reason: object) -> NarrowsError:
    return fail(
        Code.UNREADABLE_FILE,
        f"the log of what was taken is damaged: `{path}`: {reason}",
        None,
        "restore the state folder from a backup, or start the pipeline anew with `narrows reset`",
    )
