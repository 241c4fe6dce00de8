"""A connection to publish with: kept in a worker for the tasks that follow.

    the task             a message ──► the library                     as many as the window takes
    the network thread   PUBACK ──► one less in flight                 the library's; it reconnects

The library sends again what was not acknowledged when a connection broke, in order. Its callbacks
hold its locks: they take down what they hear, and no more.
"""

from __future__ import annotations

import atexit
import secrets
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from narrows.connectors.mqtt.broker import Broker
from narrows.connectors.target import SinkTarget
from narrows.errors import Code, NarrowsError, fail
from narrows.plugins.options import parse_duration
from narrows.plugins.row_text import parse_row_text

_NOT_AUTHORIZED = 0x87
_OF_ONE_MESSAGE = (0x90, 0x95, 0x99)
"""What a broker may have against a message: its topic, its size, what is in it."""
_PERMANENT = (0x81, 0x82, 0x84, 0x85, 0x86, _NOT_AUTHORIZED, 0x8A, 0x8C, 0x9A, 0x9B)
"""Why a broker refuses a client or a message until somebody has mended something."""

_QOS_2_WINDOW = 20
"""Messages of QoS 2 that a broker surely takes at once. MQTT 3.1.1 has no way to tell, and
mosquitto forgets what is beyond that."""


class SinkClient:
    def __init__(self, target: SinkTarget) -> None:
        options = dict(target.options)
        self._sink = target.sink
        self._broker = Broker.of(options)
        self._qos = int(str(options["qos"]))
        self._retain = options.get("retain") is True
        self._window = int(str(options["max_in_flight"]))
        if self._qos == 2 and not self._broker.is_v5:
            self._window = min(self._window, _QOS_2_WINDOW)
        self._timeout = (parse_duration(str(options["delivery_timeout"])) or 0) / 1_000
        self._of_rows = parse_row_text(str(options["topic"])).constant is None
        """Do rows say where they go? Then a topic that is refused is theirs alone."""
        self._changed = threading.Condition()
        """Guards what callbacks take down. Never held while the library is called."""
        self._answers: dict[int, Any] = {}
        """What the broker has said of messages, by their numbers."""
        self._heard = 0.0
        self._is_connected = False
        self._problem: NarrowsError | None = None
        self._said = f"not connected to {self._broker} yet"
        self._sent: dict[int, tuple[str, bytes]] = {}
        """Messages in flight; the task's alone."""
        self._refused: list[tuple[bytes, str]] = []
        self.largest: int | None = None
        """Bytes of a message at most, if the broker says so."""
        self._client = self._connected()

    # --- for tasks --------------------------------------------------------------------------------

    def send(self, topics: Sequence[str], payloads: Sequence[bytes]) -> None:
        """Publishes messages in order; waits while too many are in flight."""
        for topic, payload in zip(topics, payloads, strict=True):
            self._settle()
            if len(self._sent) >= self._window:
                self._await(lambda: len(self._sent) < self._window)
            info = self._client.publish(topic, payload, self._qos, self._retain)
            self._sent[info.mid] = topic, payload

    def finish(self) -> list[tuple[bytes, str]]:
        """Waits until all is acknowledged; and which payloads the broker has refused, and why."""
        self._await(lambda: not self._sent)
        refused, self._refused = self._refused, []
        return refused

    def drop(self) -> None:
        """Ends it: nothing that waits is sent any more."""
        for target, client in list(_CLIENTS.items()):
            if client is self:
                del _CLIENTS[target]
        self._client.disconnect()
        self._client.loop_stop()

    # --- how --------------------------------------------------------------------------------------

    def _connected(self) -> Any:
        client = self._broker.client(f"narrows{secrets.token_hex(8)}", keeps_session=False)
        client.max_inflight_messages_set(0)  # the window is ours
        client.max_queued_messages_set(0)
        client.on_connect = self._on_connect
        client.on_connect_fail = self._on_connect_fail
        client.on_disconnect = self._on_disconnect
        client.on_publish = self._on_publish
        broker = self._broker
        client.connect_async(broker.host, broker.port, broker.keep_alive)
        client.loop_start()
        try:
            self._client = client
            self._await(lambda: self._is_connected)
        except BaseException:
            client.loop_stop()
            raise
        return client

    def _await(self, done: Callable[[], bool]) -> None:
        """Waits for something that answers of the broker bring about."""
        begins = time.monotonic()
        while True:
            self._settle()
            if done():
                return
            with self._changed:
                if self._problem is not None:
                    raise self._problem
                left = max(begins, self._heard) + self._timeout - time.monotonic()
                if left <= 0:
                    said = self._said or f"{self._broker} acknowledges nothing"
                    raise self._failure(Code.SINK_UNAVAILABLE, said)
                if not self._answers and not done():
                    self._changed.wait(left)

    def _settle(self) -> None:
        """Takes the answers to messages that were sent."""
        with self._changed:
            if not self._answers:
                return
            answers, self._answers = self._answers, {}
            self._heard = time.monotonic()
        for mid, reason in answers.items():
            topic, payload = self._sent.pop(mid, ("", b""))
            if reason is not None and reason.is_failure:
                self._is_refused(topic, payload, reason)

    def _is_refused(self, topic: str, payload: bytes, reason: Any) -> None:
        text = f"{self._broker} refuses a message to `{topic[:300]}`: {reason}"
        if reason.value in _OF_ONE_MESSAGE or (reason.value == _NOT_AUTHORIZED and self._of_rows):
            self._refused.append((payload, text))
            return
        permanent = reason.value in _PERMANENT
        raise self._failure(Code.BROKER_ERROR if permanent else Code.SINK_UNAVAILABLE, text)

    def _failure(self, code: Code, text: str) -> NarrowsError:
        return fail(code, f"sink `{self._sink}`: {text}")

    # --- in the network thread --------------------------------------------------------------------

    def _on_connect(self, client: Any, _: Any, flags: Any, reason: Any, properties: Any) -> None:
        with self._changed:
            if reason.is_failure:
                self._said = f"{self._broker} refuses the connection: {reason}"
                if reason.value in _PERMANENT:
                    self._problem = self._failure(Code.BROKER_ERROR, self._said)
            else:
                self._is_connected, self._said = True, ""
                self._heard = time.monotonic()
                self._window = min(self._window, getattr(properties, "ReceiveMaximum", 65_535))
                self.largest = getattr(properties, "MaximumPacketSize", None)
            self._changed.notify_all()

    def _on_connect_fail(self, client: Any, _: Any) -> None:
        with self._changed:
            self._said = f"cannot connect to {self._broker}: {sys.exc_info()[1]}"

    def _on_disconnect(self, client: Any, _: Any, flags: Any, reason: Any, properties: Any) -> None:
        with self._changed:
            self._is_connected = False
            self._said = f"the connection to {self._broker} is lost: {reason}"

    def _on_publish(self, client: Any, _: Any, mid: int, reason: Any, properties: Any) -> None:
        with self._changed:
            self._answers[mid] = reason
            self._changed.notify_all()


_CLIENTS: dict[SinkTarget, SinkClient] = {}
"""Those of this worker."""


def client_of(target: SinkTarget) -> SinkClient:
    if target not in _CLIENTS:
        _CLIENTS[target] = SinkClient(target)
    return _CLIENTS[target]


@atexit.register
def drop_clients() -> None:
    for client in list(_CLIENTS.values()):
        client.drop()
