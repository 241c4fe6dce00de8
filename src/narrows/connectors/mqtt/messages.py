"""What the log keeps of a message, and how it becomes metadata columns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import pyarrow as pa

from narrows.arrow.types import arrow_type
from narrows.connectors.received.segments import PAYLOAD
from narrows.schema import TIMESTAMP

if TYPE_CHECKING:
    from paho.mqtt.client import MQTTMessage

_PROPERTIES = pa.list_(pa.struct([("key", pa.string()), ("value", pa.string())]))

SCHEMA: Final = pa.schema(
    [
        (PAYLOAD, pa.binary()),
        ("received_at", pa.timestamp("us", tz="UTC")),
        ("topic", pa.string()),
        ("qos", pa.int8()),
        ("retained", pa.bool_()),
        ("properties", _PROPERTIES),
    ]
)

METADATA: Final = {
    "_topic": lambda block: block.column("topic"),
    "_qos": lambda block: block.column("qos").cast(pa.int32()),
    "_retained": lambda block: block.column("retained"),
    "_received_at": lambda block: block.column("received_at").cast(arrow_type(TIMESTAMP)),
    "_properties": lambda block: block.column("properties"),
}

SHOWN: Final = {"topic": "topic"}
"""What a dead letter says beside the number of its message."""

_NAMES = {
    "PayloadFormatIndicator": "payload_format_indicator",
    "MessageExpiryInterval": "message_expiry_interval",
    "ContentType": "content_type",
    "ResponseTopic": "response_topic",
    "CorrelationData": "correlation_data",
}
"""What comes with a message by itself; the names are those of the standard."""

Properties = list[dict[str, str]] | None


class Message(NamedTuple):
    """A message, as its broker has sent it."""

    payload: bytes
    topic: str
    mid: int
    """What it is called until it is acknowledged; 0 if its QoS is 0."""
    qos: int
    retained: bool
    properties: Properties

    def row(self, received_at: int) -> tuple[Any, ...]:
        """A row of the log. Times are microseconds since 1970."""
        payload, topic, _, qos, retained, properties = self
        return payload, received_at, topic, qos, retained, properties


def message_of(found: MQTTMessage) -> Message:
    """What the library has read by itself."""
    payload: Any = found.payload
    properties = _properties(found.properties)
    return Message(bytes(payload), found.topic, found.mid, found.qos, found.retain, properties)


def unpacked_properties(data: bytes) -> Properties:
    """What a message has of them, from the length that stands before them to their end."""
    from paho.mqtt.packettypes import PacketTypes
    from paho.mqtt.properties import Properties as Unpacked

    found = cast("Any", Unpacked)(PacketTypes.PUBLISH)
    try:
        _, length = found.unpack(data)
    except Exception as error:  # whatever the library stumbles over
        raise ValueError(f"{type(error).__name__}: {error}") from error
    if length != len(data):
        raise ValueError("they have another length")
    return _properties(found)


def _properties(found: Any) -> Properties:
    """What the publisher has sent along; None if that is nothing, as it is with MQTT 3.1.1."""
    if found is None or found.isEmpty():
        return None
    given = [
        (name, getattr(found, attribute))
        for attribute, name in _NAMES.items()
        if hasattr(found, attribute)
    ]
    pairs: Iterable[tuple[str, object]] = [*given, *getattr(found, "UserProperty", ())]
    return [{"key": key, "value": _text(value)} for key, value in pairs] or None


def _text(value: object) -> str:
    """Correlation data are bytes: what is no text in them is written as hexadecimal digits."""
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return value.hex()
    return str(value)
