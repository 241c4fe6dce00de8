"""Messages in memory as `librdkafka` takes them: pointers into columns of Arrow, made by NumPy.

They hold as long as the columns do. Whoever makes them hands them over at once, and the library
copies what they point to.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import c_int, c_int32, c_int64, c_size_t, c_void_p
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from narrows.connectors.kafka.sink.messages import KEY, VALUE

COPIED: Final = 0x2
"""The flag for messages that the library is to copy."""
_OVERHEAD = 40
"""Bytes that a message has besides its parts when it is sent, at most; so has each header."""


class Message(ctypes.Structure):
    """`rd_kafka_message_t`, as it is laid out in version 2 of the library."""

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


_MESSAGE = np.dtype(Message)
_PART = np.dtype(
    {
        "names": ["type", "first", "second", "third"],
        "formats": ["i4", "u8", "u8", "u8"],
        "offsets": [0, 8, 16, 24],
        "itemsize": 72,
    }
)
"""`rd_kafka_vu_t`: one of the parts of a message that is handed over by itself."""
_HANDLE, _PARTITION, _VALUE, _KEY, _PRIVATE, _FLAGS, _HEADER = 2, 3, 4, 5, 6, 7, 9

_Addresses = npt.NDArray[np.uint64]


def message_array(messages: pa.RecordBatch, private: int) -> npt.NDArray[Any]:
    """One `rd_kafka_message_t` for each message; `private` comes back with what is reported."""
    array = np.zeros(messages.num_rows, _MESSAGE)
    array["payload"], array["length"] = _places(messages.column(VALUE))
    array["key"], array["key_length"] = _places(messages.column(KEY))
    array["private"] = private
    return array


class MessageParts:
    """Messages with headers: for each, a row of `rd_kafka_vu_t`."""

    def __init__(
        self,
        messages: pa.RecordBatch,
        headers: Sequence[str],
        topic: int,
        partition: int,
        private: int,
    ) -> None:
        self.count = 6 + len(headers)
        """Parts of a message."""
        self._parts = parts = np.zeros((messages.num_rows, self.count), _PART)
        parts["type"][:, :6] = _HANDLE, _PARTITION, _FLAGS, _PRIVATE, _VALUE, _KEY
        parts["type"][:, 6:] = _HEADER
        parts["first"][:, :4] = topic, partition & 0xFFFF_FFFF, COPIED, private
        for column, name in ((4, VALUE), (5, KEY)):
            places = _places(messages.column(name))
            parts["first"][:, column], parts["second"][:, column] = places
        self._names = [ctypes.create_string_buffer(name.encode()) for name in headers]
        for number, text in enumerate(self._names):
            parts["first"][:, 6 + number] = ctypes.addressof(text)
            places = _places(messages.column(f"h{number}"))
            parts["second"][:, 6 + number], parts["third"][:, 6 + number] = places

    def addresses(self) -> range:
        """Where the parts of each message begin."""
        start = self._parts.ctypes.data
        return range(start, start + self._parts.nbytes, self.count * _PART.itemsize)


def message_sizes(messages: pa.RecordBatch, headers: Sequence[str]) -> npt.NDArray[np.int64]:
    """Bytes of each message when it is sent, at most."""
    names = sum(_OVERHEAD + len(name.encode()) for name in headers)
    sizes = np.full(messages.num_rows, _OVERHEAD + names, np.int64)
    for part in messages.columns[1:]:  # all but the topic
        sizes += _places(part)[1].astype(np.int64)
    return sizes


def _places(column: pa.Array) -> tuple[_Addresses, _Addresses]:
    """Where each value stands, and how long it is; nowhere, if it is NULL."""
    count = len(column)
    if column.null_count == count:
        return np.zeros(count, np.uint64), np.zeros(count, np.uint64)
    _, offsets, data = column.buffers()
    # A text that is empty stands somewhere, too: what stands nowhere is NULL.
    begin = (data and data.address) or offsets.address
    ends = np.frombuffer(offsets, np.int32)[column.offset : column.offset + count + 1]
    places = ends.astype(np.uint64)
    starts, lengths = places[:-1] + np.uint64(begin), np.diff(places)
    if column.null_count:
        there = column.is_valid().to_numpy(zero_copy_only=False)
        starts, lengths = np.where(there, starts, 0), np.where(there, lengths, 0)
    return starts, lengths
