"""What the log keeps of a message, and how it becomes metadata columns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

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


def row_of(message: MQTTMessage, topic: str, received_at: int) -> tuple[Any, ...]:
    """A message as a row of the log. Times are microseconds since 1970."""
    payload: Any = message.payload
    return (
        bytes(payload),
        received_at,
        topic,
        message.qos,
        message.retain,
        _properties(message.properties),
    )


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
