"""Fetching messages of Kafka: what holds for both ways, on the mock cluster of `librdkafka`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from narrows.connectors.kafka.client import librdkafka
from narrows.connectors.kafka.client.faults import KafkaError, Settings
from narrows.connectors.kafka.source import consumer as choice
from narrows.connectors.kafka.source.messages import Consumer, MessageBatch, PartitionStream
from narrows.connectors.kafka.source.native import NativeConsumer
from narrows.connectors.kafka.source.portable import PortableConsumer
from narrows.demand import ALL
from narrows.errors import Code, InternalError, NarrowsError
from narrows.formats.json.decoder import JsonDecoder
from narrows.formats.kernel import VARIABLE
from narrows.formats.text.decoder import TextDecoder
from narrows.projection.columns import DecodeProjection
from narrows.secrets import Secret
from narrows.sql.parser.types import read_schema
from support.kernels import needs_native
from support.mock_kafka import Given, MockCluster

DEADLINE = 60.0
QUICK = {
    "fetch.wait.max.ms": "20",
    "topic.metadata.propagation.max.ms": "100",
    "topic.metadata.refresh.interval.ms": "200",
}

Make = Callable[[Settings], Consumer]
WAYS = (
    pytest.param(NativeConsumer, id="native", marks=needs_native),
    pytest.param(PortableConsumer, id="portable"),
)
both_ways = pytest.mark.parametrize("make", WAYS)


@pytest.fixture(scope="module")
def cluster() -> Iterator[MockCluster]:
    with MockCluster() as cluster:
        for topic in ("ten", "mixed", "cut"):
            cluster.create_topic(topic, 2)
        ten = [Given(b'{"a": %d}' % number, b"k") for number in range(10)]
        cluster.produce("ten", 0, ten)
        cluster.produce("cut", 0, ten)
        cluster.delete_before("cut", 0, 5)
        mixed = [
            Given(b'{"a": 1}', b"one", 1_000, [("h", b"x"), ("h", None)]),
            Given(None, b"gone", 2_000),
            Given(b"", None, 3_000, [("empty", b"")]),
            Given(b"{", b"", 4_000),
            Given(b'[{"a": 5}, {"a": 6}]', b"two", 5_000),
        ]
        cluster.produce("mixed", 1, mixed)
        yield cluster


@pytest.fixture
def consumer(make: Make, cluster: MockCluster) -> Iterator[Consumer]:
    made = make({"bootstrap.servers": cluster.address, **QUICK})
    yield made
    made.close()


def take(stream: PartitionStream, count: int) -> list[MessageBatch]:
    """Batches until there are so many messages."""
    until = time.monotonic() + DEADLINE
    batches: list[MessageBatch] = []
    while sum(map(len, batches)) < count:
        assert time.monotonic() < until
        batches.append(stream.fetch(count, 1.0).batch)
    return batches


def find_end(stream: PartitionStream) -> int:
    until = time.monotonic() + DEADLINE
    while time.monotonic() < until:
        fetched = stream.fetch(100, 1.0)
        fetched.batch.release()
        if fetched.end is not None:
            return fetched.end
    raise AssertionError("no end was met")


def offsets(batches: list[MessageBatch]) -> list[int]:
    return [offset for batch in batches for offset in batch.offsets().to_pylist()]


@both_ways
def test_a_partition_is_read_from_an_offset_to_its_end(consumer: Consumer) -> None:
    with consumer.open("ten", 0, 3) as stream:
        assert offsets(take(stream, 7)) == list(range(3, 10))
        assert stream.position == 10
        assert find_end(stream) == 10
        assert consumer.trouble is None


@both_ways
def test_an_empty_partition_has_an_end(consumer: Consumer) -> None:
    with consumer.open("ten", 1, 0) as stream:
        assert find_end(stream) == 0
        assert stream.position == 0


@both_ways
def test_no_more_than_asked_for(consumer: Consumer) -> None:
    with consumer.open("ten", 0, 0) as stream:
        for number in range(5):
            [batch] = take(stream, 1)
            assert offsets([batch]) == [number]


@both_ways
def test_what_comes_later_is_read_later(consumer: Consumer, cluster: MockCluster) -> None:
    cluster.create_topic("growing")
    with consumer.open("growing", 0, 0) as stream:
        assert find_end(stream) == 0
        cluster.produce("growing", 0, [Given(b"1"), Given(b"2")])
        assert [batch.payload(0) for batch in take(stream, 1)][-1] == b"1"
        assert find_end(stream) == 2
    cluster.delete_topic("growing")


@both_ways
def test_to_go_elsewhere_is_to_open_again(consumer: Consumer) -> None:
    with consumer.open("ten", 0, 8) as stream:
        assert offsets(take(stream, 2)) == [8, 9]
        with pytest.raises(InternalError, match="being read"):
            consumer.open("ten", 0, 2)
    with consumer.open("ten", 0, 2) as stream:
        assert offsets(take(stream, 3)) == [2, 3, 4]
    with pytest.raises(InternalError, match="closed"):
        stream.fetch(1, 0.0)


@both_ways
def test_metadata_has_a_value_for_each_message(consumer: Consumer) -> None:
    with consumer.open("mixed", 1, 0) as stream:
        first, *others = take(stream, 5)
        assert others == []  # they were produced at once
        assert (first.topic, first.partition, len(first)) == ("mixed", 1, 5)
        assert first.keys().to_pylist() == [b"one", b"gone", None, b"", b"two"]
        assert first.timestamps().cast("int64").to_pylist() == [n * 10**6 for n in range(1, 6)]
        assert first.headers().to_pylist() == [
            [{"key": "h", "value": b"x"}, {"key": "h", "value": None}],
            None,
            [{"key": "empty", "value": b""}],
            None,
            None,
        ]
        assert first.nulls == [1]
        assert first.size == 29
        assert [first.payload(n) for n in range(4)] == [b'{"a": 1}', None, b"", b"{"]


@both_ways
def test_formats_that_no_kernel_knows_are_decoded_too(consumer: Consumer) -> None:
    projection = DecodeProjection(read_schema("line STRING"), ALL)
    with consumer.open("mixed", 1, 0) as stream:
        [batch] = take(stream, 5)
        decoded = batch.decode(TextDecoder(), projection)
        lines = ['{"a": 1}', "", "{", '[{"a": 5}, {"a": 6}]']
        assert decoded.batch.column(0).to_pylist() == lines
        assert decoded.row_positions == [0, 2, 3, 4]
        rows = batch.decode(JsonDecoder(), DecodeProjection(read_schema("a BIGINT"), ALL))
        assert rows.batch.column(0).to_pylist() == [1, 5, 6]
        assert [bad.position for bad in rows.bad] == [2, 3]
        assert rows.row_positions == [0, 4, 4]


@both_ways
def test_a_batch_is_split_at_an_offset(consumer: Consumer) -> None:
    with consumer.open("ten", 0, 0) as stream:
        [batch] = take(stream, 10)
        rest = batch.split(4)
        assert (offsets([batch]), offsets([rest])) == ([0, 1, 2, 3], [4, 5, 6, 7, 8, 9])
        assert len(rest.split(100)) == 0
        batch.release()
        batch.release()
        assert len(batch) == 0
        assert rest.payload(0) == b'{"a": 4}'


@both_ways
@pytest.mark.parametrize(("topic", "offset"), [("cut", 2), ("ten", 50)])
def test_an_offset_that_is_not_there_is_an_error(
    consumer: Consumer, topic: str, offset: int
) -> None:
    with consumer.open(topic, 0, offset) as stream:
        with pytest.raises(KafkaError, match="not available") as caught:
            find_end(stream)
        assert caught.value.says_offset_is_gone
        assert caught.value.code is Code.BROKER_ERROR


@both_ways
def test_a_topic_that_is_not_there_is_trouble(consumer: Consumer) -> None:
    until = time.monotonic() + DEADLINE
    with consumer.open("nobody", 0, 0) as stream:
        while consumer.trouble is None:
            assert time.monotonic() < until
            assert len(stream.fetch(1, 0.2).batch) == 0
        assert consumer.trouble.says_topic_is_gone


@both_ways
def test_a_broker_that_is_away_is_trouble(make: Make, capfd: pytest.CaptureFixture[str]) -> None:
    """And nothing of it goes to the terminal."""
    until = time.monotonic() + DEADLINE
    consumer = make({"bootstrap.servers": "127.0.0.1:1", "log_level": "7"})
    with consumer.open("ten", 0, 0) as stream:
        while consumer.trouble is None:
            assert time.monotonic() < until
            assert len(stream.fetch(1, 0.2).batch) == 0
    consumer.close()
    assert capfd.readouterr() == ("", "")


@both_ways
def test_wrong_settings_are_refused_and_secrets_not_shown(make: Make) -> None:
    with pytest.raises(NarrowsError, match="No such configuration property") as caught:
        make({"bootstrap.servers": "127.0.0.1:1", "nonsense": "1"})
    assert caught.value.code is Code.INVALID_OPTION
    secret: dict[str, str | Secret] = {"ssl.key.pem": "hunter2", "sasl.password": Secret("hunter2")}
    with pytest.raises(NarrowsError) as caught:
        make({"bootstrap.servers": "x:1", "security.protocol": "ssl", **secret})
    assert "hunter2" not in str(caught.value)
    with pytest.raises(NarrowsError, match=r"\*\*\*") as caught:
        make({"bootstrap.servers": "x:1", "security.protocol": Secret("hunter2")})
    assert "hunter2" not in str(caught.value)


@both_ways
def test_a_closed_consumer_has_nothing_left(make: Make, cluster: MockCluster) -> None:
    consumer = make({"bootstrap.servers": cluster.address, **QUICK})
    stream = consumer.open("ten", 0, 0)
    [batch] = take(stream, 10)
    consumer.close()
    consumer.close()
    with pytest.raises(InternalError, match="closed"):
        stream.fetch(1, 0.0)
    with pytest.raises(InternalError, match="closed"):
        consumer.open("ten", 0, 0)
    batch.release()


@needs_native
def test_batches_go_with_their_consumer(cluster: MockCluster) -> None:
    """Their memory is the library's."""
    consumer = NativeConsumer({"bootstrap.servers": cluster.address, **QUICK})
    [batch] = take(consumer.open("ten", 0, 0), 10)
    consumer.close()
    assert len(batch) == 0
    assert batch.payload(0) is None


@needs_native
def test_a_consumer_does_not_survive_a_fork(
    cluster: MockCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    consumer = NativeConsumer({"bootstrap.servers": cluster.address, **QUICK})
    process = os.getpid()
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: process + 1)
        with pytest.raises(InternalError, match="forked"):
            consumer.open("ten", 0, 0)
        consumer.close()  # the parent's is left alone
    assert offsets(take(consumer.open("ten", 0, 0), 10)) == list(range(10))
    consumer.close()


# --- the library ----------------------------------------------------------------------------------


@needs_native
def test_the_way_follows_the_kernel(cluster: MockCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"bootstrap.servers": cluster.address}
    ways: dict[str, type[Any]] = {"native": NativeConsumer, "portable": PortableConsumer}
    for kernel, way in ways.items():
        monkeypatch.setenv(VARIABLE, kernel)
        consumer = choice.open_consumer(settings)
        assert type(consumer) is way
        consumer.close()


def test_another_version_of_the_library_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    librdkafka.load.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(librdkafka, "_VERSIONS", (0x05_00_00_00, 0x06_00_00_00))
        assert not librdkafka.is_usable()
        with pytest.raises(NarrowsError, match="this version is not known"):
            librdkafka.load()
        patch.setattr(librdkafka, "_path", lambda: None)
        with pytest.raises(NarrowsError, match="`confluent-kafka` is not installed") as caught:
            librdkafka.load()
        assert "pip install 'narrows[kafka]'" in str(caught.value)
    assert librdkafka.is_usable()
