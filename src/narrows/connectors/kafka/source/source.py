"""Topics as a source, on the driver: what is there, what the next micro-batch takes of it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence

from narrows.connectors.base import (
    Lag,
    Share,
    SourceConnector,
    SourceDeclaration,
    SourceUnavailableError,
)
from narrows.connectors.entry_log import EMPTY, Entry, TakenEntries
from narrows.connectors.kafka.client.cluster import Cluster, cluster_of
from narrows.connectors.kafka.client.topics import Partition, Topics, topic_names
from narrows.connectors.kafka.source import offsets
from narrows.connectors.kafka.source.offsets import Taken
from narrows.connectors.kafka.source.options import parse_offsets
from narrows.connectors.kafka.source.sample import message_bytes
from narrows.errors import listed
from narrows.plugins.start_at import START_AT, start_of

_MEASURED_AGAIN = 100
"""Entries after which the size of messages is measured anew."""


class KafkaSource(SourceConnector):
    def __init__(self, declared: SourceDeclaration) -> None:
        options = declared.options
        self._options = options
        self._topic = str(options["topic"])
        self._group = str(options.get("group") or f"narrows-{declared.pipeline or declared.name}")
        given = options.get(START_AT)
        zone = str(options.get("timezone", "UTC"))
        self._start = start_of(None if given is None else str(given), parse_offsets, zone)
        self._max_messages = declared.limit("max_messages_per_trigger")
        self._max_bytes = declared.limit("max_bytes_per_trigger")
        self._stops_when_gone = declared.bounded or "fail" in (
            options.get("on_missing"),
            options.get("on_error"),
        )
        self._was_there = False
        self._taken = Taken()
        self._upto = EMPTY
        """The entry up to which `_taken` knows the log."""
        self._log: TakenEntries | None = None
        self._told = EMPTY
        """The entry up to which the group knows that all is published."""
        self._measured: tuple[int, int] | None = None
        """Bytes of a message, and after how many entries they were measured."""

    @property
    def _cluster(self) -> Cluster:
        return cluster_of(self._options)

    def available(self) -> Topics:
        names = topic_names(self._topic)
        if names is None:
            pattern = re.compile(self._topic)
            return self._cluster.topics(filter(pattern.match, self._cluster.topic_names()))[0]
        there, missing = self._cluster.topics(names)
        if missing and (self._stops_when_gone or not self._was_there):
            raise SourceUnavailableError(
                f"there is no topic {listed([f'`{name}`' for name in missing])}"
                f" at {self._options['brokers']}",
                "make it, or look for another spelling in option `topic`",
            )
        self._was_there = True
        return there

    def admit(self, log: TakenEntries, available: Topics) -> Entry | None:
        self._look_at(log)
        start = self._start_of(available)
        left = sum(offsets.behind(self._taken, available, start).values())
        size = self._message_bytes(available, start) if left else offsets.DEFAULT_MESSAGE_BYTES
        limits = [self._max_messages, None if self._max_bytes is None else self._max_bytes // size]
        most = min((max(1, limit) for limit in limits if limit is not None), default=None)
        return offsets.next_entry(self._taken, available, start, most, size)

    def whole(self, available: Topics) -> Entry:
        start = self._start_of(available)
        return offsets.whole_entry(available, start, self._message_bytes(available, start))

    def split(self, entry: Entry, tasks: int) -> Sequence[Share]:
        return offsets.split(entry, tasks)

    def size(self, entry: Entry) -> int:
        return offsets.entry_bytes(entry)

    def version(self, available: Topics) -> str:
        found = sorted(available.extents.items()), sorted(available.ids.items())
        return hashlib.sha256(json.dumps(found).encode()).hexdigest()

    def lag(self, log: TakenEntries, available: Topics) -> Lag:
        self._look_at(log)
        behind = offsets.behind(self._taken, available, self._start_of(available))
        messages = sum(behind.values())
        size = None if self._measured is None else messages * self._measured[0]
        partitions = {str(place): count for place, count in sorted(behind.items())}
        return Lag(payloads=messages, bytes=size, partitions=partitions)

    def committed(self, entry: Entry) -> None:
        ends, number = self._ends(entry)
        if self._cluster.commit(self._group, ends):
            self._told = number

    def folded(self, entries: Iterable[Entry]) -> Entry | None:
        return offsets.folded(Taken(entries))

    def _ends(self, entry: Entry) -> tuple[dict[Partition, int], int]:
        """How far everything has come with this entry and those before it that were not told, and
        the entry's number."""
        ends: dict[Partition, int] = {}
        told = () if self._log is None else self._log.numbered(self._told)
        for number, found in told:
            ends |= offsets.ends(found)
            if found == entry:
                return ends, number
        # It was told before, or nobody has looked at the log yet.
        return offsets.ends(entry), self._told

    def _look_at(self, log: TakenEntries) -> None:
        last = log.last()
        if last < self._upto:  # another log, or one that was given a new start
            self._taken, self._upto, self._told = Taken(), EMPTY, EMPTY
        self._log = log
        for entry in log.entries(after=self._upto):
            self._taken.add(entry)
        self._upto = last

    def _start_of(self, there: Topics) -> offsets.Start:
        """Where reading begins. Only the first entry asks; it says so for all that follow."""
        start = self._start
        if start.word is not None:
            return start.word
        if start.place is not None:
            return start.place
        assert start.time is not None
        if self._taken.entries:
            return {}
        found = self._cluster.offsets_at(there.extents, start.time)
        ends = {place: extent.end for place, extent in there.extents.items()}
        return {place: min(found.get(place, end), end) for place, end in ends.items()}

    def _message_bytes(self, there: Topics, start: offsets.Start) -> int:
        """Measured now and then; the same until the next entry, which must not change meanwhile."""
        entries = self._taken.entries
        if self._measured is None or entries - self._measured[1] >= _MEASURED_AGAIN:
            behind = offsets.behind(self._taken, there, start)
            found = message_bytes(self._cluster, self._topic, _samples(behind, there))
            if found is None:
                return offsets.DEFAULT_MESSAGE_BYTES
            self._measured = found, entries
        return self._measured[0]


def _samples(behind: Mapping[Partition, int], there: Topics) -> Mapping[Partition, int]:
    """Where to look for messages that stand for all: where most of them are."""
    most = sorted(behind, key=lambda place: (-behind[place], place))[:3]
    return {place: there.extents[place].end - behind[place] for place in most if behind[place]}
