"""What a reader of committed messages finds in a topic."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaError, TopicPartition

DEADLINE = 120.0


@dataclass(frozen=True)
class Message:
    partition: int
    key: bytes | None
    value: bytes
    headers: list[tuple[str, str | bytes | None]]


def committed(address: str, topic: str) -> list[Message]:
    """All of it, partition by partition."""
    consumer = Consumer(
        {
            "bootstrap.servers": address,
            "group.id": uuid.uuid4().hex,
            "enable.partition.eof": True,
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
        }
    )
    try:
        partitions = consumer.list_topics(topic, DEADLINE).topics[topic].partitions
        consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
        return sorted(_until_end(consumer, len(partitions)), key=lambda found: found.partition)
    finally:
        consumer.close()


def _until_end(consumer: Consumer, partitions: int) -> Iterator[Message]:
    ended: set[int] = set()
    deadline = time.monotonic() + DEADLINE
    while len(ended) < partitions:
        assert time.monotonic() < deadline, "the topic has no end"
        found = consumer.poll(1.0)
        if found is None:
            continue
        error, partition = found.error(), found.partition()
        assert partition is not None
        if error is None:
            headers = found.headers()
            assert not isinstance(headers, dict)
            yield Message(partition, found.key(), found.value() or b"", headers or [])
        elif error.code() == KafkaError._PARTITION_EOF:
            ended.add(partition)
