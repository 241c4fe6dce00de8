"""How large messages are, seen from a few of them."""

from __future__ import annotations

import time
from collections.abc import Mapping

from narrows.connectors.kafka.consumer import open_consumer
from narrows.connectors.kafka.faults import KafkaError, Settings
from narrows.connectors.kafka.offsets import Partition

_MESSAGES = 100
_BYTES = 1 << 20
_SECONDS = 2.0


def message_bytes(settings: Settings, places: Mapping[Partition, int]) -> int | None:
    """The average size of some messages that stand at these offsets; None if none is found in the
    time that one may wait for it."""
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
