"""Connections to a real broker: they come back, lose nothing, and say what is wrong."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from paho.mqtt.client import Client, MQTTv5
from paho.mqtt.enums import CallbackAPIVersion

from mosquitto_broker import Mosquitto
from narrows import Catalog
from narrows.connectors.base import SourceDeclaration, find_connector
from narrows.connectors.mqtt import connections
from narrows.connectors.mqtt.connection import Connection
from narrows.connectors.mqtt.messages import Message
from narrows.connectors.mqtt.options import overlap
from narrows.connectors.received.consumers import Consumers
from narrows.connectors.received.log import ReceivedLog
from narrows.errors import NarrowsError
from support.mosquitto import Publisher, new_topic
from support.mqtt_stream import MqttStream
from support.received import payloads_in
from support.waiting import DEADLINE, await_that


def test_what_is_published_meanwhile_is_there_later(tmp_path: Path, mosquitto: Mosquitto) -> None:
    topic = new_topic()
    with Publisher(mosquitto.port) as publisher:
        for number in range(3):
            publisher.put(topic, [b"meanwhile %d" % number])
            stream = MqttStream(tmp_path, mosquitto.address, topic)
            with stream.running():
                stream.await_connected()
                publisher.put(topic, [b"now %d" % number])
                stream.await_payloads(b"now %d" % number)
    expected = [b"now 0", b"meanwhile 1", b"now 1", b"meanwhile 2", b"now 2"]
    assert stream.payloads == expected, "nobody had subscribed before the first"


def test_what_comes_while_the_last_stream_ends_is_not_lost(
    tmp_path: Path, mosquitto: Mosquitto, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its log is closed already: so nobody may acknowledge it."""
    topic, seen = new_topic(), threading.Event()
    take, close = Connection._take, ReceivedLog.close

    def seen_and_taken(self: Connection, messages: Sequence[Message]) -> None:
        take(self, messages)
        seen.set()

    def closed_late(self: ReceivedLog) -> None:
        publisher.put(topic, [b"late"])
        assert seen.wait(DEADLINE)
        close(self)

    stream = MqttStream(tmp_path, mosquitto.address, topic)
    with Publisher(mosquitto.port) as publisher:
        with monkeypatch.context() as patched:
            patched.setattr(Connection, "_take", seen_and_taken)
            patched.setattr(ReceivedLog, "close", closed_late)
            with stream.running():
                stream.await_connected()
        with stream.running():
            stream.await_connected()
            publisher.put(topic, [b"later"])
            stream.await_payloads(b"later")
    assert stream.payloads == [b"late", b"later"]


def test_it_comes_back_to_a_broker_that_was_restarted(tmp_path: Path) -> None:
    with Mosquitto(tmp_path / "broker") as broker:
        stream = MqttStream(tmp_path / "state", broker.address, "a/+")
        with stream.running():
            stream.await_connected()
            with Publisher(broker.port) as publisher:
                publisher.put("a/b", [b"before"])
            stream.await_payloads(b"before")
            broker.stop()
            stream.await_problem(f"127.0.0.1:{broker.port}")
            broker.start()
            stream.await_connected()
            with Publisher(broker.port) as publisher:
                publisher.put("a/b", [b"after"])
            stream.await_payloads(b"before", b"after")


def test_a_broker_that_refuses_us(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MQTT_PASSWORD", "hush-hush")
    with Mosquitto(tmp_path / "broker", "allow_anonymous false") as broker:
        stream = MqttStream(
            tmp_path / "state", broker.address, "a", username="me", password="${MQTT_PASSWORD}"
        )
        with stream.running():
            stream.await_problem("refuses the connection: Not authorized")
            assert "hush" not in f"{stream.source.problem}{vars(stream.source)}"


def test_streams_share_a_connection_unless_topics_are_for_both(
    tmp_path: Path, mosquitto: Mosquitto
) -> None:
    topic = new_topic()
    names = {"a": f"{topic}/a/#", "b": f"{topic}/b", "c": f"{topic}/#", "d": f"{topic}/#"}
    streams = [MqttStream(tmp_path, mosquitto.address, t, name) for name, t in names.items()]
    a, b, c, d = streams
    before = set(connections._CONNECTIONS)
    with (
        a.running(),
        b.running(),
        c.running(),
        d.running(),
        Publisher(mosquitto.port) as publisher,
    ):
        assert len(set(connections._CONNECTIONS) - before) == 3
        for stream in streams:
            stream.await_connected()
        publisher.put(f"{topic}/a/x", [b"1"])
        publisher.put(f"{topic}/b", [b"2"])
        publisher.put(f"{topic}/x", [b"3"])
        c.await_payloads(b"1", b"2", b"3")
        d.await_payloads(b"1", b"2", b"3")
        a.await_payloads(b"1")
        b.await_payloads(b"2")
    assert [sorted(stream.payloads) for stream in streams] == [
        [b"1"],
        [b"2"],
        [b"1", b"2", b"3"],
        [b"1", b"2", b"3"],
    ]


def test_what_comes_for_a_stream_that_is_not_started_yet_is_kept(
    tmp_path: Path, mosquitto: Mosquitto
) -> None:
    """The broker knows of both subscriptions, and does not wait for the second pipeline."""
    topic = new_topic()
    one = MqttStream(tmp_path, mosquitto.address, f"{topic}/1", "one")
    two = MqttStream(tmp_path, mosquitto.address, f"{topic}/2", "two")
    with one.running(), two.running():
        one.await_connected()
        two.await_connected()
    with Publisher(mosquitto.port) as publisher:
        publisher.put(f"{topic}/2", [b"for two"])
        with one.running():
            two.await_payloads(b"for two")
    # Nobody reads it any more: it is given up, and the next one begins anew.
    Consumers(two.log).forget("entries/p/")
    with one.running():
        one.await_connected()
    with Publisher(mosquitto.port) as publisher:
        publisher.put(f"{topic}/2", [b"for nobody"])
        with one.running():
            one.await_connected()
            publisher.put(f"{topic}/1", [b"for one"])
            one.await_payloads(b"for one")
    assert two.payloads == [b"for two"]


def test_messages_with_the_same_id_are_taken_once(tmp_path: Path, mosquitto: Mosquitto) -> None:
    """Also those that come before the pipeline has been started again."""
    topic = new_topic()
    other = MqttStream(tmp_path, mosquitto.address, f"{topic}/other", "other")
    with Publisher(mosquitto.port) as publisher:
        for number in range(2):
            stream = MqttStream(tmp_path, mosquitto.address, f"{topic}/ids", dedupe_by="n")
            with stream.running(), other.running():
                stream.await_connected()
                publisher.put(
                    f"{topic}/ids", [b'{"n": 1}', b'{"n": 1}', b'{"n": %d}' % (7 + number)]
                )
                stream.await_payloads(b'{"n": %d}' % (7 + number))
        with other.running():
            publisher.put(f"{topic}/ids", [b'{"n": 7}', b'{"n": 1}', b'{"n": 9}'])
            stream.await_payloads(b'{"n": 9}')
    assert stream.payloads == [b'{"n": 1}', b'{"n": 7}', b'{"n": 8}', b'{"n": 9}']


def test_a_session_that_somebody_takes_over(tmp_path: Path, mosquitto: Mosquitto) -> None:
    topic = new_topic()
    client_id = topic.replace("/", "-")
    stream = MqttStream(tmp_path, mosquitto.address, topic, client_id=client_id)
    with stream.running(), Publisher(mosquitto.port) as publisher:
        stream.await_connected()
        other = Client(CallbackAPIVersion.VERSION2, client_id, protocol=MQTTv5)
        other.connect("127.0.0.1", mosquitto.port, clean_start=False)
        other.loop_start()
        stream.await_problem(f"as `{client_id}` is lost")
        other.disconnect()
        other.loop_stop()
        stream.await_connected()
        publisher.put(topic, [b"1"])
        stream.await_payloads(b"1")


def test_a_full_log_stops_the_broker_and_loses_nothing(
    tmp_path: Path, mosquitto: Mosquitto
) -> None:
    topic = new_topic()
    payloads = [b"%04d" % number + bytes(10_000) for number in range(200)]
    stream = MqttStream(
        tmp_path, mosquitto.address, topic, max_log_bytes=200_000, receive_maximum=20
    )
    seen: dict[int, bytes] = {}
    with stream.running(), Publisher(mosquitto.port) as publisher:
        stream.await_connected()
        publisher.put(topic, payloads)
        stream.await_problem("the log of what was received is full")

        def read() -> bool:
            seen.update(payloads_in(stream.log, since=len(seen)))
            stream.source.committed({"upto": len(seen)})
            return len(seen) >= len(payloads)

        await_that(read, "all have come")
    assert list(seen.values()) == payloads


def test_a_broker_that_is_not_there(tmp_path: Path) -> None:
    stream = MqttStream(tmp_path, "mqtt://127.0.0.1:1", "a")
    with stream.running():
        stream.await_problem("cannot connect to 127.0.0.1:1: [Errno 111]")
    assert stream.source.problem is None, "nobody wants anything from it"


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("a/b", "a/b", True),
        ("a/b", "a/c", False),
        ("a/+", "a/b", True),
        ("a/+", "+/b", True),
        ("a/+", "a/b/c", False),
        ("a/#", "a", True),
        ("a/b/#", "a/+", True),
        ("#", "x/y", True),
        ("a/b/c", "a/b", False),
    ],
)
def test_filters_that_have_topics_in_common(one: str, other: str, expected: bool) -> None:
    assert overlap(one, other) is overlap(other, one) is expected


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("broker", "'host:1883'", "takes an address like"),
        ("broker", "'http://host'", "takes an address like"),
        ("topic", "'a/b#'", "stand for whole levels"),
        ("topic", "'a/#/b'", "stand for whole levels"),
        ("topic", "'$share/g'", "the name of a group"),
        ("topic", "''", "takes a topic"),
        ("qos", "3", "is 0, 1 or 2"),
        ("receive_maximum", "70000", "is at most 65535"),
        ("version", "'4'", "is one of 5, 3.1.1"),
    ],
)
def test_options_that_are_wrong(option: str, value: str, message: str) -> None:
    given = {"broker": "'mqtt://h'", "topic": "'t'", option: value}
    texts = ", ".join(f"{name} = {text}" for name, text in given.items())
    with pytest.raises(NarrowsError, match=message):
        Catalog().execute(f"CREATE STREAM s (n INT) WITH (connector = 'mqtt', {texts})")


def test_there_are_no_tables_of_it(tmp_path: Path) -> None:
    declared = SourceDeclaration("s", "json", {"topic": "t"}, bounded=True, folder=str(tmp_path))
    with pytest.raises(NarrowsError, match="cannot be a table"):
        find_connector("mqtt").source(declared)
