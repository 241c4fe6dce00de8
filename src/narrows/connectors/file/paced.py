"""Recorded files, as fast as they were recorded: `replay = 'ts', speed = 10`.

    a.json    09:00:00  09:00:01  09:00:05                times in the recording
    b.json         09:00:00  09:00:03
                    ───────────┤                          what is due three seconds after its start
    entry     a.json, two lines; b.json, two lines

The clock of the recording begins with the earliest of the files' first rows, and goes `speed` times
as fast as ours while a pipeline runs. A line is taken when its time has come, after the lines
before it: files are independent of each other, lines of a file keep their order. Files that cannot
be read from a line on - compressed ones, Parquet, documents - are taken as a whole, at the time of
their first row.

    {"upto": 1714550403000, "ranges": [["a.json", 0, 62, 93], ["b.json", 0, 62, 62]]}

An entry has ranges of files - from, to, and the size of the file when it was first seen - and how
far the clock was: a pipeline that was stopped goes on with the recording where it was. Only who
goes on and on is kept waiting (`start`); bounded runs and queries take everything at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

from narrows.connectors.base import Lag, SourceDeclaration
from narrows.connectors.entry_log import EMPTY, Entry, TakenEntries
from narrows.connectors.file.source import Files, FileSource
from narrows.connectors.file.times import RecordedTimes
from narrows.files.listing import FileEntry
from narrows.files.ranges import FileRange

REPLAY, SPEED = "replay", "speed"


class _Known(NamedTuple):
    """A file that was begun: up to where it was taken, and how long it was when that began."""

    taken: int
    size: int


class PacedFileSource(FileSource):
    def __init__(
        self, declared: SourceDeclaration, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(declared)
        self._declared = declared
        self._speed = float(str(declared.options.get(SPEED, 1)))
        self._clock = clock
        self._is_paced = False
        self._began: tuple[float, int] | None = None
        """When pacing began, by our clock and by the recording's."""
        self._known: dict[str, _Known] = {}
        self._next: dict[str, tuple[int, int | None]] = {}
        """For files that somebody has looked at: a place, and the time of the row there."""

    def start(self) -> None:
        self._is_paced, self._began = True, None

    def stop(self) -> None:
        self._is_paced = False

    # --- taking -----------------------------------------------------------------------------------

    def admit(self, log: TakenEntries, available: Files) -> Entry | None:
        left = self._left(log, available)
        upto = self._recorded_now(log, left) if self._is_paced else None
        ranges: list[FileRange] = []
        for whole in left:
            due = whole if upto is None else self._due(whole, upto)
            if due is None:
                continue
            if ranges and self._is_full(len(ranges), sum(r.end - r.start for r in (*ranges, due))):
                break
            ranges.append(due)
        return _entry(upto, ranges) if ranges else None

    def whole(self, available: Files) -> Entry:
        return _entry(None, [_whole(file) for file in available])

    def lag(self, log: TakenEntries, available: Files) -> Lag:
        left = self._left(log, available)
        return Lag(bytes=sum(read.end - read.start for read in left), units=len(left))

    def folded(self, entries: Iterable[Entry]) -> Entry | None:
        """Of each file how far it was taken."""
        taken: dict[str, list[object]] = {}
        upto = None
        for entry in entries:
            upto = entry["upto"]
            taken |= {path: [path, end, end, size] for path, _, end, size in entry["ranges"]}
        return {"upto": upto, "ranges": list(taken.values())}

    def _ranges(self, entry: Entry) -> list[FileRange]:
        return [FileRange(*read) for read in entry["ranges"]]

    def _left(self, log: TakenEntries, available: Files) -> list[FileRange]:
        """What no entry has, of all files."""
        last = log.last()
        if last < self._upto:  # another log, or one that was given a new start
            self._known, self._taken, self._upto = {}, set(), EMPTY
        for entry in log.entries(after=self._upto):
            for path, _, end, size in entry["ranges"]:
                self._known[path] = _Known(end, size)
                if end >= size:
                    self._taken.add(path)
        self._upto = last
        left = []
        for file in available:
            known = self._known.get(file.path)
            if known is None:
                left.append(_whole(file))
            elif known.taken < known.size:
                left.append(FileRange(file.path, known.taken, known.size, known.size))
        return left

    # --- what is due ------------------------------------------------------------------------------

    @cached_property
    def _times(self) -> RecordedTimes:
        return RecordedTimes(self._declared, str(self._declared.options[REPLAY]))

    def _recorded_now(self, log: TakenEntries, left: Sequence[FileRange]) -> int | None:
        """Where the recording's clock stands; None as long as no row says when it happened."""
        if self._began is None:
            last = log.last()
            before = None if last == EMPTY else log.entry(last)["upto"]
            if before is None:
                times = [time for read in left if (time := self._next_time(read)) is not None]
                before = min(times, default=None)
            if before is None:
                return None
            self._began = self._clock(), int(before)
        ours, theirs = self._began
        return theirs + int((self._clock() - ours) * self._speed * 1_000)

    def _due(self, whole: FileRange, upto: int) -> FileRange | None:
        """What is due of what is left of a file."""
        time = self._next_time(whole)
        if time is not None and time > upto:
            return None
        if time is None or not self._times.can_be_cut(whole.path):
            return whole
        end, following = self._times.due(whole, upto)
        self._next[whole.path] = end, following
        return FileRange(whole.path, whole.start, end, whole.listed_size)

    def _next_time(self, read: FileRange) -> int | None:
        """The time of the first row that was not taken; None where nobody can tell."""
        place, time = self._next.get(read.path, (-1, None))
        if place != read.start:
            time = self._times.first(read)
            self._next[read.path] = read.start, time
        return time


def _whole(file: FileEntry) -> FileRange:
    return FileRange(file.path, 0, file.size, file.size)


def _entry(upto: int | None, ranges: Sequence[FileRange]) -> Entry:
    return {"upto": upto, "ranges": [[r.path, r.start, r.end, r.listed_size] for r in ranges]}
