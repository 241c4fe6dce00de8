"""The C API of `librdkafka`, as far as consuming by offsets, and producing, need it.

The library is the one inside the `confluent-kafka` wheel. Its functions are bound with their types
here and called elsewhere. Of its callbacks only those are used that it calls in the thread of
whoever polls or consumes: its own threads never run Python.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import importlib.metadata
import re
from collections.abc import Mapping
from ctypes import c_char_p, c_int, c_int32, c_int64, c_size_t, c_ssize_t, c_void_p
from functools import lru_cache
from typing import Any, Final

from narrows.connectors.kafka.client.faults import KafkaError, Settings, revealed, without_values
from narrows.errors import Code, NarrowsError, fail

READING: Final = {
    "enable.partition.eof": "true",  # or nobody could tell an end from a pause
    "enable.auto.commit": "false",
    "enable.auto.offset.store": "false",
    "auto.offset.reset": "error",  # offsets that are gone are somebody's loss, who should know
}
"""What reading by offsets needs, whatever else is set."""
UNLESS_SET: Final = {
    "topic.metadata.refresh.interval.ms": "10000",  # or what is gone is missed after five minutes
    "fetch.queue.backoff.ms": "20",  # or who reads faster than that waits for a second
}
"""What differs from the library's own defaults."""

PRODUCER: Final = 0
CONSUMER: Final = 1
NO_CONSUMER_CLOSE: Final = 0x8
"""A consumer that is in no group has nothing to say to one when it is destroyed."""

_VERSIONS = (0x02_00_00_00, 0x03_00_00_00)
"""From and below which the kernel knows how `rd_kafka_message_t` is laid out."""
_CONFIGURED = 0
_TEXT_SIZE = 512

ErrorCallback = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_char_p, c_void_p)
"""The client, a number, a text, nothing."""
LogCallback = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_char_p, c_char_p)
"""The client, how bad it is, about what, a text."""
DeliveryCallback = ctypes.CFUNCTYPE(None, c_void_p, c_void_p, c_void_p)
"""The client, a message, nothing."""

_SIGNATURES: Final[dict[str, tuple[Any, tuple[Any, ...]]]] = {
    "version": (c_int, ()),
    "err2name": (c_char_p, (c_int,)),
    "err2str": (c_char_p, (c_int,)),
    "last_error": (c_int, ()),
    "conf_new": (c_void_p, ()),
    "conf_set": (c_int, (c_void_p, c_char_p, c_char_p, c_char_p, c_size_t)),
    "conf_set_error_cb": (None, (c_void_p, ErrorCallback)),
    "conf_set_log_cb": (None, (c_void_p, LogCallback)),
    "conf_set_dr_msg_cb": (None, (c_void_p, DeliveryCallback)),
    "conf_destroy": (None, (c_void_p,)),
    "new": (c_void_p, (c_int, c_void_p, c_char_p, c_size_t)),
    "destroy_flags": (None, (c_void_p, c_int)),
    "poll": (c_int, (c_void_p, c_int)),
    "set_log_queue": (c_int, (c_void_p, c_void_p)),
    "topic_new": (c_void_p, (c_void_p, c_char_p, c_void_p)),
    "topic_destroy": (None, (c_void_p,)),
    "queue_new": (c_void_p, (c_void_p,)),
    "queue_destroy": (None, (c_void_p,)),
    "consume_start_queue": (c_int, (c_void_p, c_int32, c_int64, c_void_p)),
    "consume_stop": (c_int, (c_void_p, c_int32)),
    "consume_queue": (c_void_p, (c_void_p, c_int)),
    "consume_batch_queue": (c_ssize_t, (c_void_p, c_int, c_void_p, c_size_t)),
    "message_destroy": (None, (c_void_p,)),
    "message_timestamp": (c_int64, (c_void_p, c_void_p)),
    "message_headers": (c_int, (c_void_p, c_void_p)),
    "header_get_all": (c_int, (c_void_p, c_size_t, c_void_p, c_void_p, c_void_p)),
    "produce_batch": (c_int, (c_void_p, c_int32, c_int, c_void_p, c_int)),
    "produceva": (c_void_p, (c_void_p, c_void_p, c_size_t)),
    "flush": (c_int, (c_void_p, c_int)),
    "purge": (c_int, (c_void_p, c_int)),
    "topic_name": (c_char_p, (c_void_p,)),
    "init_transactions": (c_void_p, (c_void_p, c_int)),
    "begin_transaction": (c_void_p, (c_void_p,)),
    "commit_transaction": (c_void_p, (c_void_p, c_int)),
    "abort_transaction": (c_void_p, (c_void_p, c_int)),
    "error_code": (c_int, (c_void_p,)),
    "error_string": (c_char_p, (c_void_p,)),
    "error_is_fatal": (c_int, (c_void_p,)),
    "error_is_retriable": (c_int, (c_void_p,)),
    "error_txn_requires_abort": (c_int, (c_void_p,)),
    "error_destroy": (None, (c_void_p,)),
}
"""Of `rd_kafka_...`: what is returned, and what is taken."""


class Library:
    """The functions, under their names without `rd_kafka_`. Calls let other threads go on."""

    def __init__(self, path: str) -> None:
        self.c = c = ctypes.CDLL(path)
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(c, f"rd_kafka_{name}")
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)
        oldest, newest = _VERSIONS
        if not oldest <= c.rd_kafka_version() < newest:
            message = f"`librdkafka` is {c.rd_kafka_version():#010x}: this version is not known"
            raise fail(Code.BROKEN_PACKAGE, message, None, "pip install 'narrows[kafka]'")

    def __getattr__(self, name: str) -> Any:  # for whoever checks types; all are set above
        raise AttributeError(name)

    def address(self, name: str) -> int:
        """Where a function is."""
        found = ctypes.cast(getattr(self, name), c_void_p).value
        assert found is not None
        return found

    def error(self, number: int, text: str = "") -> KafkaError:
        name, usual = self.err2name(number).decode(), self.err2str(number).decode()
        return KafkaError(number, name, text or usual)

    def new_consumer(self, settings: Settings, on_error: Any, on_log: Any) -> int:
        """A client. The callbacks, which the caller must keep as long, are called by `poll`, and
        when messages are consumed."""
        properties = revealed({**UNLESS_SET, **settings, **READING})
        callbacks = {"error": on_error, "log": on_log}
        try:
            return self.new_client(CONSUMER, properties, callbacks)
        except ValueError as error:
            said = without_values(str(error), settings)
            raise fail(Code.INVALID_OPTION, f"kafka: {said}") from None

    def new_client(
        self, kind: int, properties: Mapping[str, str], callbacks: Mapping[str, Any]
    ) -> int:
        """A client, or a ValueError with what the library says; callbacks by their names."""
        text = ctypes.create_string_buffer(_TEXT_SIZE)
        conf = self.conf_new()
        made = None
        try:
            for name, value in {**properties, "log.queue": "true"}.items():
                given = name.encode(), value.encode()
                if self.conf_set(conf, *given, text, _TEXT_SIZE) != _CONFIGURED:
                    raise ValueError(text.value.decode("utf-8", "replace"))
            for name, callback in callbacks.items():
                getattr(self, f"conf_set_{name}_cb")(conf, callback)
            made = self.new(kind, conf, text, _TEXT_SIZE)
            if made is None:
                raise ValueError(text.value.decode("utf-8", "replace"))
        finally:
            if made is None:
                self.conf_destroy(conf)  # else it is the client's
        self.set_log_queue(made, None)
        return int(made)


@lru_cache(maxsize=1)
def load() -> Library:
    """The library of the installed wheel; an error says what is missing."""
    path = _path()
    if path is None:
        message = "there is no `librdkafka`: package `confluent-kafka` is not installed"
        raise fail(Code.BROKEN_PACKAGE, message, None, "pip install 'narrows[kafka]'")
    try:
        return Library(path)
    except (OSError, AttributeError) as error:
        raise fail(Code.BROKEN_PACKAGE, f"`librdkafka` cannot be loaded: {error}") from error


def is_usable() -> bool:
    """Can messages be fetched by way of the C API? (If not, by way of `confluent_kafka`.)"""
    try:
        load()
    except NarrowsError:
        return False
    return True


def _path() -> str | None:
    """In the wheel; or the system's, where `confluent-kafka` was built for that."""
    try:
        files = importlib.metadata.distribution("confluent-kafka").files or ()
    except importlib.metadata.PackageNotFoundError:
        return None
    for file in files:
        if re.fullmatch(r"librdkafka[-.\w]*?\.(so|dylib|dll)[.\d]*", file.name):
            return str(file.locate())
    return ctypes.util.find_library("rdkafka")
