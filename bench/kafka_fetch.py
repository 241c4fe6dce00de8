"""What fetching and decoding messages of Kafka costs a worker, without Spark.

    python bench/kafka_fetch.py [--messages 1000000]

A real broker, in a process of its own, has a topic of small documents (200 bytes, 2 of 8 fields
are wanted) and one of large ones (1.6 kB, 3 leaves). Each line reads one of them from the first
message to the last. Processor time is that of the whole process: librdkafka's threads, which
receive and take apart what the broker sends, are in it, the broker is not. Figures are thousands
of messages per second of processor time, the best of some rounds.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from decode import FIRST_X, SMALL, WIDE, in_b, small, wide
from narrows.connectors.kafka.source.messages import Consumer, MessageBatch
from narrows.connectors.kafka.source.native import NativeConsumer
from narrows.connectors.kafka.source.portable import PortableConsumer
from narrows.demand import ALL, fields
from narrows.formats.json.decoder import JsonDecoder
from narrows.formats.json.native import NativeJsonDecoder
from narrows.projection.columns import DecodeProjection

sys.path.append(str(Path(__file__).parents[1] / "tools"))
from kafka_broker import Broker

BATCH = 8192
LARGE_SHARE = 8
"""There are so many times fewer large documents than small ones."""
ROUNDS = 3
DIFFERENT = 1000
"""Documents that differ; they are repeated."""


class Topic(NamedTuple):
    name: str
    make: Callable[[random.Random], dict[str, Any]]
    projection: DecodeProjection
    messages: int


Look = Callable[[MessageBatch, DecodeProjection], object]


def ways() -> Iterator[tuple[str, type[Consumer], Look]]:
    """What is compared: a name, who fetches, and what is done with each batch."""
    native, portable = NativeJsonDecoder(), JsonDecoder()

    def metadata(batch: MessageBatch, projection: DecodeProjection) -> None:
        batch.decode(native, projection)
        batch.offsets(), batch.timestamps(), batch.keys()

    yield "in place: fetch", NativeConsumer, lambda batch, projection: None
    yield "in place: fetch, decode", NativeConsumer, lambda b, p: b.decode(native, p)
    yield "in place: and offset, time, key", NativeConsumer, metadata
    yield "objects: fetch", PortableConsumer, lambda batch, projection: None
    yield "objects: fetch, decode natively", PortableConsumer, lambda b, p: b.decode(native, p)
    yield "objects: fetch, decode portably", PortableConsumer, lambda b, p: b.decode(portable, p)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--messages", type=int, default=1_000_000, help="of the small documents")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--compression", default="none")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # or the broker would outlive it
    two_fields = DecodeProjection(SMALL, fields({"field_1": ALL, "field_5": ALL}))
    leaves = DecodeProjection(WIDE, fields({"a": ALL, "b": in_b(c=ALL, items=FIRST_X)}))
    topics = (
        Topic("small", small, two_fields, given.messages),
        Topic("large", wide, leaves, given.messages // LARGE_SHARE),
    )
    with tempfile.TemporaryDirectory() as folder, Broker(Path(folder)) as broker:
        sizes = [write(broker.address, topic, given.compression) for topic in topics]
        heads = "".join(f"{f'{size} bytes':>14}{'wall':>8}" for size in sizes)
        print(f"{'1000 messages per CPU second':34}{heads}")
        for name, make, look in ways():
            figures = ""
            for topic in topics:
                runs = [measure(broker.address, topic, make, look) for _ in range(given.rounds)]
                cpu, wall = (min(each) for each in zip(*runs, strict=True))
                figures += f"{topic.messages / cpu / 1000:14.0f}{topic.messages / wall / 1000:8.0f}"
            print(f"{name:34}{figures}", flush=True)


def write(address: str, topic: Topic, compression: str) -> int:
    """Fills a topic; how many bytes a document has."""
    admin = AdminClient({"bootstrap.servers": address})
    admin.create_topics([NewTopic(topic.name, 1, 1)])[topic.name].result(60)
    rnd = random.Random(7)
    texts = [json.dumps(topic.make(rnd), separators=(",", ":")) for _ in range(DIFFERENT)]
    documents = [text.encode() for text in texts]
    producer = Producer(
        {
            "bootstrap.servers": address,
            "enable.idempotence": True,
            "linger.ms": 20,
            "compression.type": compression,
            "queue.buffering.max.messages": topic.messages + 1,
            "queue.buffering.max.kbytes": 1 << 20,
        }
    )
    for number in range(topic.messages):
        producer.produce(topic.name, documents[number % DIFFERENT], b"%d" % number, 0)
    assert producer.flush(300) == 0
    return sum(map(len, documents)) // DIFFERENT


def measure(address: str, topic: Topic, make: type[Consumer], look: Look) -> tuple[float, float]:
    """Seconds of processor time, and seconds, of reading a whole topic."""
    settings = {"bootstrap.servers": address, "isolation.level": "read_committed"}
    began, before = time.perf_counter(), cpu_seconds()
    consumer = make(settings)  # type: ignore[call-arg]
    seen = 0
    with consumer.open(topic.name, 0, 0) as stream:
        while seen < topic.messages:
            with stream.fetch(BATCH, 60.0).batch as batch:
                look(batch, topic.projection)
                seen += len(batch)
    consumer.close()
    assert seen == topic.messages
    return cpu_seconds() - before, time.perf_counter() - began


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
