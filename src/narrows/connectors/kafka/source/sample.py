"""How large messages are, seen from a few of them."""

from __future__ import annotations

import time
from collections.abc import Mapping

from narrows.connectors.kafka.client.cluster import Cluster
from narrows.connectors.kafka.client.faults import KafkaError, Settings
from narrows.connectors.kafka.client.topics import Partition
from narrows.connectors.kafka.source.consumer import open_consumer

_MESSAGES = 100
_BYTES = 1 << 20
_SECONDS = 2.0
_HOLDS_SECONDS = 60.0


def message_bytes(cluster: Cluster, source: str, places: Mapping[Partition, int]) -> int | None:
    """The average size of some messages of a source, which stand at these offsets; None if none is
    found in the time that one may wait for it. What was measured lately holds: connecting for it
    costs a query a tenth of a second."""
    size, measured = cluster.message_bytes.get(source, (None, 0.0))
    if size is None or time.monotonic() - measured > _HOLDS_SECONDS:
        size = _measured(cluster.settings, places)
        if size is not None:
            cluster.message_bytes[source] = size, time.monotonic()
    return size


def _measured(settings: Settings, places: Mapping[Partition, int]) -> int | None:
    small = {
        "queued.max.messages.kbytes": str(2 * _BYTES >> 10),
        "fetch.message.max.bytes": str(_BYTES),
    }
    count = size = 0
    deadline = time.monotonic() + _SECONDS
    consumer = open_consumer({**settings, **small})
    try:
        for place, offset in places.items():
            stream = consumer.open(place.topic, place.number, offset)
            try:
                while time.monotonic() < deadline:
                    fetched = stream.fetch(_MESSAGES, 0.1)
                    with fetched.batch as batch:
                        count += len(batch)
                        size += batch.size
                        seen = len(batch)
                    if seen or fetched.end is not None:
                        break
            except KafkaError:
                pass  # whoever reads will find out what is wrong
            finally:
                stream.close()
    finally:
        consumer.close()
    return max(1, size // count) if count else None
