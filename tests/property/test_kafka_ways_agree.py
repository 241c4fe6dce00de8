"""Messages of Kafka are the same, and so are their rows, whichever way they are fetched."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from typing import Any

import pytest

from narrows.connectors.kafka.source.messages import Consumer, MessageBatch
from narrows.connectors.kafka.source.native import NativeConsumer
from narrows.connectors.kafka.source.portable import PortableConsumer
from narrows.formats.decoder import RecordDecoder
from narrows.formats.json.decoder import JsonDecoder
from narrows.formats.json.native import NativeJsonDecoder
from narrows.projection.columns import DecodeProjection
from support.json_documents import plain
from support.kernels import Case, make_case, needs_native, outcome
from support.mock_kafka import Given, MockCluster

pytestmark = needs_native

DEADLINE = 60.0


@pytest.fixture(scope="module")
def cluster() -> Iterator[MockCluster]:
    with MockCluster() as cluster:
        yield cluster


@pytest.mark.parametrize("compression", ["none", "gzip", "lz4", "zstd"])
def test_both_ways_agree(cluster: MockCluster, compression: str) -> None:
    chance = random.Random(f"ways {compression}")
    cases = [make_case(chance.choice, most=40) for _ in range(4)]
    topic = f"agree-{compression}"
    cluster.create_topic(topic, len(cases))
    for partition, case in enumerate(cases):
        batches = {"compression.type": compression, "batch.num.messages": "7"}
        cluster.produce(topic, partition, messages(case, chance), batches)
    settings = {"bootstrap.servers": cluster.address, "fetch.wait.max.ms": "20"}
    native, portable = NativeConsumer(settings), PortableConsumer(settings)
    for partition, case in enumerate(cases):
        start = chance.randrange(3)
        seeds = chance.random()
        native_decoder, portable_decoder = NativeJsonDecoder(case.zone), JsonDecoder(case.zone)
        place = topic, partition, start
        one = found(native, *place, native_decoder, case.projection, seeds)
        other = found(portable, *place, portable_decoder, case.projection, seeds)
        assert one == other, (case, one, other)
    native.close()
    portable.close()


def messages(case: Case, chance: random.Random) -> list[Given]:
    """The documents of a case, with nulls in between, and something of everything else."""
    payloads: list[bytes | None] = [None, *case.documents, None]
    chance.shuffle(payloads)
    headers: list[list[tuple[str, str | bytes | None]]] = [[], [("h", b"1"), ("ä", None)]]
    return [
        Given(payload, chance.choice((None, b"", b"key")), chance.randrange(1, 10**13), each)
        for payload, each in zip(payloads, chance.choices(headers, k=len(payloads)), strict=True)
    ]


def found(
    consumer: Consumer,
    topic: str,
    partition: int,
    start: int,
    decoder: RecordDecoder,
    projection: DecodeProjection,
    seed: float,
) -> list[Any]:
    """All that can be known of the messages from an offset on, one after the other: batches may
    be cut differently."""
    chance = random.Random(seed)
    until = time.monotonic() + DEADLINE
    everything: list[Any] = []
    with consumer.open(topic, partition, start) as stream:
        while time.monotonic() < until:
            fetched = stream.fetch(chance.choice((1, 2, 100)), 1.0)
            with fetched.batch as batch:
                while len(batch):  # one by one
                    rest = batch.split(batch.offset(0) + 1)
                    everything.append(_known(batch, decoder, projection))
                    batch.release()
                    batch = rest
            if fetched.end is not None:
                return [*everything, fetched.end, stream.position]
    raise AssertionError("no end was met")


def _known(batch: MessageBatch, decoder: RecordDecoder, projection: DecodeProjection) -> Any:
    columns = batch.offsets(), batch.timestamps(), batch.keys(), batch.headers()
    return (
        (batch.topic, batch.partition, len(batch), batch.size, list(batch.nulls), batch.payload(0)),
        [(str(column.type), plain(column)) for column in columns],
        outcome(batch.decode(decoder, projection)),
    )
