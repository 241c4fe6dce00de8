"""`narrows demo --kafka`: the demo over topics, of the brokers that one has, or of one that is
started for it."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from narrows.cli.demo_data import BROKEN, vehicles
from narrows.cli.shown import shown
from narrows.connectors.kafka.client.cluster import require_library
from narrows.errors import Code, fail

if TYPE_CHECKING:  # the library is an extra
    from confluent_kafka import Producer

_TOOL = Path(__file__).parents[3] / "tools" / "kafka_broker.py"
"""Starts a broker; a clone of the repository has it."""
_PARTITIONS = 4
_SECONDS = 120.0


@contextlib.contextmanager
def topics(brokers: str | None, folder: Path) -> Iterator[Topics]:
    """Topics of these brokers; of one that runs meanwhile if none are given."""
    require_library()
    with contextlib.ExitStack() as stack:
        address = brokers or stack.enter_context(_broker(folder / "broker"))
        place = Topics(address)
        try:
            yield place
        finally:
            if brokers is not None:
                place.remove()


@contextlib.contextmanager
def _broker(folder: Path) -> Iterator[str]:
    hint = "give the address of one: `narrows demo --kafka --brokers localhost:9092`"
    if not _TOOL.exists():
        message = "the demo needs a Kafka broker, and only a clone of Narrows can start one"
        raise fail(Code.SOURCE_UNAVAILABLE, message, None, hint)
    command = [sys.executable, str(_TOOL), "--folder", str(folder)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout is not None and process.stderr is not None  # noqa: PT018
        try:
            address = process.stdout.readline().strip()
            if not address:
                said = process.stderr.read().strip() or "it says nothing"
                raise fail(
                    Code.SOURCE_UNAVAILABLE, f"no Kafka broker can be started: {said}", None, hint
                )
            yield address
        finally:
            process.terminate()


class Topics:
    def __init__(self, brokers: str) -> None:
        self._brokers = brokers
        self._client: dict[str, str | int | float | bool] = {
            "bootstrap.servers": brokers,
            "log_level": 0,  # what is wrong is said by errors
        }
        self._prefix = f"narrows-demo-{uuid.uuid4().hex[:8]}"
        self._made: list[str] = []

    def fill(self, count: int) -> int:
        from confluent_kafka import Producer

        topic = self._make("vehicles")
        producer = Producer({**self._client, "linger.ms": 20})
        total = 0
        for partition in range(_PARTITIONS):
            for text in vehicles(count, partition, _PARTITIONS):
                total += len(text)
                _put(producer, topic, text, partition)
        for text in BROKEN:
            _put(producer, topic, text, 0)
        if producer.flush(_SECONDS):
            raise fail(Code.SOURCE_UNAVAILABLE, f"kafka at {self._brokers} takes no messages")
        return total

    @property
    def source(self) -> str:
        return self._options("vehicles")

    def sink(self, run: str, pipeline: str) -> str:
        self._make(f"{run}-{pipeline}")
        return f"{self._options(f'{run}-{pipeline}')}, key = 'vin'"

    def rows(self, run: str, pipeline: str) -> list[dict[str, Any]]:
        from confluent_kafka import Consumer, KafkaError, TopicPartition

        name = f"{self._prefix}-{run}-{pipeline}"
        settings = {"group.id": self._prefix, "enable.partition.eof": True}
        consumer = Consumer({**self._client, **settings})
        rows: list[dict[str, Any]] = []
        ended = 0
        with contextlib.closing(consumer):
            consumer.assign([TopicPartition(name, number, 0) for number in range(_PARTITIONS)])
            while ended < _PARTITIONS:
                for message in consumer.consume(10_000, 1.0):
                    error = message.error()
                    if error is None:
                        rows.append(json.loads(message.value() or b"{}"))
                    elif error.code() == KafkaError._PARTITION_EOF:
                        ended += 1
        return rows

    def remove(self) -> None:
        """They were made on somebody's brokers."""
        from confluent_kafka.admin import AdminClient

        if not self._made:
            return
        admin = AdminClient(self._client)  # it must live until everything is answered
        for topic, future in admin.delete_topics(self._made).items():
            if (error := future.exception(_SECONDS)) is not None:
                print(shown(f"topic {topic} could not be removed: {error}"), file=sys.stderr)

    def _make(self, name: str) -> str:
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient
        from confluent_kafka.cimpl import NewTopic

        topic = f"{self._prefix}-{name}"
        admin = AdminClient(self._client)
        try:
            admin.create_topics([NewTopic(topic, _PARTITIONS)])[topic].result(_SECONDS)
        except KafkaException as error:
            said = error.args[0].str()
            message = f"kafka at {self._brokers} does not make the topic `{topic}`: {said}"
            raise fail(Code.SOURCE_UNAVAILABLE, message) from None
        self._made.append(topic)
        return topic

    def _options(self, name: str) -> str:
        return f"connector = 'kafka', brokers = '{self._brokers}', topic = '{self._prefix}-{name}'"


def _put(producer: Producer, topic: str, text: str, partition: int) -> None:
    while True:
        try:
            producer.produce(topic, text, partition=partition)
            return
        except BufferError:
            producer.poll(0.1)
