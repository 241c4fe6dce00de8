"""A connection between the driver and a task that lasts: messages there, answers back.

    driver                                      task
    listens, hands out its address and a secret with the task's function
                              ◄── a challenge ──
            ── its answer, and a challenge ──►
                              ◄── its answer ──
            ── message ──►                       ◄── answer ── ...

Both prove that they know the secret, which itself is never sent, before a message is read: anybody
may connect to a port. Messages are bytes behind their length; what is in them is JSON, so nobody is
made to run what somebody sent.

When either end is gone, the system closes the connection, and the other end is told so at once.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import secrets
import socket
import struct
from typing import NamedTuple

_HEAD = struct.Struct(">Q")
_MOST = 1 << 31
"""Bytes of a message; whoever sends more has lost count."""
_NONCE = 32
_SHAKE_SECONDS = 10.0
"""A stranger who connects and says nothing keeps nobody longer than that."""
_DRIVER, _TASK = b"driver", b"task"


class Address(NamedTuple):
    """Where the driver listens, and the secret by which both know each other."""

    host: str
    port: int
    secret: bytes

    def __repr__(self) -> str:
        return f"{self.host}:{self.port}"


class LinkClosedError(ConnectionError):
    """The other end is gone."""

    def __init__(self) -> None:
        super().__init__("the other end of the connection is gone")


class Link:
    """One end of a connection. One thread sends and receives; any may close."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        # A message is answered before the next is sent: there is nothing to wait for.
        with contextlib.suppress(OSError):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, message: bytes) -> None:
        try:
            self._socket.sendall(_HEAD.pack(len(message)) + message)
        except OSError as error:
            raise LinkClosedError from error

    def receive(self) -> bytes:
        (size,) = _HEAD.unpack(self._exactly(_HEAD.size))
        if size > _MOST:
            raise ConnectionError(f"a message of {size} bytes")
        return self._exactly(size)

    def close(self) -> None:
        """Whoever waits at either end is told."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _exactly(self, size: int) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            try:
                part = self._socket.recv(min(size - len(parts), 1 << 20))
            except TimeoutError:
                raise
            except OSError as error:
                raise LinkClosedError from error
            if not part:
                raise LinkClosedError
            parts += part
        return bytes(parts)

    # --- who is there? ----------------------------------------------------------------------------

    def _shake(self, secret: bytes, mine: bytes, theirs: bytes) -> None:
        self._socket.settimeout(_SHAKE_SECONDS)
        challenge = secrets.token_bytes(_NONCE)
        self._socket.sendall(challenge)
        self._socket.sendall(_proof(secret, mine, self._exactly(_NONCE)))
        answer = self._exactly(hashlib.sha256().digest_size)
        if not hmac.compare_digest(answer, _proof(secret, theirs, challenge)):
            raise ConnectionRefusedError("who is there does not know the secret")
        self._socket.settimeout(None)


def _proof(secret: bytes, who: bytes, challenge: bytes) -> bytes:
    """What only somebody who knows the secret can say; not what the other end would say, or a
    challenge could be answered with its own answer."""
    return hmac.digest(secret, who + challenge, "sha256")


class Listener:
    """The driver's end: who connects is a task, or is sent away."""

    def __init__(self, host: str, bind: str | None = None) -> None:
        """`host` is where tasks find it, `bind` the address of this machine that that is."""
        self._socket = socket.create_server((bind or host, 0))
        self.address = Address(host, self._socket.getsockname()[1], secrets.token_bytes(_NONCE))

    def accept(self) -> Link | None:
        """The next task that connects; None when the listener is closed. Strangers are passed
        over."""
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return None
            link = Link(connection)
            try:
                link._shake(self.address.secret, _DRIVER, _TASK)
            except OSError:
                link.close()
            else:
                return link

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes up whoever waits for a connection
        self._socket.close()


def connect(address: Address) -> Link:
    """The task's end."""
    link = Link(socket.create_connection((address.host, address.port), _SHAKE_SECONDS))
    try:
        link._shake(address.secret, _TASK, _DRIVER)
    except BaseException:
        link.close()
        raise
    return link
