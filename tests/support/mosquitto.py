"""A real MQTT broker for tests, one for all of them, and somebody who publishes.

Where it cannot be had, tests that want one are skipped, and say why.
"""

from __future__ import annotations

import itertools
import threading
import uuid
from collections.abc import Iterator, Sequence
from typing import Any, Self

import pytest
from paho.mqtt.client import Client, MQTTv5
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.properties import Properties

from mosquitto_broker import Mosquitto, missing
from support.waiting import await_that

DEADLINE = 60.0
_NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def mosquitto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mosquitto]:
    """A broker that is there until the last test has run."""
    reason = missing()
    if reason is not None:
        pytest.skip(f"no MQTT broker here: {reason}")
    with Mosquitto(tmp_path_factory.mktemp("mosquitto")) as started:
        yield started


def new_topic() -> str:
    return f"t/{uuid.uuid4().hex}"


class Publisher:
    """Publishes with QoS 1, and knows what the broker has acknowledged."""

    def __init__(self, port: int, tls: tuple[str, str, str] | None = None) -> None:
        """`tls` are the files of an authority, a certificate and its key."""
        self._client = Client(
            CallbackAPIVersion.VERSION2,
            f"publisher{next(_NUMBERS)}-{uuid.uuid4().hex}",
            protocol=MQTTv5,
        )
        if tls is not None:
            self._client.tls_set(*tls)
        self._client.max_inflight_messages_set(10_000)
        self._client.max_queued_messages_set(0)
        self._client.connect("127.0.0.1", port)
        self._client.loop_start()

    def put(
        self,
        topic: str,
        payloads: Sequence[bytes],
        *,
        qos: int = 1,
        retain: bool = False,
        properties: Properties | None = None,
    ) -> None:
        """Returns when the broker has them all."""
        sent: list[Any] = [
            self._client.publish(topic, payload, qos, retain, properties) for payload in payloads
        ]
        for info in sent:
            info.wait_for_publish(DEADLINE)
            assert info.is_published()

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class Subscriber:
    """Takes the messages of a topic, from when it is there. One that `keeps` its session comes
    back to it."""

    def __init__(self, port: int, topic: str, *, keeps: bool = False) -> None:
        self.messages: list[tuple[str, bytes]] = []
        """Topics and payloads, in the order in which they came."""
        subscribed = threading.Event()
        self._client = Client(
            CallbackAPIVersion.VERSION2,
            f"subscriber{next(_NUMBERS)}-{uuid.uuid4().hex}",
            clean_session=not keeps,
        )
        self._client.reconnect_delay_set(1, 1)
        self._client.on_message = lambda client, _, message: self.messages.append(
            (message.topic, bytes(message.payload))
        )
        self._client.on_connect = lambda client, *_: client.subscribe(topic, 2)
        self._client.on_subscribe = lambda *_: subscribed.set()
        self._client.connect("127.0.0.1", port)
        self._client.loop_start()
        assert subscribed.wait(DEADLINE)

    def await_messages(self, count: int) -> None:
        await_that(lambda: len(self.messages) >= count, f"{count} messages have come")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._client.disconnect()
        self._client.loop_stop()
