"""A broker for tests, one for the whole session, and what tests do with topics."""

from __future__ import annotations

import itertools
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaError, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

sys.path.append(str(Path(__file__).parents[2] / "tools"))

DEADLINE = 120.0
_NUMBERS = itertools.count()


class Message:
    """What a consumer found."""

    def __init__(self, found: Any) -> None:
        self.topic: str = found.topic()
        self.partition: int = found.partition()
        self.key: bytes | None = found.key()
        self.value: bytes | None = found.value()
        self.headers: list[tuple[str, bytes]] = found.headers() or []

    def __repr__(self) -> str:
        return f"{self.topic}:{self.partition} {self.key!r} {self.value!r}"


def new_topic(address: str, partitions: int = 1, prefix: str = "t", **config: str) -> str:
    """Makes a topic that nobody else has; settings have `_` for `.`."""
    name = f"{prefix}-{next(_NUMBERS)}-{uuid.uuid4().hex[:8]}"
    settings = {key.replace("_", "."): value for key, value in config.items()}
    admin = AdminClient({"bootstrap.servers": address})
    made = admin.create_topics([NewTopic(name, partitions, 1, config=settings)])
    made[name].result(DEADLINE)
    deadline = time.monotonic() + DEADLINE
    while name not in admin.list_topics(timeout=DEADLINE).topics:
        assert time.monotonic() < deadline
    return name


def committed(address: str, topic: str) -> list[Message]:
    """All that a reader of committed messages finds, partition by partition."""
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
        return sorted(_until_end(consumer, len(partitions)), key=lambda m: m.partition)
    finally:
        consumer.close()


def _until_end(consumer: Consumer, partitions: int) -> Iterator[Message]:
    ended: set[int | None] = set()
    deadline = time.monotonic() + DEADLINE
    while len(ended) < partitions:
        assert time.monotonic() < deadline, "the topic has no end"
        found = consumer.poll(1.0)
        if found is None:
            continue
        error = found.error()
        if error is None:
            yield Message(found)
        elif error.code() == KafkaError._PARTITION_EOF:
            ended.add(found.partition())
