"""A connection to a broker, for all streams that share it, as long as one of them is read.

    network thread      messages ──► their streams' logs               the library's; it reconnects
    the log's thread    written, synced ──► PUBACKs                    see `received/log.py`

What lies between library and network, and takes the messages, is `transport.py`.

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
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from narrows.connectors.mqtt.broker import Broker
from narrows.connectors.mqtt.messages import SCHEMA, Message, message_of
from narrows.connectors.mqtt.subscriptions import KeptSubscriptions, Subscription
from narrows.connectors.mqtt.transport import Transport
from narrows.connectors.received.keys import ID
from narrows.connectors.received.log import ReceivedLog
from narrows.connectors.received.log_files import Row

_LOG = logging.getLogger("narrows.sources")


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
        self._transport = Transport(
            self._broker.tls_context(), self._take, is_v5=self._broker.is_v5
        )
        client = self._broker.client(
            self._client_id, keeps_session=True, receives_by=self._transport
        )
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
        self._client = self._make_client()  # another for each time: its sockets are closed with it
        self._broker.connect(self._client, self._expiry, self._receive_maximum)
        self._client.loop_start()

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
            from_broker = flags.is_disconnect_packet_from_server
            told = str(reason) if from_broker else self._transport.problem
            said = "" if told is None else f": {told}"
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
        """Of QoS 2, which we do not subscribe to: of a session that was somebody else's before."""
        try:
            found = message_of(message)
        except UnicodeDecodeError:  # a topic that is no text: nobody can have subscribed to it
            client.ack(message.mid, message.qos)
            return
        self._take([found])

    def _take(self, messages: Sequence[Message]) -> None:
        known = list(self._streams.values())
        if not known:  # it ends, and what is not acknowledged is sent again to the next connection
            return
        wanted: dict[str, list[_Stream]] = {}
        taken: dict[_Stream, tuple[list[Row], list[_Ticket]]] = {}
        unwanted: list[_Ticket] = []
        received_at = time.time_ns() // 1_000
        for message in messages:
            streams = wanted.get(message.topic)
            if streams is None:
                streams = wanted[message.topic] = _wanting(known, message.topic)
            ticket = _Ticket(self._epoch, message.mid, message.qos, max(1, len(streams)))
            if not streams:  # of a stream that there was once
                unwanted.append(ticket)
            for stream in streams:
                rows, tickets = taken.setdefault(stream, ([], []))
                rows.append(message.row(received_at))
                tickets.append(ticket)
        for stream, (rows, tickets) in taken.items():
            stream.log.append(rows, tickets)
        if unwanted:
            self._acknowledge(unwanted)

    # --- how --------------------------------------------------------------------------------------

    def _subscribe(self, stream: _Stream) -> None:
        subscription = stream.subscription
        how = self._broker.subscribing(subscription.qos)
        _, mid = self._client.subscribe(subscription.topic, **how)
        if mid is not None:
            self._asked[mid] = subscription.log

    def _acknowledge(self, tickets: Sequence[_Ticket]) -> None:
        """They are on the disk."""
        with self._lock:
            done: dict[int, list[int]] = {1: [], 2: []}
            for ticket in tickets:
                ticket.left -= 1
                if ticket.left == 0 and ticket.qos and ticket.epoch == self._epoch:
                    done[ticket.qos].append(ticket.mid)
            for mid in done[2]:
                self._client.ack(mid, 2)
            if done[1]:
                self._transport.acknowledge(done[1][:-1])
                self._client.ack(done[1][-1], 1)

    def _has_problem(self, problem: str) -> None:
        if self._problem != problem:
            _LOG.warning("%s", problem)
        self._problem = problem


def _wanting(streams: Sequence[_Stream], topic: str) -> list[_Stream]:
    """Those that a message is for: there is one, but for changes on the way."""
    from paho.mqtt.client import topic_matches_sub

    return [s for s in streams if topic_matches_sub(s.subscription.filter, topic)]
