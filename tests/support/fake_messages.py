"""Messages as `librdkafka` lays them out, without the library, each payload at the end of its page.

    with FakeMessages([b"{}", None]) as fake:
        decoder.decode_messages(fake.messages, projection)

The page behind a payload cannot be read: whoever looks one byte too far does not live to tell.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Sequence
from ctypes import c_int, c_int32, c_int64, c_size_t, c_void_p
from typing import Any, Self

from narrows.formats.kernel import load_native

_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.mmap.restype = c_void_p
_LIBC.mmap.argtypes = (c_void_p, c_size_t, c_int, c_int, c_int, c_int64)
_LIBC.munmap.argtypes = (c_void_p, c_size_t)
_LIBC.mprotect.argtypes = (c_void_p, c_size_t, c_int)
_NOTHING = 0
"""What may be done with the page behind a payload."""

_DESTROY = ctypes.CFUNCTYPE(None, c_void_p)
_TIMESTAMP = ctypes.CFUNCTYPE(c_int64, c_void_p, ctypes.POINTER(c_int))


class Message(ctypes.Structure):
    """`rd_kafka_message_t`."""

    _fields_ = (
        ("error", c_int),
        ("topic", c_void_p),
        ("partition", c_int32),
        ("payload", c_void_p),
        ("length", c_size_t),
        ("key", c_void_p),
        ("key_length", c_size_t),
        ("offset", c_int64),
        ("private", c_void_p),
    )


class FakeMessages:
    """Messages of the given payloads, at offsets from 0, and how often each was destroyed."""

    def __init__(self, payloads: Sequence[bytes | None]) -> None:
        self.destroyed = [0] * len(payloads)
        self._pages: list[tuple[int, int]] = []
        self._all = [self._message(number, payload) for number, payload in enumerate(payloads)]
        self._callbacks = _DESTROY(self._destroy), _TIMESTAMP(lambda message, kind: 0)
        array = (c_void_p * len(payloads))(*map(ctypes.addressof, self._all))
        addresses = [ctypes.cast(callback, c_void_p).value for callback in self._callbacks]
        place = ctypes.addressof(array)
        self.messages: Any = load_native().Messages(place, len(payloads), *addresses)

    def _message(self, number: int, payload: bytes | None) -> Message:
        message = Message(offset=number)
        if payload is not None:
            message.payload, message.length = self._at_the_edge(payload), len(payload)
        return message

    def _at_the_edge(self, payload: bytes) -> int:
        page = mmap.PAGESIZE
        size = -(-len(payload) // page) * page or page
        access = mmap.PROT_READ | mmap.PROT_WRITE
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        start = _LIBC.mmap(None, size + page, access, flags, -1, 0)
        assert start not in (None, -1)
        self._pages.append((start, size + page))
        assert _LIBC.mprotect(start + size, page, _NOTHING) == 0
        place = int(start) + size - len(payload)
        ctypes.memmove(place, payload, len(payload))
        return place

    def _destroy(self, address: int) -> None:
        self.destroyed[Message.from_address(address).offset] += 1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.messages.release()
        for start, size in self._pages:
            _LIBC.munmap(start, size)
