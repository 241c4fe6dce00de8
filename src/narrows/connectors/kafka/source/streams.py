"""Partitions that a worker goes on reading, range by range.

A range mostly begins where the one before it ended, so what is being fetched is kept: the next
range finds its first messages there. There is one client for all partitions of a cluster.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from narrows.connectors.kafka.client.cluster import require_library
from narrows.connectors.kafka.client.faults import KafkaError, Settings
from narrows.connectors.kafka.client.settings import settings_of
from narrows.connectors.kafka.source.consumer import open_consumer
from narrows.connectors.kafka.source.messages import Consumer, Fetched, MessageBatch

_KEPT_CLIENTS = 4
_KEPT_STREAMS = 16
"""Each has fetched some megabytes ahead, which nobody may ever want."""


class KeptStream:
    """A partition at a place. What was fetched and is for the next range waits in front of it."""

    def __init__(
        self, client: Consumer, topic: str, partition: int, offset: int, topic_id: str
    ) -> None:
        self._client = client
        self.place = topic, partition
        self._topic_id = topic_id
        self._stream = client.open(topic, partition, offset)
        self._rest: MessageBatch | None = None
        self._begins = offset
        """All from here up to the next message was read, or is a gap."""

    @property
    def position(self) -> int:
        """The offset of the next message, at least."""
        return self._stream.position if self._rest is None else self._rest.offset(0)

    @property
    def trouble(self) -> KafkaError | None:
        return self._client.trouble

    def goes_on_at(self, offset: int, topic_id: str) -> bool:
        """Would it give what stands at the offset next? What it has fetched of a topic that was
        made anew meanwhile is of the one that is gone."""
        return self._topic_id == topic_id and self._begins <= offset <= self.position

    def fetch(self, most: int, timeout: float) -> Fetched:
        if self._rest is not None:
            rest, self._rest = self._rest, None
            return Fetched(rest)
        return self._stream.fetch(most, timeout)

    def end_at(self, offset: int, batch: MessageBatch) -> None:
        """Keeps what stands behind the end of a range for the next."""
        rest = batch.split(offset)
        if len(rest):
            self._rest = rest

    def leave(self, offset: int) -> None:
        """All before this offset was read."""
        self._begins = offset

    def go_to(self, offset: int) -> None:
        self.close()
        self._stream = self._client.open(*self.place, offset)
        self._begins = offset

    def close(self) -> None:
        if self._rest is not None:
            self._rest.release()
            self._rest = None
        self._stream.close()


class KeptClient:
    """A client of a cluster, and the partitions that it goes on fetching."""

    def __init__(self, settings: Settings) -> None:
        self._client = open_consumer(settings)
        self._streams: OrderedDict[tuple[str, int], KeptStream] = OrderedDict()

    def take(
        self, topic: str, partition: int, offset: int, topic_id: str = ""
    ) -> tuple[KeptStream, bool]:
        """A partition to be read from an offset on, and whether it was kept at that place. It is
        the caller's until it is given back."""
        kept = self._streams.pop((topic, partition), None)
        if kept is not None and kept.goes_on_at(offset, topic_id):
            return kept, True
        if kept is not None:
            kept.close()
        return KeptStream(self._client, topic, partition, offset, topic_id), False

    def give_back(self, stream: KeptStream) -> None:
        self._streams[stream.place] = stream
        if len(self._streams) > _KEPT_STREAMS:
            self._streams.popitem(last=False)[1].close()

    def close(self) -> None:
        self._streams.clear()
        self._client.close()


_clients: OrderedDict[tuple[tuple[str, Any], ...], KeptClient] = OrderedDict()


def client_of(options: Mapping[str, Any]) -> KeptClient:
    """The client of this process for a source with these options."""
    require_library()
    settings = settings_of(options)
    key = tuple(sorted(settings.items()))
    if key not in _clients:
        _clients[key] = KeptClient(settings)
        if len(_clients) > _KEPT_CLIENTS:
            _clients.popitem(last=False)[1].close()
    _clients.move_to_end(key)
    return _clients[key]
