"""Producing messages through the C API, on the mock cluster of `librdkafka`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from narrows.connectors.kafka.sink.producer import Producer, Refused
from narrows.errors import InternalError
from support.mock_kafka import MockCluster

WINDOW = 100_000
PRODUCE = 0
TOO_LARGE, NOT_AUTHORIZED = 10, 29

Row = tuple[str, bytes | None, bytes]


@pytest.fixture(scope="module")
def cluster() -> Iterator[MockCluster]:
    with MockCluster() as cluster:
        yield cluster


@pytest.fixture
def producer(cluster: MockCluster) -> Iterator[Producer]:
    made = Producer({"bootstrap.servers": cluster.address, "enable.idempotence": True}, WINDOW)
    yield made
    made.close()


def messages(rows: Sequence[Row], *headers: Sequence[bytes]) -> pa.RecordBatch:
    topics, keys, values = zip(*rows, strict=True)
    columns = [[topic.encode() for topic in topics], keys, values, *headers]
    names = ["topic", "key", "value", *(f"h{number}" for number in range(len(headers)))]
    arrays = [pa.array(column, pa.binary()) for column in columns]
    return pa.RecordBatch.from_arrays(arrays, names=names)


def found(cluster: MockCluster, topic: str, count: int, partition: int = 0) -> list[Message]:
    settings = {"group.id": "g", "auto.offset.reset": "earliest", "fetch.wait.max.ms": 20}
    consumer = Consumer({"bootstrap.servers": cluster.address, **settings})
    try:
        consumer.assign([TopicPartition(topic, partition, 0)])
        got: list[Message] = []
        while len(got) < count:
            some = consumer.consume(count - len(got), 60.0)
            assert some, f"{len(got)} of {count}"
            got += some
        return got
    finally:
        consumer.close()


def test_all_messages_are_there_in_order(cluster: MockCluster, producer: Producer) -> None:
    cluster.create_topic("many")
    rows: list[Row] = [("many", b"%d" % (n % 7), b"%d" % n) for n in range(20_000)]
    whole = messages(rows)
    producer.send(whole.slice(0, 5))
    producer.send(whole.slice(5))
    producer.flush()
    got = found(cluster, "many", len(rows))
    assert [(each.key(), each.value()) for each in got] == [row[1:] for row in rows]


def test_no_more_is_on_its_way_than_one_request_holds(cluster: MockCluster) -> None:
    cluster.create_topic("windows")
    settings = {"bootstrap.servers": cluster.address, "enable.idempotence": True}
    producer = Producer(settings, 1_000)
    rows: list[Row] = [("windows", None, b"x" * size) for size in (460, 460, 460, 5_000, 1, 1)]
    sizes = [piece.num_rows for piece in producer._in_windows(messages(rows), ())]
    assert sizes == [2, 1, 1, 2]
    producer.close()


def test_topics_are_told_apart(cluster: MockCluster, producer: Producer) -> None:
    for topic in ("a", "b"):
        cluster.create_topic(topic)
    producer.send(messages([("a", None, b"1"), ("b", None, b"2"), ("a", None, b"3")]))
    producer.flush()
    assert [each.value() for each in found(cluster, "a", 2)] == [b"1", b"3"]
    assert [each.value() for each in found(cluster, "b", 1)] == [b"2"]


@pytest.mark.parametrize("headers", [(), ("h",)])
def test_what_is_empty_is_not_null(
    cluster: MockCluster, producer: Producer, headers: tuple[str, ...]
) -> None:
    topic = f"empty{len(headers)}"
    cluster.create_topic(topic)
    rows: list[Row] = [(topic, b"", b""), (topic, None, b"x"), (topic, b"k", b"")]
    producer.send(messages(rows, *([b"v"] * 3 for _ in headers)), headers)
    producer.send(messages([(topic, b"", b"")], *([b""] for _ in headers)), headers)
    producer.flush()
    got = found(cluster, topic, 4)
    assert [each.key() for each in got] == [b"", None, b"k", b""]
    assert [each.value() for each in got] == [b"", b"x", b"", b""]


def test_headers_are_sent(cluster: MockCluster, producer: Producer) -> None:
    cluster.create_topic("headed")
    given = messages([("headed", b"k", b"1"), ("headed", None, b"2")], [b"a", b""], [b"\0", b"y"])
    producer.send(given, ("first", "zweiter-\u00e4"))
    producer.flush()
    got = [each.headers() for each in found(cluster, "headed", 2)]
    assert got == [
        [("first", b"a"), ("zweiter-\u00e4", b"\0")],
        [("first", b""), ("zweiter-\u00e4", b"y")],
    ]


def test_a_partition_may_be_given(cluster: MockCluster, producer: Producer) -> None:
    cluster.create_topic("three", 3)
    producer.send(messages([("three", b"k", b"1")]), partition=2)
    producer.flush()
    assert [each.value() for each in found(cluster, "three", 1, 2)] == [b"1"]


def test_what_is_refused_is_told_to_who_sent_it(cluster: MockCluster, producer: Producer) -> None:
    cluster.create_topic("strict")
    told: list[Refused] = []
    others: list[Refused] = []
    producer.send(messages([("strict", None, b"fine")]), on_refused=others.append)
    producer._await_all()
    cluster.answer(PRODUCE, TOO_LARGE)
    producer.send(messages([("strict", None, b"large")]), on_refused=told.append)
    producer.flush()
    (refused,) = told
    assert refused.error.code() == KafkaError.MSG_SIZE_TOO_LARGE
    assert refused[1:] == ("strict", b"large")
    assert not others


def test_what_a_listener_raises_is_raised(cluster: MockCluster, producer: Producer) -> None:
    cluster.create_topic("closed")
    cluster.answer(PRODUCE, NOT_AUTHORIZED)

    def fails(refused: Refused) -> None:
        raise OSError(refused.error.name())

    producer.send(messages([("closed", None, b"x")]), on_refused=fails)
    with pytest.raises(OSError, match="TOPIC_AUTHORIZATION_FAILED"):
        producer.flush()


def test_settings_that_are_none_are_refused() -> None:
    with pytest.raises(KafkaException, match=r"no\.such"):
        Producer({"no.such": "x"}, WINDOW)


def test_a_closed_producer_sends_nothing(cluster: MockCluster, producer: Producer) -> None:
    producer.close()
    producer.close()
    with pytest.raises(InternalError, match="closed"):
        producer.send(messages([("a", None, b"x")]))
    with pytest.raises(InternalError, match="closed"):
        producer.flush()
