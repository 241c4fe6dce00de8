"""Topics of a real broker obey the laws for sources, by way of the log of what was received."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import pytest
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from mosquitto_broker import Mosquitto
from narrows.connectors.base import SourceDeclaration, find_connector
from narrows.connectors.received import segments
from narrows.connectors.received.contents import groups_in
from narrows.plugins.options import OptionValue
from support.conformance.metadata import MetadataLaws
from support.conformance.source_case import Limit, SourceCase
from support.conformance.sources import LossLaws, PayloadLaws, SourceLaws
from support.mosquitto import Publisher, new_topic
from support.waiting import await_that


class MqttCase(SourceCase):
    """A stream that receives while the test runs."""

    connector = "mqtt"
    limit = Limit({"max_messages_per_trigger": 2}, 2)
    tight: Mapping[str, OptionValue] | None = {"max_bytes_per_trigger": 1}

    def __init__(self, folder: Path, mosquitto: Mosquitto, version: str) -> None:
        super().__init__(folder)
        self._address = mosquitto.address
        self._topic = new_topic()
        self._version = version
        declared = SourceDeclaration(
            "s", "json", self.declared({}), reader="the case", folder=str(self.kept)
        )
        self.source = find_connector("mqtt").source(declared)
        self.source.start()
        await_that(lambda: self.source.problem is None, "it is connected")
        self._publisher = Publisher(mosquitto.port)
        self._sent = 0
        # A subscription is made a moment after the connection.
        self._log = next(self.kept.glob("s.*"))

    @property
    def options(self) -> Mapping[str, OptionValue]:
        return {
            "broker": self._address,
            "topic": f"{self._topic}/+",
            "version": self._version,
            "sync_interval": "0 ms",
        }

    def put(self, payloads: Sequence[bytes]) -> None:
        properties = None
        if self._version == "5":
            properties = cast("Any", Properties)(PacketTypes.PUBLISH)
            properties.ContentType = "application/json"
            properties.UserProperty = ("a", "1")
        self._publisher.put(f"{self._topic}/{self._sent}", payloads, properties=properties)
        self._sent += len(payloads)
        await_that(self._has_all, "all is received")

    def _has_all(self) -> bool:
        groups = groups_in(self._log)
        return bool(groups) and groups[-1].end >= self._sent

    def payload_at(self, position: Mapping[str, Any]) -> bytes:
        assert set(position) == {"topic", "number"}
        found: bytes = self._row(position)["payload"]
        return found

    def metadata_at(self, position: Mapping[str, Any]) -> dict[str, Any]:
        row = self._row(position)
        assert row["topic"].startswith(self._topic)
        assert (row["qos"], row["retained"]) == (1, False)
        properties = [
            {"key": "content_type", "value": "application/json"},
            {"key": "a", "value": "1"},
        ]
        assert row["properties"] == (properties if self._version == "5" else None)
        return {
            f"_{name}": row[name]
            for name in ("topic", "qos", "retained", "received_at", "properties")
        }

    def _row(self, position: Mapping[str, Any]) -> dict[str, Any]:
        number = position["number"]
        (group,) = [g for g in groups_in(self._log) if g.first <= number < g.end]
        batch = segments.read_batch(self._log, group)
        found: dict[str, Any] = batch.slice(number - group.first, 1).to_pylist()[0]
        return found

    def lose(self) -> int:
        for path in self._log.glob("*.received"):
            path.unlink()
        return 1

    def close(self) -> None:
        self._publisher.close()
        self.source.stop()


class TestMqtt5(SourceLaws, PayloadLaws, LossLaws, MetadataLaws):
    @pytest.fixture
    def case(self, tmp_path: Path, mosquitto: Mosquitto) -> Iterator[SourceCase]:
        case = MqttCase(tmp_path, mosquitto, "5")
        yield case
        case.close()


class TestMqtt311(PayloadLaws, MetadataLaws):
    @pytest.fixture
    def case(self, tmp_path: Path, mosquitto: Mosquitto) -> Iterator[SourceCase]:
        case = MqttCase(tmp_path, mosquitto, "3.1.1")
        yield case
        case.close()
