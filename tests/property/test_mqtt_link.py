"""What lies between the MQTT library and the network, against the library alone.

Two clients of the library get the same bytes, in pieces: one reads all by itself, and so says what
is right; from the other the messages are taken away before. No network: sockets that are made of
bytes.
"""

from __future__ import annotations

import contextlib
import socket
import struct
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paho.mqtt.client import Client, MQTTv5, MQTTv311
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from narrows.connectors.mqtt.messages import Message, message_of
from narrows.connectors.mqtt.packets import Incoming
from narrows.connectors.mqtt.transport import Link, Transport

# --- packets --------------------------------------------------------------------------------------

CONNACK = {True: bytes((0x20, 3, 0, 0, 0)), False: bytes((0x20, 2, 0, 0))}
PINGREQ, PINGRESP = bytes((0xC0, 0)), bytes((0xD0, 0))
SUBACK = bytes((0x90, 4, 0, 9, 0, 1))  # of MQTT 5; to a question that nobody asked


def framed(head: int, body: bytes) -> bytes:
    length, digits = len(body), []
    while length > 127:
        digits.append(length & 127 | 128)
        length >>= 7
    return bytes((head, *digits, length)) + body


def text(value: str) -> bytes:
    return struct.pack("!H", len(value.encode())) + value.encode()


@st.composite
def properties(draw: st.DrawFn) -> bytes:
    """As the library encodes them."""
    found = cast("Any", Properties)(PacketTypes.PUBLISH)
    if draw(st.booleans()):
        return bytes(found.pack())
    if draw(st.booleans()):
        found.ContentType = draw(TOPICS)
    if draw(st.booleans()):
        found.CorrelationData = draw(st.binary(max_size=5))
    if draw(st.booleans()):
        found.PayloadFormatIndicator = draw(st.integers(0, 1))
        found.ResponseTopic = draw(TOPICS)
    if draw(st.booleans()):
        found.TopicAlias = draw(NUMBERS)
        found.SubscriptionIdentifier = draw(st.integers(1, 268_435_455))
    if draw(st.booleans()):
        found.MessageExpiryInterval = draw(st.integers(0, 2**32 - 1))
    for key in draw(st.lists(TOPICS, max_size=9)):
        found.UserProperty = (key, "x" * 20)
    return bytes(found.pack())


@st.composite
def publish(draw: st.DrawFn, *, is_v5: bool) -> bytes:
    qos = draw(st.integers(0, 2))
    head = 0x30 | draw(st.booleans()) << 3 | qos << 1 | draw(st.booleans())
    body = text(draw(TOPICS)) + (struct.pack("!H", draw(NUMBERS)) if qos else b"")
    body += draw(properties()) if is_v5 else b""
    return framed(head, body + draw(st.binary(max_size=9)) * draw(st.sampled_from((1, 30, 5_000))))


TOPICS = st.text("aä/$", min_size=1, max_size=9)
NUMBERS = st.integers(1, 65_535)
PUBREL = NUMBERS.map(lambda mid: framed(0x62, struct.pack("!H", mid)))


@st.composite
def streams(draw: st.DrawFn) -> tuple[bool, list[bytes]]:
    """Which version, and what a broker sends once it has taken the connection, in pieces."""
    is_v5 = draw(st.booleans())
    others = (st.just(PINGRESP), PUBREL, *([st.just(SUBACK)] if is_v5 else []))
    packets = draw(st.lists(st.one_of(publish(is_v5=is_v5), publish(is_v5=is_v5), *others)))
    return is_v5, draw(pieces(CONNACK[is_v5] + b"".join(packets)))


@st.composite
def pieces(draw: st.DrawFn, data: bytes) -> list[bytes]:
    cuts = sorted(draw(st.sets(st.integers(0, len(data)), max_size=9)))
    found = [data[start:end] for start, end in zip((0, *cuts), (*cuts, len(data)), strict=True)]
    return [piece for piece in found if piece]


# --- two clients ----------------------------------------------------------------------------------


class Given:
    """A socket whose bytes are there; and a context that makes it of any other."""

    check_hostname = False

    def __init__(self, pieces: Sequence[bytes]) -> None:
        self.pieces = deque(pieces)

    def wrap_socket(self, plain: socket.socket, **how: object) -> Any:
        plain.close()
        return self

    def recv(self, most: int) -> bytes:
        if not self.pieces:
            raise BlockingIOError
        found = self.pieces.popleft()
        if found[most:]:
            self.pieces.appendleft(found[most:])
        return found[:most]

    def send(self, data: bytes) -> int:
        return len(data)

    def __getattr__(self, name: str) -> Any:  # what does nothing: timeouts, a handshake
        return lambda *given: None


class Taken(Given):
    """The same, with a link around it."""

    def __init__(self, pieces: Sequence[bytes], seen: list[Message], *, is_v5: bool) -> None:
        super().__init__(pieces)
        self.link = Link(cast("Any", self), Incoming(is_v5=is_v5), seen.extend)

    def wrap_socket(self, plain: socket.socket, **how: object) -> Any:
        plain.close()
        return self.link


class Outcome(NamedTuple):
    messages: list[Message]
    is_ended: bool
    """Was the connection ended, because of what came?"""


class _NoTopicError(Exception):
    """A message that the library lets pass, but that has no topic, or one that is no text."""


def outcome(listener: socket.socket, given: Given, seen: list[Message], *, is_v5: bool) -> Outcome:
    def take(client: Any, _: Any, found: Any) -> None:
        try:
            message = message_of(found)
        except UnicodeDecodeError:
            raise _NoTopicError from None
        if not message.topic:
            raise _NoTopicError
        seen.append(message)

    client = Client(
        CallbackAPIVersion.VERSION2,
        "me",
        protocol=MQTTv5 if is_v5 else MQTTv311,
        manual_ack=True,
    )
    client.on_message = take
    client.tls_set_context(cast("Any", given))
    client.connect("127.0.0.1", listener.getsockname()[1])
    listener.accept()[0].close()
    link = given.link if isinstance(given, Taken) else None
    try:
        while given.pieces or (link is not None and link.pending()):
            if client.loop_read():
                return Outcome(seen, True)
    except _NoTopicError:
        return Outcome(seen, True)
    finally:
        client.disconnect()
    return Outcome(seen, False)


@pytest.fixture(scope="module")
def listener() -> Iterator[socket.socket]:
    """Somewhere to connect to: what is said there is nobody's concern."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        yield found


def both(
    listener: socket.socket, pieces: Sequence[bytes], *, is_v5: bool
) -> tuple[Outcome, Outcome]:
    seen: list[Message] = []
    taken = outcome(listener, Taken(pieces, seen, is_v5=is_v5), seen, is_v5=is_v5)
    return taken, outcome(listener, Given(pieces), [], is_v5=is_v5)


# --- laws -----------------------------------------------------------------------------------------


@given(streams())
def test_messages_are_those_of_the_library_in_its_order(
    listener: socket.socket, stream: tuple[bool, list[bytes]]
) -> None:
    is_v5, found = stream
    taken, expected = both(listener, found, is_v5=is_v5)
    assert taken == expected
    assert not taken.is_ended


@given(streams(), st.data())
def test_what_is_broken_ends_the_connection_and_nothing_else(
    listener: socket.socket, stream: tuple[bool, list[bytes]], data: st.DataObject
) -> None:
    """Where the library is patient with what no broker may send, we need not be."""
    is_v5, found = stream
    whole = bytearray(b"".join(found))
    after = len(CONNACK[is_v5])
    whole += data.draw(st.binary(max_size=9))
    for place in data.draw(st.lists(st.integers(after, len(whole)), max_size=3)):
        if place < len(whole):
            whole[place] = data.draw(st.integers(0, 255))
    taken, expected = both(listener, data.draw(pieces(bytes(whole))), is_v5=is_v5)
    assert taken.messages == expected.messages[: len(taken.messages)]
    assert taken.is_ended or taken == expected


class Narrow:
    """A socket that takes as few bytes as it likes. Like TLS it wants to be told the same again
    where there was no room."""

    def __init__(self, rooms: Sequence[int]) -> None:
        self._rooms = deque(rooms)
        self._again = b""
        self.written = b""

    def send(self, data: bytes) -> int:
        assert data, "there is no such thing with TLS"
        assert data.startswith(self._again)
        room = self._rooms.popleft() if self._rooms else len(data)
        self._again = b"" if room else data
        if not room:
            raise BlockingIOError
        self.written += data[:room]
        return min(room, len(data))

    def close(self) -> None: ...


STEPS = st.one_of(st.lists(NUMBERS, max_size=4), st.binary(max_size=9))


@given(st.lists(STEPS), st.lists(st.integers(0, 7)))
def test_acknowledgements_stand_between_packets_of_the_library(
    steps: list[list[int] | bytes], rooms: list[int]
) -> None:
    network = Narrow(rooms)
    transport = Transport(None, lambda messages: None, is_v5=True)
    link = transport.wrap_socket(cast("Any", network))
    packets = [framed(0x82, step) for step in steps if isinstance(step, bytes)] + [PINGREQ]
    left = deque(packets)

    def write() -> None:
        """As the library does: what is left of a packet comes first."""
        packet = left.popleft()
        with contextlib.suppress(BlockingIOError):
            packet = packet[link.send(packet) :]
        if packet:
            left.appendleft(packet)

    for step in steps:
        if isinstance(step, bytes):
            write()
        else:
            transport.acknowledge(step)
    while left:
        write()
    found = list(_packets(network.written))
    assert [packet for packet in found if packet[0] != 0x40] == packets
    acknowledged = [int.from_bytes(packet[2:]) for packet in found if packet[0] == 0x40]
    assert acknowledged == [mid for step in steps if isinstance(step, list) for mid in step]


def _packets(data: bytes) -> Iterator[bytes]:
    while data:
        yield data[: 2 + data[1]]
        data = data[2 + data[1] :]
