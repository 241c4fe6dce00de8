"""What a broker sends, taken apart: messages by the hundred, and all the rest for the library.

    PUBLISH PUBLISH PINGRESP PUBLISH PUB                 bytes, as they came
    └─────────────┘ └──────┘ └─────┘ └─┘
      publishes()    others()  ...    waits for the rest

The order is that of the broker: what stands behind a packet for the library is looked at when the
library has it. Messages of QoS 2 are the library's, too: several packets go to and fro for each.

A packet has 256 MB at most, as its length is written. Nothing is set aside for one before it comes.
"""

from __future__ import annotations

from typing import Final

from narrows.connectors.mqtt.messages import Message
from narrows.connectors.mqtt.properties import Properties, unpacked

_PUBLISH: Final = 0x30
_KIND_OF_TAKEN: Final = 0xF4
"""What a packet is, and whether its QoS is more than 1."""
_RETAINED: Final = 0x01


class MalformedPacketError(ConnectionError):
    """A broker sends what is no MQTT: its connection is of no more use."""


class Incoming:
    """The bytes of one connection, from its first on."""

    def __init__(self, *, is_v5: bool) -> None:
        self._is_v5 = is_v5
        self._data = b""
        self._at = 0
        self._others = 0
        """Bytes of the next packet that are the library's, whether they have come or not."""
        self._parts: list[bytes] = []
        """What has come of a packet that is not complete, behind `_data`."""
        self._missing = 0
        """Bytes without which there is nothing to be done."""

    @property
    def waiting(self) -> int:
        """Bytes that can be looked at without anything more coming."""
        return 0 if self._missing > 0 else len(self._data) - self._at

    def feed(self, data: bytes) -> None:
        """Takes what has come."""
        self._parts.append(data)
        self._missing -= len(data)
        if self._missing <= 0:  # a large packet is put together once, and not with each piece
            self._data = b"".join((self._data[self._at :], *self._parts))
            self._at, self._parts, self._missing = 0, [], 0

    def others(self, most: int) -> bytes:
        """So many bytes of a packet that is the library's; none if none has come."""
        taken = self._data[self._at : self._at + min(most, self._others)]
        self._at += len(taken)
        self._others -= len(taken)
        return taken

    def publishes(self) -> list[Message]:
        """The messages that come next, up to a packet that is the library's. Raises if the very
        next packet is malformed."""
        found: list[Message] = []
        data = self._data
        while not self._others and not self._missing:
            try:
                frame = _frame(data, self._at)
                if frame is None:
                    self._missing = 1
                elif data[self._at] & _KIND_OF_TAKEN != _PUBLISH:
                    self._others = frame[1] - self._at
                elif frame[1] > len(data):
                    self._missing = frame[1] - len(data)
                else:
                    found.append(_message(data, self._at, *frame, is_v5=self._is_v5))
                    self._at = frame[1]
            except MalformedPacketError:
                if found:
                    break
                raise
        return found


def _frame(data: bytes, at: int) -> tuple[int, int] | None:
    """Where the body of a packet begins and ends; None if that has not come yet."""
    length = shift = 0
    for place in range(at + 1, at + 5):
        if place >= len(data):
            return None
        byte = data[place]
        length |= (byte & 0x7F) << shift
        if byte < 0x80:
            return place + 1, place + 1 + length
        shift += 7
    raise MalformedPacketError("a length has more than four bytes")


def _message(data: bytes, at: int, body: int, end: int, *, is_v5: bool) -> Message:
    head = data[at]
    topic_end = body + 2 + int.from_bytes(data[body : body + 2])
    qos = (head >> 1) & 3
    payload = topic_end + 2 if qos else topic_end
    mid = int.from_bytes(data[topic_end:payload])
    properties = None
    if payload + is_v5 > end:
        raise MalformedPacketError("a message ends before its payload begins")
    if is_v5:
        if data[payload]:
            properties, payload = _properties(data, payload, end)
        else:
            payload += 1
    try:
        topic = data[body + 2 : topic_end].decode()
    except UnicodeDecodeError as error:
        raise MalformedPacketError("a topic is no text") from error
    if not topic:  # one that was named by a number before; we never offer to remember any
        raise MalformedPacketError("a message has no topic")
    return Message(data[payload:end], topic, mid, qos, bool(head & _RETAINED), properties)


def _properties(data: bytes, at: int, end: int) -> tuple[Properties, int]:
    """What comes with a message, and where its payload begins."""
    frame = _frame(data, at - 1)
    if frame is None or frame[1] > end:
        raise MalformedPacketError("the properties of a message are longer than it is")
    try:
        return unpacked(data[slice(*frame)]), frame[1]
    except ValueError as error:
        raise MalformedPacketError(f"properties of a message: {error}") from error
