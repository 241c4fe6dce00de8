"""A connection to a broker, for all streams that share it, as long as one of them is read.

    network thread      a message ──► its stream's log                 the library's; it reconnects
    the log's thread    written, synced ──► PUBACK                     see `received/log.py`

**Lost connections.** What was not acknowledged is sent again when the client is back, also what
waits to be written at that moment; so that is forgotten. An acknowledgement names a message by a
number that is good for one connection only: those that come too late are not sent.

**Somebody else's session.** A client id is for one client. A broker that sees a second one throws
the first out, and so on; the pauses between attempts keep that from being a storm.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from narrows.connectors.mqtt.broker import Broker, client_id_of, require_library
from narrows.connectors.mqtt.messages import SCHEMA, row_of
from narrows.connectors.mqtt.subscriptions import KeptSubscriptions, Subscription
from narrows.connectors.received.keys import ID
from narrows.connectors.received.log import ReceivedLog
from narrows.errors import Code, fail
from narrows.plugins.options import parse_duration

_LOG = logging.getLogger("narrows.sources")
_CLIENTS = 20
"""Connections to a broker that one user and client id can have at most."""
_OPENING = threading.Lock()
_CONNECTIONS: dict[tuple[Path, Broker, str], Connection] = {}
"""Those of this process, which is the driver."""


def connection_of(
    folder: Path, options: Mapping[str, Any], subscription: Subscription
) -> Connection:
    """The connection that a stream shares with all that have the same options, as long as no topic
    is for two of them."""
    require_library()
    broker = Broker.of(options)
    with _OPENING:
        given = str(options.get("client_id") or client_id_of(folder, broker))
        client_id = _client_for(folder, given, subscription)
        key = (folder, broker, client_id)
        if key not in _CONNECTIONS:
            expiry = (parse_duration(str(options["session_expiry"])) or 0) // 1_000
            receive_maximum = int(str(options["receive_maximum"]))
            _CONNECTIONS[key] = Connection(folder, broker, client_id, expiry, receive_maximum)
        return _CONNECTIONS[key]


def _client_for(folder: Path, client_id: str, subscription: Subscription) -> str:
    """The one that has had the subscription before; else the first that can take it."""
    ids = [client_id, *(f"{client_id}-{number}" for number in range(1, _CLIENTS))]
    kept = [KeptSubscriptions(folder, found) for found in ids]
    had = [
        found for found, known in zip(ids, kept, strict=True) if subscription.log in known.read()
    ]
    able = (found for found, known in zip(ids, kept, strict=True) if known.takes(subscription))
    chosen = had[0] if had else next(able, None)
    if chosen is None:
        message = f"more than {_CLIENTS} streams of one broker have topics in common"
        raise fail(Code.NOT_SUPPORTED, message, None, "make one of them a shared stream")
    known = KeptSubscriptions(folder, chosen)
    found = known.read()
    if found.get(subscription.log) != subscription:  # before the next one asks
        known.write({**found, subscription.log: subscription})
    return chosen


class _Ticket:
    """A message that is to be acknowledged, when all logs that want it have it."""

    __slots__ = ("epoch", "left", "mid", "qos")

    def __init__(self, epoch: int, mid: int, qos: int, left: int) -> None:
        self.epoch = epoch
        self.mid = mid
        self.qos = qos
        self.left = left


class _Stream:
    """One of the streams of a connection."""

    def __init__(self, subscription: Subscription, log: ReceivedLog) -> None:
        self.subscription = subscription
        self.log = log
        self.readers = 0
        self.refused: str | None = f"topic `{subscription.topic}` is not subscribed to yet"
        """Why the broker sends nothing for it; None if it does."""


class Connection:
    def __init__(
        self, folder: Path, broker: Broker, client_id: str, expiry: int, receive_maximum: int
    ) -> None:
        self._folder = folder
        self._broker = broker
        self._client_id = client_id
        self._expiry = expiry
        self._receive_maximum = receive_maximum
        self._kept = KeptSubscriptions(folder, client_id)
        self._lock = threading.RLock()
        """Guards what follows. Never held while a log is opened or closed."""
        self._streams: dict[str, _Stream] = {}
        self._epoch = 0
        """How many connections there were before this one."""
        self._asked: dict[int, str] = {}
        """Subscriptions that the broker has not answered, by the number of the question."""
        self._given_up: list[str] = []
        """Topics that the broker may still send, and nobody wants."""
        self._problem: str | None = None
        self._not_yet = f"not connected to {broker} yet"
        self._is_connected = False
        self._steps = threading.Lock()
        """Streams come and go one by one."""
        self._client = self._make_client()

    # --- for streams ------------------------------------------------------------------------------

    def add(self, subscription: Subscription) -> None:
        """Receives for a stream, from now on."""
        with _OPENING:
            others = [found for found in _CONNECTIONS.values() if found is not self]
        for other in others:
            other.give_up(self._folder, subscription.log)
        with self._steps:
            begins = not self._streams
            if begins:
                self._reopen(except_for=subscription.log)
            stream = self._streams.get(subscription.log) or self._open(subscription)
            stream.readers += 1
            if begins:
                self._connect()
            else:
                with self._lock:
                    if self._is_connected:
                        self._subscribe(stream)

    def remove(self, log: str) -> None:
        """Nobody reads a stream any more, for now. With the last one the connection ends; until
        then messages for it are kept, as the broker would."""
        with self._steps:
            stream = self._streams.get(log)
            if stream is None or stream.readers == 0:
                return
            stream.readers -= 1
            if not any(found.readers for found in self._streams.values()):
                self._end()

    def give_up(self, folder: Path, log: str) -> None:
        """A stream has another connection now: with another broker, user or client id."""
        with self._steps:
            stream = self._streams.get(log)
            if stream is None or stream.readers or folder != self._folder:
                return
            with self._lock:
                del self._streams[log]
                if self._is_connected:
                    self._client.unsubscribe(stream.subscription.topic)
            stream.log.close()
            self._kept.forget(log)

    def problem_of(self, log: str) -> str | None:
        """What keeps messages of a stream from coming; None if nothing does."""
        stream = self._streams.get(log)
        problem = None if stream is None else stream.refused or stream.log.problem
        return self._problem or problem

    # --- beginning and ending ---------------------------------------------------------------------

    def _make_client(self) -> Any:
        client = self._broker.client(self._client_id, keeps_session=True, manual_ack=True)
        client.on_connect = self._on_connect
        client.on_connect_fail = self._on_connect_fail
        client.on_disconnect = self._on_disconnect
        client.on_subscribe = self._on_subscribe
        client.on_message = self._on_message
        return client

    def _reopen(self, except_for: str) -> None:
        """Opens the logs of all streams that the broker may send messages for."""
        self._given_up = []
        for name, subscription in self._kept.read().items():
            if name == except_for:
                continue
            if self._kept.is_read(subscription):
                self._open(subscription)
            else:
                self._given_up.append(subscription.topic)
                self._kept.forget(name)

    def _open(self, subscription: Subscription) -> _Stream:
        path = self._folder / subscription.log
        dedupe = subscription.dedupe
        log = ReceivedLog(
            path,
            SCHEMA,
            self._acknowledge,
            subscription.limits,
            remembers=None if dedupe is None else {ID: dedupe.last},
            identify=None if dedupe is None else dedupe.ids(),
        )
        stream = _Stream(subscription, log)
        with self._lock:
            self._streams[subscription.log] = stream
        return stream

    def _connect(self) -> None:
        self._problem = self._not_yet
        client, properties = self._make_client(), None
        self._client = client  # another for each time: its sockets are closed with it
        if self._broker.is_v5:
            from paho.mqtt.packettypes import PacketTypes
            from paho.mqtt.properties import Properties

            properties = cast("Any", Properties)(PacketTypes.CONNECT)
            properties.SessionExpiryInterval = min(self._expiry, 0xFFFFFFFF)
            properties.ReceiveMaximum = self._receive_maximum
        how: dict[str, Any] = {"clean_start": False} if self._broker.is_v5 else {}
        client.connect_async(
            self._broker.host,
            self._broker.port,
            self._broker.keep_alive,
            properties=properties,
            **how,
        )
        client.loop_start()

    def _end(self) -> None:
        with self._lock:
            streams = list(self._streams.values())
            self._streams = {}
        for stream in streams:
            stream.log.close()  # which acknowledges what it can write
        self._client.disconnect()
        self._client.loop_stop()
        self._is_connected = False

    # --- in the network thread --------------------------------------------------------------------

    def _on_connect(self, client: Any, _: Any, flags: Any, reason: Any, properties: Any) -> None:
        if reason.is_failure:
            self._has_problem(f"{self._broker} refuses the connection: {reason}")
            return
        with self._lock:
            self._is_connected = True
            self._problem = None
            for stream in self._streams.values():
                self._subscribe(stream)
            used = {stream.subscription.topic for stream in self._streams.values()}
            for topic in set(self._given_up) - used:
                client.unsubscribe(topic)

    def _on_connect_fail(self, client: Any, _: Any) -> None:
        self._has_problem(f"cannot connect to {self._broker}: {sys.exc_info()[1]}")

    def _on_disconnect(self, client: Any, _: Any, flags: Any, reason: Any, properties: Any) -> None:
        with self._lock:
            self._epoch += 1
            self._is_connected = False
            logs = [stream.log for stream in self._streams.values()]
        for log in logs:
            log.forget_waiting(lambda ticket: ticket.qos > 0)
        if logs and self._problem == self._not_yet:
            why = ": it may want a certificate, `cert_file`" if self._broker.tls else ""
            self._has_problem(f"{self._broker} ends the connection before it has begun{why}")
        if logs and self._problem is None:
            said = f": {reason}" if flags.is_disconnect_packet_from_server else ""
            who = f"{self._broker} as `{self._client_id}`"
            self._has_problem(f"the connection to {who} is lost{said}")

    def _on_subscribe(
        self, client: Any, _: Any, mid: int, reasons: Sequence[Any], properties: Any
    ) -> None:
        with self._lock:
            stream = self._streams.get(self._asked.pop(mid, ""))
        if stream is None:
            return
        refused = [str(reason) for reason in reasons if reason.is_failure]
        topic = stream.subscription.topic
        stream.refused = (
            f"{self._broker} refuses topic `{topic}`: {refused[0]}" if refused else None
        )
        if refused:
            _LOG.warning("%s", stream.refused)

    def _on_message(self, client: Any, _: Any, message: Any) -> None:
        topic = message.topic
        streams = self._wanting(topic)
        ticket = _Ticket(self._epoch, message.mid, message.qos, max(1, len(streams)))
        if not streams:  # of a stream that there was once
            self._acknowledge([ticket])
            return
        row = row_of(message, topic, time.time_ns() // 1_000)
        for stream in streams:
            stream.log.append(row, ticket)

    # --- how --------------------------------------------------------------------------------------

    def _subscribe(self, stream: _Stream) -> None:
        subscription = stream.subscription
        how: dict[str, Any] = {"qos": subscription.qos}
        if self._broker.is_v5:
            from paho.mqtt.subscribeoptions import SubscribeOptions

            new_only = SubscribeOptions.RETAIN_SEND_IF_NEW_SUB
            how = {"options": SubscribeOptions(subscription.qos, retainHandling=new_only)}
        _, mid = self._client.subscribe(subscription.topic, **how)
        if mid is not None:
            self._asked[mid] = subscription.log

    def _wanting(self, topic: str) -> list[_Stream]:
        """The streams that a message is for: there is one, but for changes on the way."""
        from paho.mqtt.client import topic_matches_sub

        streams = list(self._streams.values())
        return [s for s in streams if topic_matches_sub(s.subscription.filter, topic)]

    def _acknowledge(self, tickets: Sequence[_Ticket]) -> None:
        """They are on the disk."""
        with self._lock:
            for ticket in tickets:
                ticket.left -= 1
                if ticket.left == 0 and ticket.qos and ticket.epoch == self._epoch:
                    self._client.ack(ticket.mid, ticket.qos)

    def _has_problem(self, problem: str) -> None:
        if self._problem != problem:
            _LOG.warning("%s", problem)
        self._problem = problem
