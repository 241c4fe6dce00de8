"""A real broker for tests, one for all of them, and what they do with it.

    def test_...(topics: Topics) -> None:
        orders = topics.make(partitions=3)
        topics.put(orders, [b"a", b"b"], partition=1)

Where there can be no broker, tests that want one are skipped, and say why.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import (
    ConsumerGroupTopicPartitions,
    IsolationLevel,
    Producer,
    TopicCollection,
    TopicPartition,
    admin,
)
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions, NewTopic

from kafka_broker import Broker, missing
from support.waiting import DEADLINE, await_that


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A broker that is there until the last test has run."""
    reason = missing()
    if reason is not None:
        pytest.skip(f"no Kafka broker here: {reason}")
    settings = {"log_cleaner_backoff_ms": "100", "log_retention_check_interval_ms": "1000"}
    with Broker(Path(tmp_path_factory.mktemp("kafka")), **settings) as started:
        yield started


@pytest.fixture
def topics(broker: Broker) -> Topics:
    return Topics(broker.address)


class Topics:
    """Topics of a broker, and what others do to them."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._settings: dict[str, str | int | float] = {
            "bootstrap.servers": address,
            "log_level": 0,
        }
        self.admin = AdminClient(dict(self._settings))

    def make(self, name: str | None = None, *, partitions: int = 1, **settings: str) -> str:
        """A topic, which keeps what it has; settings are its own, with `_` for `.`."""
        name = name or f"t-{uuid.uuid4().hex}"
        config = {"retention.ms": "-1"} | {
            key.replace("_", "."): value for key, value in settings.items()
        }
        topic = NewTopic(name, partitions, replication_factor=1, config=config)
        self.admin.create_topics([topic])[name].result(DEADLINE)
        self._await_partitions(name, partitions)
        return name

    def add_partitions(self, name: str, total: int) -> None:
        self.admin.create_partitions([NewPartitions(name, total)])[name].result(DEADLINE)
        self._await_partitions(name, total)

    def delete(self, name: str) -> None:
        self.admin.delete_topics([name])[name].result(DEADLINE)
        await_that(lambda: self._partitions(name) == 0, f"{name} is deleted")

    def delete_before(self, name: str, offset: int, partition: int = 0) -> None:
        place = TopicPartition(name, partition, offset)
        for future in self.admin.delete_records([place]).values():
            future.result(DEADLINE)

    def put(
        self,
        name: str,
        payloads: Sequence[bytes | None],
        *,
        partition: int = 0,
        key: bytes | None = None,
        headers: list[tuple[str, str | bytes | None]] | None = None,
        timestamp: int = 0,
    ) -> None:
        producer = Producer({**self._settings, "linger.ms": 0})
        for payload in payloads:
            producer.produce(
                name,
                payload,
                partition=partition,
                key=key,
                headers=headers or [],
                timestamp=timestamp,
            )
            producer.poll(0)
        assert producer.flush(DEADLINE) == 0

    def put_in_transaction(
        self, name: str, payloads: Sequence[bytes], *, partition: int = 0, commit: bool = True
    ) -> None:
        with self.transaction(name, payloads, partition=partition, commit=commit):
            pass

    @contextmanager
    def transaction(
        self, name: str, payloads: Sequence[bytes], *, partition: int = 0, commit: bool = True
    ) -> Iterator[None]:
        """Messages in a transaction, which is open until the block ends."""
        producer = Producer({**self._settings, "transactional.id": uuid.uuid4().hex})
        producer.init_transactions(DEADLINE)
        producer.begin_transaction()
        for payload in payloads:
            producer.produce(name, payload, partition=partition)
        assert producer.flush(DEADLINE) == 0
        yield
        if commit:
            producer.commit_transaction(DEADLINE)
        else:
            producer.abort_transaction(DEADLINE)
        place = TopicPartition(name, partition)
        ended = "the broker has told the partition that the transaction is over"
        await_that(lambda: len({self._end(place, level) for level in IsolationLevel}) == 1, ended)

    def committed(self, group: str) -> dict[tuple[str, int], int]:
        """The offsets of a consumer group."""
        asked = self.admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])
        found = asked[group].result(DEADLINE).topic_partitions
        return {(place.topic, place.partition): place.offset for place in found}

    def _end(self, place: TopicPartition, level: IsolationLevel) -> int:
        latest: Any = admin
        asked = self.admin.list_offsets({place: latest.OffsetSpec.latest()}, isolation_level=level)
        return int(asked[place].result(DEADLINE).offset)

    def _partitions(self, name: str) -> int:
        described = self.admin.describe_topics(TopicCollection([name]))[name]
        try:
            return len(described.result(DEADLINE).partitions)
        except Exception:
            return 0

    def _await_partitions(self, name: str, count: int) -> None:
        await_that(lambda: self._partitions(name) == count, f"{name} has {count} partitions")
