"""Where the demo's data is: files, or topics."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from confluent_kafka import Producer

from mosquitto_broker import Mosquitto
from narrows.cli import demo_mqtt, demo_places, demo_topics
from narrows.cli.demo_data import BROKEN
from narrows.cli.demo_places import Folders
from narrows.errors import NarrowsError
from support.kafka import Topics
from support.mosquitto import Publisher
from support.received import payloads_in
from support.waiting import await_that


def test_folders(tmp_path: Path) -> None:
    place = Folders(tmp_path)
    size = place.fill(10)
    texts = [file.read_text() for file in (tmp_path / "data").iterdir()]
    lines = [line for text in texts for line in text.splitlines()]
    assert len(lines) == 10 + len(BROKEN)
    assert size > 10 * 1_000
    assert place.rows("pruned", "p") == []


def test_topics(tmp_path: Path, topics: Topics) -> None:
    with demo_topics.topics(topics.address, tmp_path) as place:
        place.fill(10)
        name = place.source.split("'")[-2]
        producer = Producer({"bootstrap.servers": topics.address})
        target = place.sink("pruned", "p").split("'")[-4]
        producer.produce(target, json.dumps({"vin": "x"}))
        assert producer.flush(60) == 0
        assert place.rows("pruned", "p") == [{"vin": "x"}]
        assert name in topics.admin.list_topics(timeout=60).topics
    await_that(lambda: name not in topics.admin.list_topics(timeout=60).topics, "they are removed")


@pytest.mark.parametrize("given", [True, False])
def test_topics_of_mqtt(tmp_path: Path, mosquitto: Mosquitto, given: bool) -> None:
    with demo_mqtt.mqtt_topics(mosquitto.address if given else None, tmp_path) as place:
        size = place.fill(10)
        assert size > 10 * 1_000
        for run in demo_places.RUNS:
            (log,) = (tmp_path / run / "received" / "mqtt").glob("vehicles.*")
            assert len(payloads_in(log)) == 10 + len(BROKEN)
        topic = place.sink("pruned", "p").split("'")[-2]
        with Publisher(int(place.source.split(":")[2].split("'")[0])) as publisher:
            publisher.put(topic, [b'{"vin": "x"}', b'{"vin": "y"}'])
        assert place.rows("pruned", "p") == [{"vin": "x"}, {"vin": "y"}]
        assert place.rows("pruned", "q") == []


def test_without_an_mqtt_broker_it_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hint = "give the address of a broker: `--broker mqtt://"
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    with pytest.raises(NarrowsError, match=hint), demo_mqtt.mqtt_topics(None, tmp_path):
        pass
    with (
        pytest.raises(NarrowsError, match="no MQTT broker answers at"),
        demo_mqtt.mqtt_topics("mqtt://127.0.0.1:1", tmp_path),
    ):
        pass


def test_without_a_broker_it_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo_topics, "_TOOL", tmp_path / "none.py")
    with pytest.raises(NarrowsError, match="--brokers"), demo_topics.topics(None, tmp_path):
        pass


def test_a_broker_that_does_not_start_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "broker.py"
    tool.write_text("import sys; sys.exit('there is no `java`')")
    monkeypatch.setattr(demo_topics, "_TOOL", tool)
    with pytest.raises(NarrowsError, match="`java`"), demo_topics.topics(None, tmp_path):
        pass
