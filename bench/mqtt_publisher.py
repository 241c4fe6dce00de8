"""Publishes messages of QoS 1 as fast as a broker takes them.

    python bench/mqtt_publisher.py PORT TOPIC MESSAGES BYTES

begins when its input ends.

A publisher of a client library would be the slowest of all who are measured. This one has its
packets made before it begins, sends many with one call, and counts the answers.
"""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence

_TOGETHER = 500
_AHEAD = 2_000
"""Messages that the broker has not acknowledged, at most."""


class FastPublisher:
    """One connection, with MQTT 3.1.1, in which no broker limits how many messages are on their
    way."""

    def __init__(self, port: int, topic: str, payloads: Sequence[bytes]) -> None:
        self._groups = list(_groups(topic, payloads))
        self._left = len(payloads)
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.sendall(_packet(0x10, _text("MQTT") + b"\x04\x02\x00\x00" + _text("")))
        self._answers(4)

    def run(self) -> None:
        """Returns when the broker has acknowledged all."""
        ahead = 0
        for group, count in self._groups:
            self._socket.sendall(group)
            ahead += count
            while ahead > _AHEAD:
                self._answers(4)
                ahead -= 1
        self._answers(4 * ahead)
        self._socket.sendall(_packet(0xE0, b""))
        self._socket.close()

    def _answers(self, size: int) -> None:
        """Reads acknowledgements of so many bytes."""
        while size:
            found = self._socket.recv(size)
            assert found, "the broker has ended the connection"
            size -= len(found)


def _groups(topic: str, payloads: Sequence[bytes]) -> Iterator[tuple[bytes, int]]:
    for first in range(0, len(payloads), _TOGETHER):
        some = payloads[first : first + _TOGETHER]
        # A number is good for another message when the first was acknowledged.
        numbers = [1 + (first + place) % 65_535 for place in range(len(some))]
        packets = [
            _packet(0x32, _text(topic) + struct.pack("!H", number) + payload)
            for number, payload in zip(numbers, some, strict=True)
        ]
        yield b"".join(packets), len(some)


def _packet(head: int, body: bytes) -> bytes:
    length, digits = len(body), []
    while length > 127:
        digits.append(length & 127 | 128)
        length >>= 7
    return bytes((head, *digits, length)) + body


def _text(value: str) -> bytes:
    return struct.pack("!H", len(value.encode())) + value.encode()


def payload(number: int, size: int) -> bytes:
    row = {"id": number, "sent": time.time(), "site": f"s{number % 9}", "more": ""}
    row["more"] = "x" * max(0, size - len(json.dumps(row)))
    return json.dumps(row).encode()


def publish(port: int, topic: str, count: int, size: int) -> None:
    FastPublisher(port, topic, [payload(number, size) for number in range(count)]).run()


@contextlib.contextmanager
def published_meanwhile(port: int, topic: str, count: int, size: int) -> Iterator[None]:
    """Has another process publish, which is ready when this begins."""
    given = [str(value) for value in (port, topic, count, size)]
    command = [sys.executable, __file__, *given]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()
        process.stdin.close()
        yield
        process.wait(600)


def main(port: str, topic: str, count: str, size: str) -> None:
    payloads = [payload(number, int(size)) for number in range(int(count))]
    publisher = FastPublisher(int(port), topic, payloads)
    print("ready", flush=True)
    sys.stdin.read()
    publisher.run()


if __name__ == "__main__":
    main(*sys.argv[1:])
