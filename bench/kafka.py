"""Topics of Kafka: Narrows against `from_json` in Spark, by CPU time.

    python bench/kafka.py [--messages 2000000] [--repeats 3]

A real broker has a topic of small documents (200 bytes, of which 2 of 8 fields are wanted) and one
of large ones (1.6 kB, 3 leaves). Figures are rows per second of CPU time of everything but the
broker: the driver, the JVM, the Python workers.

Starting a pipeline or a query costs a second or so of CPU time on either side, however much there
is to read. So each side reads all messages and an eighth of them, and what is compared is what the
others cost: what a million rows more would. What remains, the cost of a start, is printed apart.
Few messages show nothing but noise.

Spark's side reads and writes topics, too, by its own connector, at least once. (Its connector for
this Spark could not be had when this was written: that of 4.2 is taken.) Both sides run in one
Spark session, in turns, and what they have written is compared.

Then: eight pipelines on a shared topic, against two that read it each for itself.
"""

from __future__ import annotations

import json
import random
import signal
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

import narrows
import report
from cost import Cost, measured
from decode import SMALL, WIDE, small, wide
from narrows.schema import Struct

sys.path.append(str(Path(__file__).parents[1] / "tools"))
from kafka_broker import Broker
from spark_kafka import connector_jars

LARGE_SHARE = 4
"""There are so many times fewer large documents than small ones."""
PART = 8
"""The smaller topic has so many times fewer messages."""
TICK = 0.01
"""Seconds of CPU time that can be told from none."""
PARTITIONS = 4
DIFFERENT = 1000
"""Documents that differ; they are repeated."""
AGAINST = "Spark's Kafka and from_json"
UNIT = "CPU s per million rows"
CPU = "CPU s"
WARM_UPS = 4
"""So often both run before anything is measured. What the JVM compiles in the first rounds is more
CPU time than either of them needs by itself."""
MANY = 8


@dataclass(frozen=True)
class Shape:
    name: str
    schema: Struct
    make: Callable[[random.Random], dict[str, Any]]
    ours: str
    """What is selected; and the same for Spark."""
    theirs: tuple[str, ...]
    share: int

    @property
    def columns(self) -> str:
        return ", ".join(f"{field.name} {field.type}" for field in self.schema.fields)


SHAPES = (
    Shape(
        "3 leaves of 1.6 kB documents",
        WIDE,
        wide,
        "a, b->c AS c, b->items[0]->x AS x",
        ("a", "b.c AS c", "get(b.items, 0).x AS x"),
        LARGE_SHARE,
    ),
    Shape(
        "2 of 8 fields of 200-byte documents",
        SMALL,
        small,
        "field_1, field_5",
        ("field_1", "field_5"),
        1,
    ),
)


class Filled(NamedTuple):
    """A topic with payloads."""

    topic: str
    rows: int


class Steady(NamedTuple):
    """What rows cost once it runs, and what it costs before: seconds of CPU time."""

    million: float
    start: float

    def of(self, rows: int) -> float:
        """The start, and so many rows."""
        return self.start + self.million * rows / 1e6


def steady(part: Filled, whole: Filled, run: Callable[[Filled], Cost]) -> Steady:
    few, all_of_them = run(part).cpu, run(whole).cpu
    each = max(all_of_them - few, TICK) / (whole.rows - part.rows)
    return Steady(each * 1e6, few - each * part.rows)


class Bench:
    def __init__(self, session: narrows.Session, broker: Broker, folder: Path) -> None:
        self._session = session
        self._broker = broker
        self._folder = folder
        self._runs = 0
        self._filled: set[str] = set()
        self._out: dict[str, str] = {}
        """Where the last run of each side has written to."""

    # --- both sides -------------------------------------------------------------------------------

    def against_spark(self, shape: Shape, messages: int, repeats: int) -> Iterator[report.Row]:
        whole, part = self._topics(shape, messages)
        print(f"{shape.name}: {whole.rows:,} messages", flush=True)
        sides: dict[str, Callable[[Filled], Cost]] = {
            "noop": lambda filled: self._query(shape, filled.topic),
            "their noop": lambda filled: self._their_query(shape, filled.topic),
            "topic": lambda filled: self._to_topic(shape, filled.topic),
            "exactly once": lambda filled: self._to_topic(
                shape, filled.topic, "exactly_once = true"
            ),
            "their topic": lambda filled: self._their_stream(shape, filled.topic),
        }
        for run in sides.values():
            run(whole)  # the JVM compiles what it runs often
        answers = [self._written(self._out["topic"]), self._written(self._out["exactly once"])]
        theirs = self._written(self._out["their topic"])
        assert answers == [theirs, theirs]
        assert sum(theirs.values()) == whole.rows
        costs: dict[str, list[Steady]] = {name: [] for name in sides}
        for _ in range(repeats):
            for name, run in sides.items():
                costs[name].append(steady(part, whole, run))
        for name, found in costs.items():
            each = statistics.median(cost.million for cost in found)
            start = statistics.median(cost.start for cost in found)
            print(f"  {name}: {1e6 / each:,.0f} rows per CPU second", end=", ")
            print(f"{start:.2f} CPU s for a start", flush=True)
        for case, mine, other in (
            ("topic to noop", "noop", "their noop"),
            ("topic to topic", "topic", "their topic"),
            ("topic to topic, exactly once", "exactly once", "their topic"),
        ):
            both = [[cost.million for cost in costs[side]] for side in (mine, other)]
            note = f"{whole.rows:,} rows"
            row = report.compared(f"{shape.name}, {case}", AGAINST, *both, note=note)
            yield replace(row, unit=UNIT)

    def _query(self, shape: Shape, topic: str) -> Cost:
        number = self._declare(shape, topic)
        with self._measured() as cost:
            frame = self._session.query(f"SELECT {shape.ours} FROM s{number}")
            frame.write.format("noop").mode("overwrite").save()
        return cost

    def _their_query(self, shape: Shape, topic: str) -> Cost:
        with self._measured() as cost:
            reader = self._session.spark.read.format("kafka").options(**self._subscribed(topic))
            _parsed(reader.load(), shape).write.format("noop").mode("overwrite").save()
        return cost

    def _subscribed(self, topic: str) -> dict[str, str]:
        return {
            "kafka.bootstrap.servers": self._broker.address,
            "subscribe": topic,
            "startingOffsets": "earliest",
        }

    def _to_topic(self, shape: Shape, topic: str, *options: str) -> Cost:
        number = self._declare(shape, topic)
        out = self._make_topic(f"out-{number}")
        self._session.execute(
            f"CREATE SINK o{number} WITH ({self._kafka(out)}{''.join(f', {o}' for o in options)});"
            f"CREATE PIPELINE p{number} INTO o{number} AS SELECT {shape.ours} FROM s{number}"
        )
        self._out["exactly once" if options else "topic"] = out
        return self._run_all([f"p{number}"])

    def _their_stream(self, shape: Shape, topic: str) -> Cost:
        self._runs += 1
        out = self._make_topic(f"out-{self._runs}")
        with self._measured() as cost:
            stream = self._session.spark.readStream.format("kafka")
            rows = _parsed(stream.options(**self._subscribed(topic)).load(), shape)
            query = (
                rows.select(F.to_json(F.struct("*")).alias("value"))
                .writeStream.format("kafka")
                .option("kafka.bootstrap.servers", self._broker.address)
                .option("kafka.compression.type", "lz4")
                .option("topic", out)
                .option("checkpointLocation", f"{self._folder / out}-checkpoint")
                .trigger(availableNow=True)
                .start()
            )
            query.awaitTermination()
        self._out["their topic"] = out
        return cost

    # --- ours, with each other --------------------------------------------------------------------

    def shared(self, messages: int, repeats: int) -> Iterator[report.Row]:
        """Eight on a shared stream, against two that each read the topic."""
        shape = SHAPES[0]
        whole, part = self._topics(shape, messages)
        eight: list[Steady] = []
        two: list[Steady] = []
        for repeat in range(WARM_UPS + repeats):
            together = steady(part, whole, lambda filled: self._together(shape, filled.topic))
            apart = steady(part, whole, lambda filled: self._apart(shape, filled.topic))
            if repeat >= WARM_UPS:
                eight.append(together)
                two.append(apart)
        starts = [statistics.median(cost.start for cost in side) for side in (eight, two)]
        print(f"  a start: {starts[0]:.2f} CPU s for eight, {starts[1]:.2f} for two", flush=True)
        case = f"{MANY} pipelines on a shared topic"
        note, against = f"{whole.rows:,} rows", "2 of them, not shared"
        more = [[cost.million for cost in side] for side in (eight, two)]
        yield replace(report.compared(f"{case}, a row more", against, *more, note=note), unit=UNIT)
        runs = [[cost.of(whole.rows) for cost in side] for side in (eight, two)]
        yield replace(report.compared(f"{case}, whole run", against, *runs, note=note), unit=CPU)

    def _together(self, shape: Shape, topic: str) -> Cost:
        number = self._declare(shape, topic, "shared = true")
        return self._run_all([self._alarms(number, each) for each in range(MANY)])

    def _apart(self, shape: Shape, topic: str) -> Cost:
        return self._run_all([self._alarms(self._declare(shape, topic), each) for each in range(2)])

    def _alarms(self, stream: int, number: int) -> str:
        """A pipeline that takes three leaves of the rows that it looks for."""
        name = f"alarms_{stream}_{number}"
        self._session.execute(
            f"CREATE SINK {name} WITH (connector = 'file', path = '{self._folder}/{name}');"
            f"CREATE PIPELINE {name} INTO {name} AS"
            f" SELECT a, b->c AS c, col_{number} AS d FROM s{stream} WHERE a % 10 = {number}"
        )
        return name

    # --- topics and files -------------------------------------------------------------------------

    def _topics(self, shape: Shape, messages: int) -> tuple[Filled, Filled]:
        count = messages // shape.share
        return self._fill(shape, count), self._fill(shape, count // PART)

    def _fill(self, shape: Shape, count: int) -> Filled:
        topic = f"in-{shape.share}-{count}"
        if topic in self._filled:
            return Filled(topic, count)
        self._filled.add(topic)
        rnd = random.Random(7)
        texts = [json.dumps(shape.make(rnd), separators=(",", ":")) for _ in range(DIFFERENT)]
        documents = [text.encode() for text in texts]
        self._make_topic(topic)
        producer = Producer(
            {
                "bootstrap.servers": self._broker.address,
                "enable.idempotence": True,
                "linger.ms": 20,
                "compression.type": "lz4",
            }
        )
        for part in range(PARTITIONS):
            for number in range(part, count, PARTITIONS):
                while True:
                    try:
                        producer.produce(topic, documents[number % DIFFERENT], partition=part)
                        break
                    except BufferError:
                        producer.poll(0.1)
        assert producer.flush(300) == 0
        return Filled(topic, count)

    def _make_topic(self, name: str) -> str:
        admin = AdminClient({"bootstrap.servers": self._broker.address})
        admin.create_topics([NewTopic(name, PARTITIONS, 1)])[name].result(60)
        return name

    def _declare(self, shape: Shape, topic: str, *options: str) -> int:
        """A stream of its own for each run: what one has taken another does not take again."""
        self._runs += 1
        given = ", ".join((self._kafka(topic), "start_at = 'earliest'", *options))
        self._session.execute(f"CREATE STREAM s{self._runs} ({shape.columns}) WITH ({given})")
        return self._runs

    def _kafka(self, topic: str) -> str:
        return f"connector = 'kafka', brokers = '{self._broker.address}', topic = '{topic}'"

    def _run_all(self, pipelines: Sequence[str]) -> Cost:
        with self._measured() as cost:
            self._session.start(*pipelines, once=True).await_done()
        return cost

    def _measured(self) -> AbstractContextManager[Cost]:
        return measured(besides=[self._broker.pid])

    def _written(self, topic: str) -> Counter[str]:
        """The rows of a topic, each with how often it is there."""
        found: Counter[bytes] = Counter()
        settings = {"group.id": "bench", "enable.partition.eof": True, "fetch.min.bytes": 1}
        consumer = Consumer({"bootstrap.servers": self._broker.address, **settings})
        consumer.assign([TopicPartition(topic, part, 0) for part in range(PARTITIONS)])
        ended = 0
        while ended < PARTITIONS:
            for message in consumer.consume(10_000, 1.0):
                error = message.error()
                if error is None:
                    found[message.value() or b""] += 1
                else:
                    assert error.code() == KafkaError._PARTITION_EOF, error
                    ended += 1
        consumer.close()
        return _rows(found)


def _parsed(payloads: DataFrame, shape: Shape) -> DataFrame:
    text = F.col("value").cast("string")
    row = F.from_json(text, shape.columns).alias("row")
    return payloads.select(row).select("row.*").selectExpr(*shape.theirs)


def _rows(texts: Counter[bytes]) -> Counter[str]:
    """As rows: sides may write a number each in its own way."""
    rows: Counter[str] = Counter()
    for text, count in texts.items():
        rows[json.dumps(json.loads(text), sort_keys=True)] += count
    return rows


def main() -> None:
    options = report.options(__doc__, messages=2_000_000, repeats=3).parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # or the broker would outlive it
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        jars = ":".join(map(str, connector_jars()))
        conf = {"spark.driver.extraClassPath": jars}
        connected = narrows.connect(state=folder / "s", conf=conf)
        with Broker(folder / "broker") as broker, connected as session:
            bench = Bench(session, broker, folder)
            rows = [
                row
                for shape in SHAPES
                for row in bench.against_spark(shape, options.messages, options.repeats)
            ]
            rows += bench.shared(options.messages, options.repeats)
    report.publish(rows, options.json)


if __name__ == "__main__":
    main()
