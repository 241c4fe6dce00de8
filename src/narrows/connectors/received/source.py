"""The log of what was received, as a source on the driver.

    {"upto": 900, "ranges": [[0, 64, 5064, 300, 800], [800, 64, 1064, 800, 900]]}

An entry has the payloads 300 to 899: for each range its segment, from which byte to which its
groups stand there, and the numbers of its payloads. What receives is the connector's business: it
says so by `Receiver`, and runs while a pipeline does.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from narrows.connectors.base import Lag, Share, SourceConnector, SourceDeclaration
from narrows.connectors.entry_log import Entry, TakenEntries
from narrows.connectors.received.consumers import Consumers
from narrows.connectors.received.contents import groups_in, retain
from narrows.connectors.received.segments import Group
from narrows.plugins.start_at import EARLIEST, LATEST, START_AT

_RANGE_BYTES = 8 << 20
"""Bytes of a range: what a task reads in one go."""


class Receiver(Protocol):
    """What fills the log of one stream."""

    def start(self) -> None: ...

    def stop(self) -> None:
        """Also after a `start` that has raised."""

    @property
    def problem(self) -> str | None:
        """Why nothing can be received at the moment; None if all is well."""


@dataclass(frozen=True, slots=True)
class ReceivedRange:
    """Payloads that one task reads one after the other: numbers `start` up to `end`, in the groups
    that stand between two places of a segment. Where these are the same, the payloads are lost."""

    log: str
    segment: int
    begin: int
    stop: int
    start: int
    end: int

    @property
    def key(self) -> str:
        return f"{Path(self.log).name}:{self.start}:{self.end}"


class ReceivedSource(SourceConnector):
    def __init__(self, declared: SourceDeclaration, log: Path, receiver: Receiver) -> None:
        self._declared = declared
        self._folder = log
        self._receiver = receiver
        self._is_started = False
        self._start_at = str(declared.options.get(START_AT, EARLIEST))
        self._max_messages = declared.limit("max_messages_per_trigger")
        self._max_bytes = declared.limit("max_bytes_per_trigger")

    # --- receiving --------------------------------------------------------------------------------

    def reserve(self) -> None:
        if self._declared.reader is not None:
            # Before anything comes, or goes: what nobody has begun to read is nobody's.
            Consumers(self._folder).begin(self._declared.reader, self._begins(self.available()))

    def start(self) -> None:
        self._is_started = True
        self.reserve()
        self._receiver.start()

    def stop(self) -> None:
        if self._is_started:
            self._is_started = False
            self._receiver.stop()

    @property
    def problem(self) -> str | None:
        return self._receiver.problem if self._is_started else None

    # --- reading ----------------------------------------------------------------------------------

    def available(self) -> Sequence[Group]:
        return groups_in(self._folder)

    def admit(self, log: TakenEntries, available: Sequence[Group]) -> Entry | None:
        after = self._taken(log, available)
        return self._entry(available, after, self._max_messages, self._max_bytes)

    def whole(self, available: Sequence[Group]) -> Entry:
        found = self._entry(available, 0 if not available else available[0].first, None, None)
        return found or {"upto": 0, "ranges": []}

    def split(self, entry: Entry, tasks: int) -> list[Share]:
        """Ranges that follow each other go to one task, about as many bytes to each."""
        ranges = [ReceivedRange(str(self._folder), *found) for found in entry["ranges"]]
        total = sum(read.stop - read.begin for read in ranges)
        shares: list[tuple[list[ReceivedRange], list[int]]] = [([], []) for _ in range(tasks)]
        before = 0
        for place, read in enumerate(ranges):
            mine, places = shares[min(tasks - 1, before * tasks // max(1, total))]
            mine.append(read)
            places.append(place)
            before += read.stop - read.begin
        return [Share(mine, places) for mine, places in shares if mine]

    def size(self, entry: Entry) -> int:
        return sum(stop - begin for _, begin, stop, _, _ in entry["ranges"])

    def version(self, available: Sequence[Group]) -> str:
        return f"{available[0].first}:{available[-1].end}" if available else "0"

    def lag(self, log: TakenEntries, available: Sequence[Group]) -> Lag:
        after = self._taken(log, available)
        left = [group for group in available if group.end > after]
        if not left:
            return Lag(payloads=0, bytes=0)
        return Lag(
            payloads=left[-1].end - max(after, left[0].first), bytes=sum(g.size for g in left)
        )

    def committed(self, entry: Entry) -> None:
        if self._declared.reader is not None:
            Consumers(self._folder).advance(self._declared.reader, entry["upto"])
            retain(self._folder)

    def folded(self, entries: Iterable[Entry]) -> Entry | None:
        return {"upto": max(entry["upto"] for entry in entries), "ranges": []}

    def _taken(self, log: TakenEntries, available: Sequence[Group]) -> int:
        """The number of the first payload that no entry has."""
        last = log.last()
        if last >= 0:
            return int(log.entry(last)["upto"])
        begins = self._begins(available)
        if self._declared.reader is None or not available:
            return begins
        return Consumers(self._folder).begin(self._declared.reader, begins)

    def _begins(self, available: Sequence[Group]) -> int:
        if not available:
            return 0
        return available[-1].end if self._start_at == LATEST else available[0].first

    def _entry(
        self, available: Sequence[Group], after: int, messages: int | None, size: int | None
    ) -> Entry | None:
        """What follows a payload: so many messages and bytes at most, but one message at least."""
        at = bisect_right(available, after, key=lambda group: group.end)
        left = available[at:]
        if not left:
            return None
        pieces: list[_Piece] = []
        if left[0].first > after:  # they were there, and nobody had read them
            pieces.append(_Piece(Group(left[0].segment, 0, 0, after, 0, 0), after, left[0].first))
        for piece in _limited(left, after, messages, size):
            if pieces and pieces[-1].joins(piece):
                last = pieces[-1].group
                pieces[-1] = _Piece(
                    last._replace(stop=piece.group.stop), pieces[-1].start, piece.end
                )
            else:
                pieces.append(piece)
        return {
            "upto": pieces[-1].end,
            "ranges": [
                [p.group.segment, p.group.start, p.group.stop, p.start, p.end] for p in pieces
            ],
        }


@dataclass(frozen=True)
class _Piece:
    """Payloads of groups that stand side by side: those from one number up to another."""

    group: Group
    start: int
    end: int

    def joins(self, other: _Piece) -> bool:
        mine, theirs = self.group, other.group
        return (
            mine.segment == theirs.segment
            and mine.stop == theirs.start
            and theirs.stop - mine.start <= _RANGE_BYTES
        )


def _limited(
    groups: Sequence[Group], after: int, messages: int | None, size: int | None
) -> Iterator[_Piece]:
    """As much of the groups as the limits allow. Payloads of a group count as if all were of the
    same size."""
    taken = 0
    for group in groups:
        start = max(after, group.first)
        count = group.end - start
        if messages is not None:
            count = min(count, messages - taken)
        if size is not None and group.size:
            count = min(count, size * group.rows // group.size)
            size -= count * group.size // group.rows
        if taken == 0:
            count = max(1, count)
        if count <= 0:
            return
        taken += count
        yield _Piece(group, start, start + count)
        if start + count < group.end:
            return
