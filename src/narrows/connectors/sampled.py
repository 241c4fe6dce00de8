"""Streams of which only the newest payload is read, now and then: `latest every 1 second`.

    comes       a  b  c     d  e        f
    entries    [a][b  c  d]   [e  f]            one each second at most, of all that has come
    decoded     a        d        f             the newest of each; a reader finds it unread

The time that counts is that of admission: when an entry was taken is journaled with it, so that a
restart does not take the next one early. Which payload is the newest depends on the entry alone, so
a batch that is run again reads the same. What is thrown away is not decoded, and mostly not read.

It works for any connector whose readers can find the newest payload (`SamplingReader`); nobody else
knows of it.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from narrows.connectors.base import (
    Available,
    Lag,
    Part,
    Range,
    SamplingReader,
    Share,
    SourceConnector,
)
from narrows.connectors.entry_log import EMPTY, Entry, TakenEntries

_TAKEN_AT, _OF_SOURCE = "at", "of"
_BYTES = 1 << 10
"""What a payload is believed to have."""


@dataclass(frozen=True)
class SampledRange:
    """Ranges, of all of which the newest payload is read."""

    key: str
    ranges: Sequence[Range]


class SampledSource(SourceConnector):
    """A source whose entries say when they were taken: `{"at": milliseconds, "of": its entry}`."""

    def __init__(
        self,
        source: SourceConnector,
        interval: int,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._source = source
        self._interval = interval
        self._clock = clock

    def available(self) -> Available:
        return self._source.available()

    def admit(self, log: TakenEntries, available: Available) -> Entry | None:
        now, last = round(self._clock() * 1_000), log.last()
        since = self._interval if last == EMPTY else now - log.entry(last)[_TAKEN_AT]
        if 0 <= since < self._interval:  # a clock that was put back must not keep us waiting
            return None
        entry = self._source.admit(_OfSource(log), available)
        return None if entry is None else {_TAKEN_AT: now, _OF_SOURCE: entry}

    def whole(self, available: Available) -> Entry:
        return {_TAKEN_AT: 0, _OF_SOURCE: self._source.whole(available)}

    def split(self, entry: Entry, tasks: int) -> Sequence[Share]:
        of_source = entry[_OF_SOURCE]
        placed = [
            (place, read)
            for share in self._source.split(of_source, 1)
            for read, place in zip(share.ranges, share.places, strict=True)
        ]
        if not placed:
            return []
        digest = hashlib.sha256(json.dumps(of_source, sort_keys=True).encode()).hexdigest()
        ranges = tuple(read for _, read in sorted(placed, key=lambda found: found[0]))
        return [Share([SampledRange(f"newest of {digest[:32]}", ranges)], [0])]

    def size(self, entry: Entry) -> int:
        return min(_BYTES, self._source.size(entry[_OF_SOURCE]))

    def version(self, available: Available) -> str:
        return self._source.version(available)

    def lag(self, log: TakenEntries, available: Available) -> Lag:
        return self._source.lag(_OfSource(log), available)

    def committed(self, entry: Entry) -> None:
        self._source.committed(entry[_OF_SOURCE])

    def folded(self, entries: Iterable[Entry]) -> Entry | None:
        taken = list(entries)
        folded = self._source.folded(entry[_OF_SOURCE] for entry in taken)
        return None if folded is None else {**taken[-1], _OF_SOURCE: folded}

    def reserve(self) -> None:
        self._source.reserve()

    def start(self) -> None:
        self._source.start()

    def stop(self) -> None:
        self._source.stop()

    @property
    def problem(self) -> str | None:
        return self._source.problem


class SampledReader:
    """Reads the newest payload of some ranges."""

    def __init__(self, reader: SamplingReader) -> None:
        self._reader = reader

    def parts(self, read: SampledRange) -> Iterator[Part]:
        return self._reader.newest(read.ranges)


class _OfSource(TakenEntries):
    """The entries as the source made them, which do not say when they were taken."""

    def __init__(self, log: TakenEntries) -> None:
        self._log = log

    def last(self) -> int:
        return self._log.last()

    def entry(self, number: int) -> Entry:
        return self._log.entry(number)[_OF_SOURCE]

    def numbered(self, after: int = EMPTY) -> Iterator[tuple[int, Entry]]:
        return ((number, entry[_OF_SOURCE]) for number, entry in self._log.numbered(after))
