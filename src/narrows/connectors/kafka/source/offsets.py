"""What a micro-batch takes of topics, and who reads what of it. No broker is asked here.

    there is        orders:0  [100, 900)    orders:1  [0, 50)
    taken so far    orders:0  to 300
    an entry        {"offsets": {"orders": {"0": [300, 900], "1": [0, 50]}}, ...}
    ranges          orders:0 [300, 600), orders:0 [600, 900), orders:1 [0, 50)

Offsets have gaps, which transactions and compaction leave, so an entry holds at most as many
messages as it has offsets. Sizes are estimates. Both are good enough for limits and for sharing
out, and once they are in an entry they do not change any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from narrows.connectors.base import Share
from narrows.connectors.entry_log import Entry
from narrows.connectors.kafka.client.topics import Partition, Topics
from narrows.plugins.start_at import EARLIEST, LATEST

DEFAULT_MESSAGE_BYTES = 1_000
"""What a message is believed to have where nobody has seen one."""

_RANGE_BYTES = 16 << 20
"""Bytes of a range: a consumer that must begin anew for it costs little in comparison."""
_OPENING = 64 << 10
"""What beginning a range costs, in bytes that could have been read instead."""
_WORTH_A_TASK = 2 << 20
"""Bytes that are read in the time that it takes to start another task."""


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """Messages of a partition that one task reads one after the other; `end` is not included."""

    topic: str
    partition: int
    start: int
    end: int
    topic_id: str = ""
    lost: str | None = None
    """Why nobody can read it, if that was known when it was taken."""

    @property
    def key(self) -> str:
        lost = "" if self.lost is None else ":lost"
        return f"{self.topic}:{self.partition}:{self.start}:{self.end}:{self.topic_id}{lost}"


class Taken:
    """How far entries have come, partition by partition."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self.positions: dict[Partition, int] = {}
        self.ids: dict[str, str] = {}
        self.entries = 0
        for entry in entries:
            self.add(entry)

    def add(self, entry: Entry) -> None:
        for topic, topic_id in entry["topics"].items():
            if self.is_another(topic, topic_id):
                self._forget(topic)
            self.ids[topic] = topic_id
        self.positions |= {partition: end for partition, (_, end) in _offsets(entry)}
        self.entries += 1

    def is_another(self, topic: str, topic_id: str) -> bool:
        """Was the topic made anew since it was read?"""
        known = self.ids.get(topic)
        return bool(known) and bool(topic_id) and known != topic_id

    def of(self, topic: str) -> dict[Partition, int]:
        return {place: at for place, at in self.positions.items() if place.topic == topic}

    def _forget(self, topic: str) -> None:
        for partition in self.of(topic):
            del self.positions[partition]


Start = Mapping[Partition, int] | str
"""Where reading begins: `earliest`, `latest`, or offsets; partitions without one from the first."""


def start_offsets(start: Start, there: Topics) -> dict[Partition, int]:
    """The offset with which each partition begins."""
    if start == LATEST:
        return {partition: extent.end for partition, extent in there.extents.items()}
    given: Mapping[Partition, int] = {} if isinstance(start, str) else start
    return {
        partition: max(extent.first, given.get(partition, extent.first))
        for partition, extent in there.extents.items()
    }


def next_entry(
    taken: Taken, there: Topics, start: Start, most: int | None, message_bytes: int
) -> Entry | None:
    """What is there and was not taken, at most so many messages of it; None if there is nothing.

    Partitions give in proportion to what they have, so that none of them falls behind. Those that
    come later begin with their first message. A first entry that has nothing is an entry all the
    same, unless reading begins with the first message of everything: it says where it begins.
    """
    ahead = _ahead(taken, there, start)
    chosen = in_proportion(behind(taken, there, start), most)
    lost = dict(_lost(taken, there))
    begins = not taken.entries and start != EARLIEST and bool(ahead)
    ranges = {
        place: (at, at + chosen[place])
        for place, at in ahead.items()
        if chosen[place] or begins or place in lost
    }
    return _entry(ranges, lost, there.ids, message_bytes) if ranges or lost else None


def behind(taken: Taken, there: Topics, start: Start) -> dict[Partition, int]:
    """How much of each partition was not taken."""
    ahead = _ahead(taken, there, start)
    return {place: max(0, there.extents[place].end - at) for place, at in ahead.items()}


def whole_entry(there: Topics, start: Start, message_bytes: int) -> Entry:
    """All that is there, from the start on."""
    first = start_offsets(EARLIEST if start == LATEST else start, there)
    ranges = {
        place: (at, there.extents[place].end)
        for place, at in first.items()
        if at < there.extents[place].end
    }
    return _entry(ranges, {}, there.ids, message_bytes)


def _ahead(taken: Taken, there: Topics, start: Start) -> dict[Partition, int]:
    """The offset to go on with, of every partition that is there."""
    first = start_offsets(EARLIEST if taken.entries else start, there)
    return {
        place: at
        if taken.is_another(place.topic, there.ids.get(place.topic, ""))
        else max(taken.positions.get(place, at), there.extents[place].first)
        for place, at in first.items()
    }


def _lost(taken: Taken, there: Topics) -> Iterator[tuple[Partition, tuple[int, int | None]]]:
    """What nobody can read any more: from where to where, if that is known."""
    for topic in {place.topic for place in there.extents}:
        anew = taken.is_another(topic, there.ids.get(topic, ""))
        for place, at in taken.of(topic).items():
            extent = there.extents.get(place)
            if anew:
                yield place, (at, None)
            elif extent is not None and at < extent.first:
                yield place, (at, extent.first)


def in_proportion(backlog: Mapping[Partition, int], most: int | None) -> dict[Partition, int]:
    """Shares out so many messages among partitions; never none, if there are some."""
    total = sum(backlog.values())
    if most is None or total <= most:
        return dict(backlog)
    most = max(1, most)
    chosen = {place: count * most // total for place, count in backlog.items()}
    rest = most - sum(chosen.values())
    # Those that came off worst get one more.
    worst = sorted(backlog, key=lambda place: (-(backlog[place] * most % total), place))
    for place in worst[:rest]:
        chosen[place] += 1
    return chosen


def _entry(
    ranges: Mapping[Partition, tuple[int, int]],
    lost: Mapping[Partition, tuple[int, int | None]],
    ids: Mapping[str, str],
    message_bytes: int,
) -> dict[str, object]:
    topics = sorted({place.topic for place in (*ranges, *lost)})
    entry: dict[str, object] = {
        "topics": {topic: ids.get(topic, "") for topic in topics},
        "offsets": _nested(ranges),
        "message_bytes": message_bytes,
    }
    if lost:
        entry["lost"] = _nested(lost)
    return entry


def _nested(values: Mapping[Partition, Sequence[int | None]]) -> dict[str, dict[str, list[object]]]:
    nested: dict[str, dict[str, list[object]]] = {}
    for place in sorted(values):
        nested.setdefault(place.topic, {})[str(place.number)] = list(values[place])
    return nested


def _offsets(entry: Entry, what: str = "offsets") -> Iterator[tuple[Partition, list[Any]]]:
    """What an entry has of each partition, in their order."""
    for topic, partitions in sorted(entry.get(what, {}).items()):
        for number in sorted(partitions, key=int):
            yield Partition(topic, int(number)), partitions[number]


def folded(taken: Taken) -> Entry:
    """An entry that has come as far as all those have."""
    ranges = {place: (end, end) for place, end in taken.positions.items()}
    return _entry(ranges, {}, taken.ids, DEFAULT_MESSAGE_BYTES) | {"topics": dict(taken.ids)}


# --- of an entry ----------------------------------------------------------------------------------


def ends(entry: Entry) -> dict[Partition, int]:
    """The offsets up to which an entry has come."""
    return {place: end for place, (_, end) in _offsets(entry)}


def entry_bytes(entry: Entry) -> int:
    """Bytes of its messages, about."""
    messages: int = sum(end - start for _, (start, end) in _offsets(entry))
    return messages * int(entry["message_bytes"])


def split(entry: Entry, tasks: int) -> list[Share]:
    """Ranges for so many tasks at most: neighbours go to the same task, where they are read without
    a pause, and all tasks have about as many messages."""
    ranges = _cut(entry)
    if not ranges:
        return []
    work = [_OPENING + (each.end - each.start) * entry["message_bytes"] for each in ranges]
    total, done = sum(work), 0
    tasks = min(tasks, 1 + total // _WORTH_A_TASK)
    shares: dict[int, list[int]] = {}
    for place, cost in enumerate(work):
        middle = done + cost // 2
        shares.setdefault(middle * tasks // total, []).append(place)
        done += cost
    return [Share([ranges[place] for place in places], places) for places in shares.values()]


def _cut(entry: Entry) -> list[OffsetRange]:
    """The same for the same entry, however many tasks there are."""
    most = max(1, _RANGE_BYTES // max(1, int(entry["message_bytes"])))
    ids = entry["topics"]
    ranges = [
        OffsetRange(
            *place,
            start,
            start if end is None else end,
            ids[place.topic],
            "the topic was made anew" if end is None else "the messages were deleted",
        )
        for place, (start, end) in _offsets(entry, "lost")
    ]
    for place, (start, end) in _offsets(entry):
        parts = -(-(end - start) // most)
        cuts = [start + (end - start) * part // parts for part in range(parts + 1)] if parts else []
        ranges += [OffsetRange(*place, *cut, ids[place.topic]) for cut in pairwise(cuts)]
    return ranges
