"""Messages that are taken before the library sees them: the same as if it had, at a real broker."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, cast

import pytest
from paho.mqtt.client import Client, MQTTv5
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from mosquitto_broker import Mosquitto
from narrows.connectors.mqtt import packets
from narrows.connectors.mqtt.packets import Incoming, MalformedPacketError
from narrows.connectors.received import segments
from narrows.connectors.received.contents import groups_in
from support.mosquitto import DEADLINE, Publisher, new_topic
from support.mqtt_stream import MqttStream
from support.waiting import await_that

LAST = b"the last one"


def rows_of(stream: MqttStream) -> list[dict[str, Any]]:
    batches = [segments.read_batch(stream.log, group) for group in groups_in(stream.log)]
    rows: list[dict[str, Any]] = [row for batch in batches for row in batch.to_pylist()]
    return [{name: value for name, value in row.items() if name != "received_at"} for row in rows]


def publish_all_kinds(port: int, topic: str) -> None:
    properties = cast("Any", Properties)(PacketTypes.PUBLISH)
    properties.ContentType = "text/plain"
    properties.ResponseTopic = "ä"
    properties.CorrelationData = b"\xff\x00"
    properties.UserProperty = [("a", "1"), ("a", "2")]
    with Publisher(port) as publisher:
        publisher.put(f"{topic}/few", [b"", b"\x00", "ü".encode(), b"x" * 127, b"x" * 20_000])
        publisher.put(f"{topic}/with", [b"1", b"2"], properties=properties)
        publisher.put(f"{topic}/0", [b"of QoS 0"], qos=0)
        publisher.put(f"{topic}/2", [b"of QoS 2"], qos=2)
        publisher.put(f"{topic}/large", [bytes(3_000_000)])
        publisher.put(f"{topic}/ünï/$/ /many", [b"%d" % number for number in range(500)])
        publisher.put(f"{topic}/last", [LAST])


@pytest.mark.parametrize("version", ["5", "3.1.1"])
def test_both_ways_lead_to_the_same_log(
    tmp_path: Path, mosquitto: Mosquitto, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    topic, logs = new_topic(), []
    with Publisher(mosquitto.port) as publisher:
        publisher.put(f"{topic}/kept", [b"retained"], retain=True)
    for name in ("taken", "by the library"):
        options = {"version": version, "sync_interval": "0 ms"}
        stream = MqttStream(tmp_path / name, mosquitto.address, f"{topic}/#", **options)
        with stream.running():
            stream.await_connected()
            publish_all_kinds(mosquitto.port, topic)
            stream.await_payloads(b"retained", b"of QoS 0", LAST)
        # Messages of one topic stay in order, those of two need not.
        logs.append(sorted(rows_of(stream), key=lambda row: str(row["topic"])))
        monkeypatch.setattr(packets, "_PUBLISH", 0xF0)  # of which there is none: all is for others
    with Publisher(mosquitto.port) as publisher:
        publisher.put(f"{topic}/kept", [b""], retain=True)
    assert logs[0] == logs[1]
    assert len(logs[0]) == 512
    kinds = {(row["qos"], row["retained"], row["properties"] is None) for row in logs[0]}
    expected = {(0, False, True), (1, False, True), (1, True, True)}
    assert kinds == (expected | {(1, False, False)} if version == "5" else expected)


def test_messages_of_somebody_elses_subscription(tmp_path: Path, mosquitto: Mosquitto) -> None:
    """One of QoS 2, which is never ours, in a session that we take over."""
    topic = new_topic()
    client_id = topic.replace("/", "-")
    before = Client(CallbackAPIVersion.VERSION2, client_id, protocol=MQTTv5)
    subscribed = threading.Event()
    before.on_subscribe = lambda *given: subscribed.set()
    lasting = cast("Any", Properties)(PacketTypes.CONNECT)
    lasting.SessionExpiryInterval = 3_600
    before.connect("127.0.0.1", mosquitto.port, clean_start=False, properties=lasting)
    before.subscribe(f"{topic}/#", 2)
    before.loop_start()
    assert subscribed.wait(DEADLINE)
    before.disconnect()
    before.loop_stop()
    stream = MqttStream(tmp_path, mosquitto.address, f"{topic}/a/+", client_id=client_id)
    with Publisher(mosquitto.port) as publisher:
        publisher.put(f"{topic}/a/b", [b"1"], qos=2)
        publisher.put(f"{topic}/not/ours", [b"2"], qos=2)
        publisher.put(f"{topic}/a/c", [b"3"], qos=1)
        with stream.running():
            stream.await_payloads(b"1", b"3")
        with stream.running():
            stream.await_connected()
            publisher.put(f"{topic}/a/c", [b"4"], qos=1)
            stream.await_payloads(b"4")  # it may come twice: there are two subscriptions
    assert sorted({*stream.payloads}) == [b"1", b"3", b"4"]
    assert len(stream.payloads) - stream.payloads.count(b"4") == 2, "they were acknowledged"


CONNACK, SUBACK = bytes((0x20, 3, 0, 0, 0)), bytes((0x90, 4, 0, 1, 0, 1))
GOOD = bytes((0x32, 8, 0, 1, ord("a"), 0, 7, 0)) + b"ok"


class BrokenBroker(NamedTuple):
    port: int
    heard: list[bytes]
    """From each client."""
    mended: threading.Event


@contextmanager
def broken_broker(said: bytes) -> Iterator[BrokenBroker]:
    """Says something to the first client. Whoever comes later waits until it is mended."""
    heard: list[bytes] = []
    mended = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    client = listener.accept()[0]
                    heard.append(b"")
                    is_first = len(heard) == 1
                    with client, suppress(OSError):
                        if not is_first:
                            mended.wait(DEADLINE)
                        client.sendall(CONNACK + SUBACK + (said if is_first else GOOD))
                        while data := client.recv(1 << 16):
                            heard[-1] += data

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield BrokenBroker(listener.getsockname()[1], heard, mended)
        listener.shutdown(socket.SHUT_RDWR)
    thread.join(DEADLINE)


def test_a_broker_that_sends_what_is_no_mqtt(tmp_path: Path) -> None:
    """It is told, and the next connection is as good as any."""
    with broken_broker(b"\x32\x06\x00\x01\xff\x00\x07\x00") as broker:
        stream = MqttStream(tmp_path, f"mqtt://127.0.0.1:{broker.port}", "a")
        with stream.running():
            stream.await_problem("is lost: what it sends is no MQTT: a topic is no text")
            broker.mended.set()
            stream.await_payloads(b"ok")
            await_that(lambda: b"\x40\x02\x00\x07" in broker.heard[-1], "it is acknowledged")
            stream.await_connected()


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        (b"\x32\xff\xff\xff\xff\x01", "a length has more than four bytes"),
        (b"\x32\x05\x00\x01a\x00\x07", "a message ends before its payload begins"),
        (b"\x32\x01\x00\x30\x00", "a message ends before its payload begins"),
        (b"\x32\x08\x00\x00\x00\x07\x03\x23\x00\x01", "a message has no topic"),
        (b"\x32\x07\x00\x01a\x00\x07\x09\x01", "the properties of a message are longer than it"),
        (b"\x32\x08\x00\x01a\x00\x07\x02\x7e\x01", "properties of a message: "),
    ],
)
def test_packets_that_are_malformed(said: bytes, problem: str) -> None:
    """What stands before one is taken."""
    incoming = Incoming(is_v5=True)
    incoming.feed(GOOD + said)
    assert [message.payload for message in incoming.publishes()] == [b"ok"]
    assert incoming.waiting
    with pytest.raises(MalformedPacketError, match=problem):
        incoming.publishes()


def test_a_packet_is_put_together_from_any_pieces() -> None:
    incoming = Incoming(is_v5=True)
    packet = b"\x30\x84\x80\x40\x00\x01a\x00" + bytes(1 << 20)
    for at in range(0, len(packet), 1_000):
        assert not incoming.publishes()
        assert not incoming.waiting
        incoming.feed(packet[at : at + 1_000])
    (message,) = incoming.publishes()
    assert (message.topic, message.payload, message.mid) == ("a", bytes(1 << 20), 0)
