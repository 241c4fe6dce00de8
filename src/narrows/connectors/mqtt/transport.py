"""Stands between the client library and the broker, and takes messages by the hundred.

    broker ──► Link ──► messages, a chunk of the network at a time ──► take(...)
                │
                └──────► every other packet ──► the library, which connects, subscribes, pings

The library reads a message with three or four calls to the system and gives it away by itself:
that is most of what a message would cost. But it can be given a context of TLS, which makes sockets
of its own out of those that are connected. `Transport` is such a context, with TLS inside or
without. All that is read and written is so in the library's thread.

**Acknowledgements** of messages that were synced together leave together. The library sends the
last one, for which it wakes its thread, and the others go first.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections import deque
from collections.abc import Callable, Sequence

from narrows.connectors.mqtt.messages import Message
from narrows.connectors.mqtt.packets import Incoming, MalformedPacketError

_CHUNK = 1 << 18
"""Bytes that are read at a time."""
_PUBACK = 0x4002_0000
"""An acknowledgement, but for the number of its message."""


class Transport:
    """Makes the links of a client, one for each connection. It has what the library asks of an
    `ssl.SSLContext`."""

    check_hostname = False  # by the library; the context inside has done it

    def __init__(
        self, tls: ssl.SSLContext | None, take: Callable[[Sequence[Message]], None], *, is_v5: bool
    ) -> None:
        """`take` is given messages of QoS 0 and 1."""
        self._tls = tls
        self._take = take
        self._is_v5 = is_v5
        self._link: Link | None = None

    def wrap_socket(
        self,
        plain: socket.socket,
        server_hostname: str | None = None,
        *,
        do_handshake_on_connect: bool = False,
    ) -> Link:
        wrapped = plain
        if self._tls is not None:
            wrapped = self._tls.wrap_socket(
                plain,
                server_hostname=server_hostname,
                do_handshake_on_connect=do_handshake_on_connect,
            )
        self._link = Link(wrapped, Incoming(is_v5=self._is_v5), self._take)
        return self._link

    def acknowledge(self, mids: Sequence[int]) -> None:
        """Has messages acknowledged before the library writes its next packet. They are of the
        connection that there is."""
        if self._link is not None and mids:
            packets = b"".join([(_PUBACK | mid).to_bytes(4) for mid in mids])
            self._link.acknowledgements.append(packets)

    @property
    def problem(self) -> str | None:
        """Why we have ended the last connection; None if somebody else has."""
        return None if self._link is None else self._link.problem


class Link:
    """A connection, as the library sees it: a socket without any messages."""

    def __init__(
        self,
        to_broker: socket.socket,
        incoming: Incoming,
        take: Callable[[Sequence[Message]], None],
    ) -> None:
        self._socket = to_broker
        self._incoming = incoming
        self._take = take
        self.problem: str | None = None
        self.acknowledgements: deque[bytes] = deque()
        """Those that are to go; any thread may append some."""
        self._going = b""
        """What is left of those that have begun to go."""
        self._is_within = False
        """Has the library begun to write a packet?"""

    # --- reading ----------------------------------------------------------------------------------

    def recv(self, most: int) -> bytes:
        """What is the library's; raises if that is nothing yet. It reads the network once at most:
        in between the library has things to write."""
        found = self._incoming.others(most) or self._next(most)
        if not found:
            chunk = self._socket.recv(_CHUNK)
            if not chunk:
                return b""
            self._incoming.feed(chunk)
            found = self._incoming.others(most) or self._next(most)
        if not found:
            raise BlockingIOError
        return found

    def _next(self, most: int) -> bytes:
        """Takes the messages that come next; then what is the library's."""
        if not self._incoming.waiting:
            return b""
        try:
            messages = self._incoming.publishes()
        except MalformedPacketError as error:
            self.problem = f"what it sends is no MQTT: {error}"
            raise
        if messages:
            self._take(messages)
        return self._incoming.others(most)

    def pending(self) -> int:
        """Bytes that are here, and that no waiting for the network would tell of."""
        inside = self._socket.pending() if isinstance(self._socket, ssl.SSLSocket) else 0
        return inside + self._incoming.waiting

    # --- writing ----------------------------------------------------------------------------------

    def send(self, packet: bytes) -> int:
        """Writes what there is room for, and raises if there is none: then the library comes again
        with the same packet."""
        while not self._is_within and (self._going or self.acknowledgements):
            self._going = self._going or self.acknowledgements.popleft()
            self._going = self._going[self._socket.send(self._going) :]
        self._is_within = True  # also if there is no room: TLS wants to see the same bytes again
        sent = self._socket.send(packet)
        self._is_within = sent < len(packet)
        return sent

    # --- as any socket ----------------------------------------------------------------------------

    def fileno(self) -> int:
        return self._socket.fileno()

    def setblocking(self, blocking: bool) -> None:
        self._socket.setblocking(blocking)

    def settimeout(self, seconds: float | None) -> None:
        self._socket.settimeout(seconds)

    def do_handshake(self) -> None:
        if isinstance(self._socket, ssl.SSLSocket):
            with contextlib.ExitStack() as failed:
                failed.callback(self.close)  # the library would forget it
                self._socket.do_handshake()
                failed.pop_all()

    def close(self) -> None:
        self._socket.close()
