"""Topics of a real broker obey the laws for sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from narrows.plugins.options import OptionValue
from support.conformance.source_case import Limit, SourceCase
from support.conformance.sources import LossLaws, PayloadLaws, SourceLaws
from support.kafka import Topics
from support.waiting import DEADLINE


class KafkaCase(SourceCase):
    """One partition, so that there is one order."""

    connector = "kafka"
    limit = Limit({"max_messages_per_trigger": 2}, 2)
    tight: Mapping[str, OptionValue] | None = {"max_bytes_per_trigger": 1}

    def __init__(self, folder: Path, topics: Topics) -> None:
        super().__init__(folder)
        self._topics = topics
        self._topic = topics.make()
        self._put = 0

    @property
    def options(self) -> Mapping[str, OptionValue]:
        return {"brokers": self._topics.address, "topic": self._topic}

    def put(self, payloads: Sequence[bytes]) -> None:
        self._topics.put(self._topic, payloads)
        self._put += len(payloads)

    def payload_at(self, position: Mapping[str, Any]) -> bytes:
        assert set(position) == {"topic", "partition", "offset"}
        consumer = Consumer({"bootstrap.servers": self._topics.address, "group.id": "test"})
        consumer.assign([TopicPartition(*position.values())])
        message = consumer.poll(DEADLINE)
        consumer.close()
        assert message is not None
        return message.value() or b""

    def lose(self) -> int:
        self._topics.delete_before(self._topic, self._put)
        return 1


class TestKafka(SourceLaws, PayloadLaws, LossLaws):
    @pytest.fixture
    def case(self, tmp_path: Path, topics: Topics) -> SourceCase:
        return KafkaCase(tmp_path, topics)
