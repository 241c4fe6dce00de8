"""A Kafka cluster inside this process, for tests that need no real one: the mock of `librdkafka`.

with MockCluster() as cluster:
    cluster.create_topic("orders", partitions=2)
    cluster.produce("orders", 0, [Given(b'{"a": 1}', key=b"k")])
    open_consumer({"bootstrap.servers": cluster.address})
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping
from ctypes import POINTER, c_char_p, c_int, c_int16, c_int32, c_int64, c_size_t, c_void_p
from dataclasses import dataclass, field
from typing import Any, Self

from confluent_kafka import KafkaError, Message, Producer

from narrows.connectors.kafka.client import librdkafka

_PRODUCER = 0


@dataclass(frozen=True)
class Given:
    """A message to be produced."""

    payload: bytes | None
    key: bytes | None = None
    time: int = 1_700_000_000_000
    headers: list[tuple[str, str | bytes | None]] = field(default_factory=list)


class MockCluster:
    def __init__(self) -> None:
        library = librdkafka.load()
        self._c = c = library.c
        signatures: dict[str, tuple[Any, tuple[Any, ...]]] = {
            "mock_cluster_new": (c_void_p, (c_void_p, c_int)),
            "mock_cluster_bootstraps": (c_char_p, (c_void_p,)),
            "mock_cluster_destroy": (None, (c_void_p,)),
            "mock_topic_create": (c_int, (c_void_p, c_char_p, c_int, c_int)),
            "mock_topic_delete": (c_int, (c_void_p, c_char_p)),
            "mock_partition_delete_records": (c_int, (c_void_p, c_char_p, c_int32, c_int64)),
            "mock_push_request_errors_array": (
                None,
                (c_void_p, c_int16, c_size_t, POINTER(c_int)),
            ),
            "destroy": (None, (c_void_p,)),
        }
        for name, (result, arguments) in signatures.items():
            function = getattr(c, f"rd_kafka_{name}")
            function.restype, function.argtypes = result, arguments
        text = ctypes.create_string_buffer(512)
        conf = library.conf_new()
        library.conf_set(conf, b"log_level", b"0", text, c_size_t(512))
        self._client = library.new(_PRODUCER, conf, text, 512)
        self._cluster = c.rd_kafka_mock_cluster_new(self._client, 1)
        self.address: str = c.rd_kafka_mock_cluster_bootstraps(self._cluster).decode()

    def create_topic(self, topic: str, partitions: int = 1) -> None:
        assert self._c.rd_kafka_mock_topic_create(self._cluster, topic.encode(), partitions, 1) == 0

    def delete_topic(self, topic: str) -> None:
        assert self._c.rd_kafka_mock_topic_delete(self._cluster, topic.encode()) == 0

    def delete_before(self, topic: str, partition: int, offset: int) -> None:
        """Cuts off the head of a partition, as a broker does with what is too old."""
        name = topic.encode()
        assert (
            self._c.rd_kafka_mock_partition_delete_records(self._cluster, name, partition, offset)
            == 0
        )

    def answer(self, request: int, *errors: int) -> None:
        """Answers the next requests of a kind, by Kafka's number, with these errors."""
        numbers = (c_int * len(errors))(*errors)
        self._c.rd_kafka_mock_push_request_errors_array(
            self._cluster, request, len(errors), numbers
        )

    def produce(
        self,
        topic: str,
        partition: int,
        messages: Iterable[Given],
        settings: Mapping[str, str] | None = None,
    ) -> None:
        produce(self.address, topic, partition, messages, settings)

    def close(self) -> None:
        self._c.rd_kafka_mock_cluster_destroy(self._cluster)
        self._c.rd_kafka_destroy(self._client)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def produce(
    address: str,
    topic: str,
    partition: int,
    messages: Iterable[Given],
    settings: Mapping[str, str] | None = None,
) -> None:
    """Writes messages to a partition, in their order; all are there when this returns."""
    failed = []

    def delivered(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            failed.append(error)

    producer = Producer(
        {"bootstrap.servers": address, "enable.idempotence": True, **(settings or {})}
    )
    for given in messages:
        while True:
            try:
                producer.produce(
                    topic,
                    given.payload,
                    given.key,
                    partition,
                    timestamp=given.time,
                    headers=given.headers,
                    on_delivery=delivered,
                )
                break
            except BufferError:
                producer.poll(0.1)
        producer.poll(0)
    assert producer.flush(60) == 0
    assert failed == []
