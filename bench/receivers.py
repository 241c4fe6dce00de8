"""How fast messages of an MQTT broker become rows, beside a subscriber that throws them away.

    python bench/receivers.py [--messages 100000] [--repeats 2] [--spark]

*plain* is `paho-mqtt`: QoS 1, acknowledged at once, payloads thrown away. *narrows* receives with
QoS 1, writes to the log, syncs, acknowledges, and decodes two of the fields of each message, in one
process. All messages wait in the broker before the clock starts: neither waits for the publisher.
*live* is the same with a publisher beside it, a process of its own, that publishes as fast as the
broker takes messages; the clock starts with the first of them.
*latency* is from publishing one message, of a few hundred a second, to its row: without Spark,
where a reader has decoded it; with `--spark`, where it is seen in a file that a pipeline published,
in micro-batches and with `latency = 'low'`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, cast

from paho.mqtt.client import Client, MQTTv5
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

import narrows
from narrows import Catalog
from narrows.connectors.base import SourceDeclaration, find_connector
from narrows.connectors.entry_log import EntryLog
from narrows.demand import ALL, fields
from narrows.projection.columns import DecodeProjection
from narrows.sql.scope import Name
from narrows.worker.read import read_entry
from narrows.worker.read_spec import ReadSpec

sys.path.append(str(Path(__file__).parents[1] / "tools"))
from mosquitto_broker import Mosquitto
from mqtt_publisher import payload, publish, published_meanwhile

SIZES = (200, 1_600)
RECEIVE_MAXIMUM = 10_000
PACED = 300
"""Messages a second, and how many of them, whose latency is measured."""


class Pace(NamedTuple):
    rate: float
    """Messages a second."""
    cpu: float
    """Microseconds of this process's CPU for each; the broker is another."""


class Clock:
    def __init__(self) -> None:
        self._began, self._cpu = time.perf_counter(), time.process_time()

    def pace(self, count: int) -> Pace:
        seconds, cpu = time.perf_counter() - self._began, time.process_time() - self._cpu
        return Pace(count / seconds, cpu / count * 1e6)


def connected(port: int, name: str, *, keeps: bool) -> Client:
    client = Client(CallbackAPIVersion.VERSION2, name, protocol=MQTTv5)
    client.max_inflight_messages_set(RECEIVE_MAXIMUM)
    client.max_queued_messages_set(0)
    properties = cast("Any", Properties)(PacketTypes.CONNECT)
    properties.ReceiveMaximum = RECEIVE_MAXIMUM
    properties.SessionExpiryInterval = 3_600 if keeps else 0
    client.connect("127.0.0.1", port, clean_start=not keeps, properties=properties)
    return client


def plain(broker: Mosquitto, count: int, size: int) -> Pace:
    """Messages that a subscriber throws away."""
    topic, name = f"plain/{uuid.uuid4().hex}", uuid.uuid4().hex
    subscriber = connected(broker.port, name, keeps=True)
    subscribed = threading.Event()
    subscriber.on_subscribe = lambda *given: subscribed.set()
    subscriber.subscribe(topic, 1)
    subscriber.loop_start()
    subscribed.wait(60)
    subscriber.disconnect()
    subscriber.loop_stop()
    publish(broker.port, topic, count, size)
    done, seen = threading.Event(), 0

    def take(*given: Any) -> None:
        nonlocal seen
        seen += 1
        if seen == count:
            done.set()

    clock = Clock()
    subscriber = connected(broker.port, name, keeps=True)
    subscriber.on_message = take
    subscriber.loop_start()
    done.wait(600)
    pace = clock.pace(count)
    subscriber.disconnect()
    subscriber.loop_stop()
    return pace


class Stream:
    """A stream of ours, read as a feed and its tasks would read it."""

    def __init__(self, folder: Path, broker: Mosquitto, *more: str) -> None:
        """`more` are options."""
        self.topic = f"ours/{uuid.uuid4().hex}"
        catalog = Catalog()
        catalog.execute(
            "CREATE STREAM s (id BIGINT, sent DOUBLE, site STRING, more STRING) WITH (connector ="
            f" 'mqtt', broker = '{broker.address}', topic = '{self.topic}',"
            f" {', '.join((f'receive_maximum = {RECEIVE_MAXIMUM}', *more))})"
        )
        source = catalog.find_source(Name("s", None))
        self._spec = ReadSpec(
            source="s",
            connector="mqtt",
            format="json",
            projection=DecodeProjection(source.schema, fields({"id": ALL, "sent": ALL})),
            names=("id", "sent"),
            options=source.options,
            entry_log=str(folder / "entries" / "p" / "s"),
            folder=str(folder / "received"),
        )
        declared: SourceDeclaration = self._spec.declared
        self.source = find_connector("mqtt").source(declared)
        self._log = EntryLog(self._spec.entry_log or "")
        self.rows = 0
        self.latencies: list[float] = []

    def start(self) -> None:
        self.source.start()

    def await_subscribed(self) -> None:
        while self.source.problem is not None:
            time.sleep(0.01)

    def read(self, count: int, *, pause: float) -> None:
        """Reads until so many rows have come."""
        while self.rows < count:
            entry = self.source.admit(self._log, self.source.available())
            if entry is None:
                time.sleep(pause)
                continue
            number = self._log.append(entry)
            for batch in read_entry(self._spec, entry, number, 0, 1):
                self.rows += batch.num_rows
                now = time.time()
                self.latencies += [now - sent for sent in batch.column(1).to_pylist()]
            self.source.committed(entry)


def ours(broker: Mosquitto, folder: Path, count: int, size: int, *more: str) -> Pace:
    """Messages that are on the disk, acknowledged and decoded."""
    stream = Stream(folder, broker, *more)
    stream.start()
    stream.await_subscribed()
    stream.source.stop()
    publish(broker.port, stream.topic, count, size)
    clock = Clock()
    stream.start()
    stream.read(count, pause=0.05)
    pace = clock.pace(count)
    stream.source.stop()
    return pace


def live(broker: Mosquitto, folder: Path, count: int, size: int) -> Pace:
    """The same, while they are published."""
    stream = Stream(folder, broker)
    stream.start()
    stream.await_subscribed()
    with published_meanwhile(broker.port, stream.topic, count, size):
        clock = Clock()
        stream.read(count, pause=0.05)
        pace = clock.pace(count)
    stream.source.stop()
    return pace


@contextlib.contextmanager
def paced(broker: Mosquitto, topic: str, count: int) -> Iterator[None]:
    """Publishes so many messages meanwhile, at a pace."""
    client = connected(broker.port, uuid.uuid4().hex, keeps=False)
    client.loop_start()

    def send() -> None:
        for number in range(count):
            client.publish(topic, payload(number, SIZES[0]), 1)
            time.sleep(1 / PACED)

    sender = threading.Thread(target=send)
    sender.start()
    yield
    sender.join()
    client.disconnect()
    client.loop_stop()


def latency(broker: Mosquitto, folder: Path, seconds: int = 5) -> list[float]:
    stream = Stream(folder, broker)
    stream.start()
    stream.await_subscribed()
    with paced(broker, stream.topic, PACED * seconds):
        stream.read(PACED * seconds, pause=0.005)
    stream.source.stop()
    return sorted(stream.latencies)


def latency_on_spark(
    broker: Mosquitto, folder: Path, options: str, seconds: int = 10
) -> list[float]:
    """A pipeline whose readers write, with a trigger of 0 seconds. It is warm when it is measured:
    the first messages do not count."""
    topic, out = f"spark/{uuid.uuid4().hex}", folder / "out"
    count, warm_up = PACED * seconds, PACED * 3
    seen: dict[Path, None] = {}
    latencies: dict[int, float] = {}

    def look() -> None:
        new = [path for path in out.glob("[!.]*.json") if path not in seen]
        now = time.time()
        for path in new:
            seen[path] = None
            for line in path.read_text().splitlines():
                row = json.loads(line)
                latencies.setdefault(row["id"], now - row["sent"])

    with narrows.connect(state=folder / "state") as session:
        session.execute(
            "CREATE STREAM s (id BIGINT, sent DOUBLE, site STRING, more STRING) WITH (connector ="
            f" 'mqtt', broker = '{broker.address}', topic = '{topic}');"
            f"CREATE SINK k WITH (connector = 'file', path = '{out}');"
            f"CREATE PIPELINE p INTO k {options} AS SELECT id, sent FROM s"
        )
        run = session.start("p", trigger="0 seconds")
        client = connected(broker.port, uuid.uuid4().hex, keeps=False)
        client.loop_start()
        while not latencies:
            client.publish(topic, payload(-1, SIZES[0]), 1)
            time.sleep(0.2)
            look()
        client.disconnect()
        client.loop_stop()
        with paced(broker, topic, count):
            while count - 1 not in latencies:
                look()
                time.sleep(0.005)
        run.stop()
    return sorted(found for number, found in latencies.items() if number >= warm_up)


def say(what: str, found: list[float]) -> None:
    median, last = statistics.median(found), found[len(found) * 99 // 100]
    print(
        f"{what}  median {median * 1_000:.0f} ms  99th percentile {last * 1_000:.0f} ms",
        flush=True,
    )


MODES = {"micro-batches": "", "latency = 'low'": "WITH (latency = 'low')"}


def main() -> None:
    parser = argparse.ArgumentParser(description="Messages a second, and how long one takes.")
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--spark", action="store_true", help="latency of a pipeline on Spark, too")
    given = parser.parse_args()
    count = given.messages
    with tempfile.TemporaryDirectory() as scratch, Mosquitto(Path(scratch) / "broker") as broker:
        for size in SIZES:
            found: dict[str, list[Pace]] = {}
            for repeat in range(given.repeats):
                folder = Path(scratch) / f"{size}-{repeat}"
                by = "dedupe_by = 'id'"
                paces = {
                    "plain": plain(broker, count, size),
                    "narrows": ours(broker, folder / "1", count, size),
                    "live": live(broker, folder / "2", count, size),
                    "dedupe_by": ours(broker, folder / "3", count, size, by),
                }
                for name, pace in paces.items():
                    found.setdefault(name, []).append(pace)
            rate = {name: max(pace.rate for pace in paces) for name, paces in found.items()}
            cpu = {name: min(pace.cpu for pace in paces) for name, paces in found.items()}
            for name in found:
                print(
                    f"{size:5} bytes  {name:10} {rate[name]:8.0f}/s  ratio"
                    f" {rate[name] / rate['plain']:.2f}   CPU {cpu[name]:5.1f} us  ratio"
                    f" {cpu['plain'] / cpu[name]:.2f}",
                    flush=True,
                )
        say("latency", latency(broker, Path(scratch) / "latency"))
        for number, (mode, options) in enumerate(MODES.items() if given.spark else ()):
            folder = Path(scratch) / f"spark-{number}"
            say(f"latency on Spark, {mode}", latency_on_spark(broker, folder, options))


if __name__ == "__main__":
    main()
